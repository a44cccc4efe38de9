// SPDX-License-Identifier: Apache-2.0
//
// Which compute devices a list names, and which models they can share.
#include "apps/compute_choice.h"

#include <gmock/gmock.h>

#include "common/error.h"

namespace tandem::apps {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

model::ModelConfig config(int layers, int q_heads, int kv_heads, int ffn_width) {
  model::ModelConfig config;
  config.num_layers = layers;
  config.q_heads = q_heads;
  config.kv_heads = kv_heads;
  config.ffn_width = ffn_width;
  return config;
}

TEST(ComputeChoice, ReadsOneIdOrSeveral) {
  EXPECT_THAT(compute_ids("cpu"), ElementsAre("cpu"));
  EXPECT_THAT(compute_ids("cuda:0,cuda:1"), ElementsAre("cuda:0", "cuda:1"));
  EXPECT_EQ(group_id(compute_ids("cuda:0,cuda:1")), "cuda:0+cuda:1");
  for (const char* list : {"", ",", "cuda:0,", ",cuda:0", "cuda:0,,cuda:1"}) {
    EXPECT_THROW(compute_ids(list), Error) << list;
  }
}

TEST(ComputeChoice, ReadsLimitsOfMemory) {
  EXPECT_THAT(compute_devices("cuda:0=2GiB,cpu,cpu=300"),
              ElementsAre(ComputeDevice{"cuda:0", std::uint64_t{2} << 30}, ComputeDevice{"cpu", 0},
                          ComputeDevice{"cpu", 300}));
  EXPECT_THAT(compute_ids("cuda:0=2GiB,cpu"), ElementsAre("cuda:0", "cpu"));
  const auto refusal = [](const char* list) { return [list] { compute_devices(list); }; };
  EXPECT_THAT(refusal("cpu=much,cpu"), ThrowsMessage<Error>(HasSubstr("'much' is not a size")));
  EXPECT_THAT(refusal("cpu=0"), ThrowsMessage<Error>(HasSubstr("holds nothing")));
  EXPECT_THAT(refusal("=1GiB"), ThrowsMessage<Error>(HasSubstr("empty device id")));
}

TEST(ComputeChoice, AMemberOfAPlanMayGetAllWithinItsLimit) {
  const std::vector<ComputeDevice> devices = {{"cuda", 300}, {"cuda:1", 0}};
  EXPECT_EQ(most_planned_bytes(devices, "cuda:0", 1000), 300u);
  EXPECT_EQ(most_planned_bytes(devices, "cuda:0", 200), 200u);
  EXPECT_EQ(most_planned_bytes(devices, "cuda:1", 1000), 1000u);
}

TEST(ComputeChoice, TakesLimitsWhereLayersArePlanned) {
  EXPECT_NO_THROW(check_limits("cpu=1GiB,cpu", "auto"));
  EXPECT_NO_THROW(check_limits("cpu,cpu", "layers"));
  const auto refusal = [](const char* list, const char* split) {
    return [list, split] { check_limits(list, split); };
  };
  for (const auto& [list, split] :
       {std::pair("cuda:0,cuda:1=1GiB", "layers"), std::pair("cuda:0,cuda:1=1GiB", "tensor"),
        std::pair("cuda:1=1GiB", "auto")}) {
    EXPECT_THAT(refusal(list, split),
                ThrowsMessage<Error>(AllOf(HasSubstr("cuda:1"), HasSubstr("--split auto"))));
  }
}

TEST(ComputeChoice, KnowsTheGroupAndItsMembersByEveryName) {
  const std::vector<std::string> two = {"cuda", "cuda:1"};
  EXPECT_TRUE(names_group(two, "cuda:0+cuda:1"));
  EXPECT_TRUE(names_group(two, "cuda+cuda:1"));
  EXPECT_FALSE(names_group(two, "cuda:1+cuda:0")) << "the first has the first layers";
  EXPECT_FALSE(names_group(two, "cuda:0"));
  EXPECT_TRUE(names_member(two, "cuda:0"));
  EXPECT_TRUE(names_member({"cuda:0", "cuda:1"}, "cuda"));
  EXPECT_FALSE(names_member(two, "cuda:2"));
  EXPECT_FALSE(names_member(two, "xrt:0"));
}

TEST(ComputeChoice, NamesTheNumbersThatDoNotDivide) {
  const std::vector<std::string> three = {"cuda:0", "cuda:1", "cuda:2"};
  const auto refusal = [&](const model::ModelConfig& model, const std::string& split) {
    return [&three, model, split] { check_group(three, split, model); };
  };
  EXPECT_NO_THROW(check_group(three, "tensor", config(1, 12, 6, 48)));
  EXPECT_NO_THROW(check_group(three, "layers", config(3, 5, 5, 7)));
  EXPECT_THAT(refusal(config(2, 12, 6, 48), "layers"),
              ThrowsMessage<Error>(AllOf(HasSubstr("2 layers"), HasSubstr("3 devices"))));
  EXPECT_THAT(refusal(config(9, 8, 3, 48), "tensor"),
              ThrowsMessage<Error>(AllOf(HasSubstr("8 query heads"), HasSubstr("3 devices"))));
  EXPECT_THAT(refusal(config(9, 12, 4, 48), "tensor"),
              ThrowsMessage<Error>(HasSubstr("4 key and value heads")));
  EXPECT_THAT(refusal(config(9, 12, 6, 50), "tensor"),
              ThrowsMessage<Error>(HasSubstr("50 values of the feed-forward")));
}

}  // namespace
}  // namespace tandem::apps
