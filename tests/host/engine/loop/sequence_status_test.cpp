// SPDX-License-Identifier: Apache-2.0
//
// The status of single requests: their reported state, and the places of their pages.
#include "engine/loop/sequence_status.h"

#include <gmock/gmock.h>

#include <vector>

#include "host/engine/loop/virtual_time_rig.h"

namespace tandem::engine {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PageRuns, FollowUnitsAndNumbers) {
  const std::vector<BlockPlace> blocks = {{0, 4}, {0, 5}, {0, 7}, {1, 8}, {1, 9}, {0, 10}};
  std::size_t left_out = 9;
  EXPECT_THAT(page_runs(blocks, left_out),
              ElementsAre(PageRun{0, 4, 2}, PageRun{0, 7, 1}, PageRun{1, 8, 2}, PageRun{0, 10, 1}));
  EXPECT_EQ(left_out, 0u);
  EXPECT_THAT(page_runs({}, left_out), IsEmpty());
}

TEST(PageRuns, AreBoundedAndTheRestIsCounted) {
  std::vector<BlockPlace> blocks;
  for (std::uint32_t i = 0; i < kMostPageRuns + 5; ++i) blocks.push_back({0, 2 * i});
  std::size_t left_out = 0;
  EXPECT_EQ(page_runs(blocks, left_out).size(), kMostPageRuns);
  EXPECT_EQ(left_out, 5u);
}

TEST_F(VirtualTime, RequestsAreListedWithTheirTokensAndPages) {
  options_.max_running = 1;
  start(two_units({}, {}));
  submit(request(0, 20, 9, 1));
  clock_.advance(seconds(3));
  step();
  submit(request(0, 5, 9, 2));
  step();
  const std::vector<SequenceStatus> all = loop_->sequences();
  ASSERT_EQ(all.size(), 2u);
  const SequenceStatus& first = all[0];
  EXPECT_TRUE(first.running);
  EXPECT_EQ(first.id, 1u);
  EXPECT_EQ(first.prompt_tokens, 20);
  EXPECT_EQ(first.generated_tokens, 2);
  EXPECT_EQ(first.computed_tokens, 21);
  EXPECT_DOUBLE_EQ(first.queued_s, 3.0);
  EXPECT_DOUBLE_EQ(first.first_token_s.value(), 3.0 + 0.5 + 20 * 0.01);
  std::uint32_t pages = 0;
  for (const PageRun& run : first.pages) pages += run.count;
  EXPECT_EQ(pages, 2u);  // of 16 tokens
  EXPECT_FALSE(all[1].running);
  EXPECT_FALSE(all[1].first_token_s);
  EXPECT_THAT(all[1].pages, IsEmpty());
  while (!loop_->idle()) step();
  EXPECT_THAT(loop_->sequences(), IsEmpty());
}

}  // namespace
}  // namespace tandem::engine
