// SPDX-License-Identifier: Apache-2.0
//
// Whole models on composites give the tokens of one CPU, for every family, split and number of
// parts, with KV in the parts, in other units, or both.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "drivers/parallel/queued_parts.h"
#include "host/engine/engine_rig.h"
#include "host/model/shared_models.h"
#include "parallel/device.h"
#include "support/family_files.h"
#include "support/scratch_path.h"

namespace tandem::device::parallel {
namespace {

using engine::Answer;
using engine::EngineOptions;
using engine::EngineRig;
using engine::NamedUnit;

constexpr std::uint64_t kHeads = 12, kLayers = 5;
constexpr int kOutput = 10;

// A family's file with five layers and heads that 2, 3 and 4 parts divide.
test::FamilyFile divisible(const std::string& name) {
  test::FamilyFile file = test::family_file(name);
  const std::uint64_t dim = file.numbers["attention.key_length"], width = kHeads * dim;
  file.numbers["context_length"] = 256;
  file.numbers["attention.head_count"] = file.numbers["attention.head_count_kv"] = kHeads;
  file.numbers["block_count"] = kLayers;
  std::map<std::string, std::vector<std::uint64_t>> tensors;
  for (auto& [given, shape] : file.tensors) {
    const std::string& tensor = given;  // clang 14 captures no structured binding
    const auto names = [&](const char* part) { return tensor.find(part) != std::string::npos; };
    if (names("attn_qkv.")) shape.back() = 3 * width;
    if (names("attn_q.") || names("attn_k.") || names("attn_v.")) shape.back() = width;
    if (names("attn_output.")) shape.front() = width;
    if (tensor.starts_with("blk.1.")) continue;
    for (std::uint64_t layer = 0; layer < (tensor.starts_with("blk.") ? kLayers : 1); ++layer) {
      std::string copy = tensor;
      if (layer > 0) copy.replace(4, 1, std::to_string(layer));
      tensors[copy] = shape;
    }
  }
  if (!name.starts_with("gemma")) tensors["output.weight"] = tensors.at("token_embd.weight");
  file.tensors = std::move(tensors);
  return file;
}

std::unique_ptr<EngineRig> rig_of(const std::string& family) {
  const test::ScratchPath path(family + ".gguf");
  divisible(family).writer().save(path.string());
  return std::make_unique<EngineRig>(path.string());  // the mapping keeps it
}

std::vector<engine::Request> requests(const EngineRig& rig) {
  std::vector<engine::Request> all;
  for (const std::size_t length : {1, 17, 40, 70}) {
    all.push_back(engine::greedy(rig.prompt(length, static_cast<std::uint32_t>(length)), kOutput));
    all.back().prompt_logprobs = true;
  }
  return all;
}

std::vector<Answer> answers_of(engine::Engine& engine, const EngineRig& rig) {
  std::vector<Answer> answers = engine::run_all(engine, requests(rig));
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.finish, engine::FinishReason::kLength) << answer.last.error;
  }
  return answers;
}

NamedUnit unit_of(ParallelDevice& device, const EngineRig& rig, std::uint32_t pages) {
  AttentionUnitOptions options;
  options.geometry = rig.geometry();
  options.kv_bytes = page_image_bytes(options.geometry) * (pages + 1) * 4;
  options.max_pages = pages;
  auto unit = device.make_attention_unit(options);
  EXPECT_EQ(unit->capacity().num_pages, pages);
  return {"parts", std::move(unit)};
}

class FamilyOnParts : public testing::TestWithParam<std::string> {
 protected:
  void expect_same(std::vector<std::unique_ptr<Device>> devices, const ParallelOptions& split) {
    SCOPED_TRACE(testing::Message()
                 << devices.size() << " parts, tensor " << (split.split == Split::kTensor));
    ParallelDevice device(std::move(devices), split);
    const auto compute = device.make_compute_unit();
    EngineOptions options;
    options.max_step_tokens = 48;
    {
      std::vector<NamedUnit> units;
      units.push_back(unit_of(device, *rig_, 64));
      const auto engine = rig_->engine_on(*compute, std::move(units), options);
      SCOPED_TRACE("KV in the parts");
      compare(answers_of(*engine, *rig_));
    }
    options.num_sub_batches = 2;
    options.placement = engine::Placement::kPages;
    std::vector<NamedUnit> units;
    units.push_back(rig_->naive_unit("card", {.num_pages = 32}));
    units.push_back(unit_of(device, *rig_, 32));
    units.push_back(rig_->cpu_unit(32));
    const auto engine = rig_->engine_on(*compute, std::move(units), options);
    SCOPED_TRACE("KV everywhere");
    compare(answers_of(*engine, *rig_));
  }

  void compare(const std::vector<Answer>& answers) {
    if (expected_.empty()) {
      const auto engine = rig_->engine(rig_->cpu_units({64}), {});
      expected_ = answers_of(*engine, *rig_);
    }
    ASSERT_EQ(answers.size(), expected_.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      EXPECT_EQ(answers[i].tokens, expected_[i].tokens);
      const auto& probable = expected_[i].prompt_logprobs;
      ASSERT_EQ(answers[i].prompt_logprobs.size(), probable.size());
      for (std::size_t token = 0; token < probable.size(); ++token) {
        EXPECT_NEAR(answers[i].prompt_logprobs[token], probable[token], 5e-3);
      }
    }
  }

