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
