// SPDX-License-Identifier: Apache-2.0
//
// Groups as the registry opens them.
#include <gmock/gmock.h>

#include "common/error.h"
#include "device/registry.h"

namespace tandem::device {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::unique_ptr<Device> open(const std::vector<std::string>& ids, int num_layers = 4,
                             GroupSplit split = GroupSplit::kLayers) {
  return open_group(ids, {split, num_layers, {}}, {.num_threads = 2});
}

TEST(Group, OfCpusIsOneDevice) {
  const auto group = open({"cpu", "cpu"});
  EXPECT_EQ(group->info().id, "cpu+cpu");
  EXPECT_EQ(group->info().kind, "cpu");
  EXPECT_TRUE(group->info().makes_attention);
  EXPECT_TRUE(group->info().attends_windows);
  EXPECT_NE(group->make_compute_unit(), nullptr);
}

TEST(Group, RefusesWhatCannotShareAModel) {
  EXPECT_THAT(
      [] {
        open({"cpu", "cuda:0"}, 4, GroupSplit::kTensor);
      },
      ThrowsMessage<Error>(
          AllOf(HasSubstr("'cpu'"), HasSubstr("'cuda:0'"), HasSubstr("different kinds"))));
  EXPECT_THAT(
      [] {
        open({"cuda", "cuda:0"});
      },
      ThrowsMessage<Error>(HasSubstr("'cuda:0' is named twice")));
  EXPECT_THAT(
      [] {
        open({"cpu", "cpu", "cpu"}, 2);
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("2 layers"), HasSubstr("3 devices"))));
  EXPECT_THROW(open({}), Error);
  EXPECT_THROW(open({"abacus", "abacus:1"}), Error);
}

}  // namespace
}  // namespace tandem::device