  std::unique_ptr<EngineRig> rig_ = rig_of(GetParam());
  std::vector<Answer> expected_;
};

TEST_P(FamilyOnParts, GivesTheTokensOfOneCpu) {
  for (const int parts : {1, 2, 3, 4}) {
    expect_same(cpu_devices(parts), {Split::kTensor, kLayers, {}});
    expect_same(cpu_devices(parts), {Split::kLayers, kLayers, {}});
  }
  expect_same(cpu_devices(2), {Split::kLayers, kLayers, {4, 1}});
  expect_same(cpu_devices(3), {Split::kLayers, kLayers, {1, 3, 1}});
}

TEST_P(FamilyOnParts, GivesTheSameWherePartsAreLikeGpus) {
  for (const int parts : {2, 3}) {
    expect_same(queued_devices(parts), {Split::kTensor, kLayers, {}});
    expect_same(queued_devices(parts), {Split::kLayers, kLayers, {}});
  }
}

// "q": a part like a GPU, "c": a CPU.
std::vector<std::unique_ptr<Device>> mixed_devices(const std::string& kinds) {
  std::vector<std::unique_ptr<Device>> devices;
  for (const char kind : kinds) {
    devices.push_back(std::move(kind == 'q' ? queued_devices(1).front() : cpu_devices(1).front()));
  }
  return devices;
}

TEST(MixedParts, AreBehindALinkIfOneIs) {
  for (const char* kinds : {"cq", "qc"}) {
    const ParallelDevice device(mixed_devices(kinds), {Split::kLayers, kLayers, {2, 3}});
    EXPECT_EQ(device.info().kind, "queued") << kinds;
    EXPECT_EQ(device.info().link_bandwidth_bytes_per_s, 1e9) << kinds;
    EXPECT_NE(device.info().name.find(" + "), std::string::npos) << device.info().name;
  }
}

TEST_P(FamilyOnParts, GivesTheSameOnPartsOfSeveralKinds) {
  expect_same(mixed_devices("qc"), {Split::kLayers, kLayers, {4, 1}});
  expect_same(mixed_devices("cq"), {Split::kLayers, kLayers, {2, 3}});
  expect_same(mixed_devices("cqc"), {Split::kLayers, kLayers, {1, 2, 2}});
}

TEST_P(FamilyOnParts, IsNotTrivial) {
  const auto engine = rig_->engine(rig_->cpu_units({64}), {});
  const auto logprobs = answers_of(*engine, *rig_).back().prompt_logprobs;
  EXPECT_EQ(logprobs.size(), 69u);
  EXPECT_GT(std::set(logprobs.begin(), logprobs.end()).size(), 60u) << "tokens have different ones";
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyOnParts, testing::ValuesIn(test::kFamilyNames),
                         [](const auto& info) { return info.param; });

// The recorded continuations of a real model, as long as the recorded gaps are large enough.
class GoldenOnParts : public testing::TestWithParam<std::tuple<std::string, Split>> {};

TEST_P(GoldenOnParts, ContinuesAsRecorded) {
  const auto& [name, split] = GetParam();
  const auto path = test::shared_models() / (name + ".gguf");
  TANDEM_REQUIRE_FILE(path);
  const auto golden = nlohmann::json::parse(test::read_text(test::shared_models() / "golden.json"));
  EngineRig rig(path);
  const int layers = rig.model().config().num_layers;
  ParallelDevice device(cpu_devices(2), {split, layers, {}});
  const auto compute = device.make_compute_unit();
  std::vector<NamedUnit> units;
  units.push_back(unit_of(device, rig, 64));
  const auto engine = rig.engine_on(*compute, std::move(units), {});
  for (const auto& prompt : golden["models"][name]["prompts"]) {
    const auto output = prompt["out_ids"].get<std::vector<model::TokenId>>();
    const auto gaps = prompt["top1_top2_gap"].get<std::vector<double>>();
    const auto unclear = std::ranges::find_if(gaps, [](double gap) { return gap < 0.1; });
    const auto clear = static_cast<std::size_t>(unclear - gaps.begin());
    const auto answer = engine::run_all(
        *engine, {engine::greedy(prompt["prompt_ids"].get<std::vector<model::TokenId>>(),
                                 static_cast<int>(output.size()))});
    for (std::size_t i = 0; i < std::min(clear, output.size()); ++i) {
      EXPECT_EQ(answer.front().tokens.at(i), output[i]) << "token " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenOnParts,
                         testing::Combine(testing::Values("stories260K-f32", "stories260K-f16"),
                                          testing::Values(Split::kLayers, Split::kTensor)),
                         [](const auto& info) {
                           std::string name =
                               std::get<0>(info.param) +
                               (std::get<1>(info.param) == Split::kLayers ? "_layers" : "_tensor");
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace tandem::device::parallel
