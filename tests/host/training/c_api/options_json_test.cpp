// SPDX-License-Identifier: Apache-2.0
//
// Every documented field, and what is said of wrong ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "training/c_api/options_json.h"

namespace tandem::training {
namespace {

using testing::HasSubstr;

TEST(OptionsJson, HaveTheDocumentedNamesAndDefaults) {
  const ReducerOptions none = reducer_options("{}").options;
  EXPECT_EQ(none.sparsifier, "auto");
  EXPECT_EQ(none.density, 0.01);
  EXPECT_EQ(none.dense_below, 16384u);
  EXPECT_EQ(none.timeout.count(), 60'000);
  EXPECT_EQ(none.hidden_until, HiddenUntil::kLast);
  const NamedReducerOptions named = reducer_options(R"({
    "sparsifier": "dgc", "density": 0.001, "scheme": "ok_topk", "wire": "bf16", "dense_below": 7,
    "dense_vectors": false, "warmup_steps": 5, "warmup_density": 0.25, "non_finite": "pass",
    "hidden_until": "wait", "bucket_bytes": 1000, "seed": 9, "timeout_s": 1.5, "threads": 3,
    "log_every": 4, "timeline": "t.json", "momentum": 0.5, "clip_norm": 2, "only_own_entries": true,
    "hard_threshold": 0.125, "sidco_fit": "gamma", "published_control": true,
    "threshold_steps": 8, "local_steps": 2, "decay": 0.75,
    "rules": [{"match": "*.bias", "sparsifier": "dense"},
              {"match": "e*", "density": 0.5, "scheme": "ok_topk"}]})");
  const ReducerOptions& all = named.options;
  EXPECT_EQ(all.sparsifier, "dgc");
  EXPECT_EQ(all.density, 0.001);
  EXPECT_EQ(all.scheme, "ok_topk");
  EXPECT_EQ(all.wire, DType::kBF16);
  EXPECT_EQ(all.dense_below, 7u);
  EXPECT_FALSE(all.dense_vectors);
  EXPECT_EQ(all.warmup_steps, 5u);
  EXPECT_EQ(all.warmup_density, 0.25);
  EXPECT_EQ(all.non_finite, OnNonFinite::kPass);
  EXPECT_EQ(all.hidden_until, HiddenUntil::kWait);
  EXPECT_EQ(all.bucket_bytes, 1000u);
  EXPECT_EQ(all.seed, 9u);
  EXPECT_EQ(all.timeout.count(), 1500);
  EXPECT_EQ(all.threads, 3);
  EXPECT_EQ(all.log_every, 4u);
  EXPECT_EQ(named.timeline, "t.json");
  EXPECT_EQ(all.algorithm.momentum, 0.5);
  EXPECT_EQ(all.algorithm.clip_norm, 2);
  EXPECT_TRUE(all.algorithm.only_own_entries);
  EXPECT_EQ(all.algorithm.hard_threshold, 0.125);
  EXPECT_EQ(all.algorithm.sidco_fit, collectives::SidcoFit::kGamma);
  EXPECT_TRUE(all.algorithm.published_control);
  EXPECT_EQ(all.algorithm.threshold_steps, 8u);
  EXPECT_EQ(all.algorithm.local_steps, 2u);
  EXPECT_EQ(all.algorithm.decay, 0.75);
  ASSERT_EQ(all.rules.size(), 2u);
  EXPECT_EQ(all.rules[0].sparsifier, "dense");
  EXPECT_FALSE(all.rules[0].density.has_value());
  EXPECT_EQ(all.rules[1].density, 0.5);
  EXPECT_EQ(all.rules[1].scheme, "ok_topk");
}

std::string refusal(const std::string& json) {
  try {
    reducer_options(json);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(OptionsJson, AreRefusedByFieldAndValue) {
  EXPECT_THAT(refusal("{\"densty\": 1}"),
              HasSubstr("there is no option densty (did you mean 'density'?)"));
  EXPECT_THAT(refusal("{\"rules\": [{\"mach\": \"a\"}]}"),
              HasSubstr("there is no option rules[0].mach (did you mean 'match'?)"));
  EXPECT_THAT(refusal("{\"density\": \"high\"}"),
              HasSubstr("the option density is \"high\"; it must be a number"));
  EXPECT_THAT(refusal("{\"seed\": -1}"), HasSubstr("it must be a whole number from 0"));
  EXPECT_THAT(refusal("{\"threads\": 3000000000}"), HasSubstr("the option threads is 3000000000"));
  EXPECT_THAT(refusal("{\"wire\": \"f64\"}"),
              HasSubstr("it must be one of \"bf16\", \"f16\", \"f32\""));
  EXPECT_THAT(refusal("{\"sidco_fit\": \"pareto\"}"),
              HasSubstr("\"exponential\", \"gamma\", \"generalised_pareto\""));
  EXPECT_THAT(refusal("{\"timeout_s\": 0}"), HasSubstr("timeout_s"));
  EXPECT_THAT(refusal("{\"timeout_s\": 1e300}"), HasSubstr("timeout_s"));
  EXPECT_THAT(refusal("{\"dense_vectors\": 1}"), HasSubstr("true or false"));
  EXPECT_THAT(refusal("{\"rules\": {}}"), HasSubstr("a list of objects"));
  EXPECT_THAT(refusal("{\"rules\": [3]}"), HasSubstr("a JSON object"));
  EXPECT_THAT(refusal("[]"), HasSubstr("a JSON object"));
  EXPECT_THAT(refusal("{\"sparsifier\": 3}"), HasSubstr("a text"));
  EXPECT_THAT(refusal("{\"density\": 3}"), HasSubstr("a share from 0 to 1"));
  EXPECT_THAT(refusal("{"), HasSubstr("the options are no JSON: {"));
}

TEST(GroupOptionsJson, AreTakenAndRefused) {
  const GroupOptions options = group_options(
      R"({"transport": "mpi", "rank": 1, "world": 3, "prefix": "p", "store_directory": "d",
          "interface": "i", "address": "a", "timeout_s": 2})");
  EXPECT_EQ(options.transport, "mpi");
  EXPECT_EQ(options.rank, 1);
  EXPECT_EQ(options.world, 3);
  EXPECT_EQ(options.prefix, "p");
  EXPECT_EQ(options.store_directory, "d");
  EXPECT_EQ(options.interface, "i");
  EXPECT_EQ(options.address, "a");
  EXPECT_EQ(options.timeout_s, 2);
  EXPECT_THROW(group_options("{\"timeout_s\": -1}"), Error);
  EXPECT_THROW(group_options("{\"ranks\": 1}"), Error);
}

}  // namespace
}  // namespace tandem::training
