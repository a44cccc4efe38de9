// SPDX-License-Identifier: Apache-2.0
//
// The padding of a step for a compute unit that asks for few sizes: where the rows are, when there
// are none, and that they change no result.
#include "engine/steps/step_rows.h"

#include <gmock/gmock.h>

#include <cmath>

#include "engine/executor/executor.h"
#include "host/engine/equivalence.h"
#include "support/queued_attention_unit.h"

namespace tandem::engine {
namespace {

using testing::ElementsAre;

constexpr int kRowPageTokens = 16;

class AddedRows : public Equivalence {
 protected:
  static constexpr model::TokenId kTokens[] = {10, 11, 12, 13, 14};

  // A decode row with `past` tokens, or a chunk of several.
  RunnerItem item(std::size_t token, int past, int sub_batch, std::size_t count = 1) const {
    RunnerItem item;
    item.tokens = std::span(kTokens).subspan(token, count);
    item.blocks = block_;
    item.past = past;
    item.logits = LogitRows::kLast;
    item.sub_batch = sub_batch;
    return item;
  }
  static int rows_in_groups(const SubBatchRows& rows) {
    int sum = 0;
    for (const RowGroup& group : rows.groups) sum += group.num_rows;
    return sum;
  }

  const BlockPlace block_[1] = {{0, 0}};
  test::QueuedComputeUnit by_fours_{rig_.compute(), {.pad_to = 4}};
  StepRows rows_;
};

TEST_F(AddedRows, RepeatTheLastRowBehindEachSubBatchAndAreInNoGroup) {
  const RunnerItem items[] = {item(0, 3, 0), item(1, 4, 1), item(2, 5, 0), item(3, 6, 1),
                              item(4, 7, 0)};
  rows_.assign(items, kRowPageTokens, &by_fours_, 8);
  EXPECT_TRUE(rows_.is_padded());
  EXPECT_THAT(rows_.ids(), ElementsAre(10, 12, 14, 14, 11, 13, 13, 13));
  EXPECT_THAT(rows_.positions(), ElementsAre(3, 5, 7, 7, 4, 6, 6, 6));
  EXPECT_EQ(rows_.sub_batch(0).num_rows, 4u);
  EXPECT_EQ(rows_.sub_batch(1).row_begin, 4u);
  EXPECT_EQ(rows_.sub_batch(1).num_rows, 4u);
  EXPECT_EQ(rows_in_groups(rows_.sub_batch(0)), 3);
  EXPECT_EQ(rows_in_groups(rows_.sub_batch(1)), 2);
  EXPECT_EQ(rows_.logit_rows().size(), 5u);
  for (const LogitRow& row : rows_.logit_rows()) {
    EXPECT_EQ(rows_.ids()[static_cast<std::size_t>(row.step_row)], items[row.item].tokens[0]);
  }
}

TEST_F(AddedRows, AreNoneInASubBatchThatIsEmpty) {
  for (const int only : {0, 1}) {
    SCOPED_TRACE(only);
    const RunnerItem items[] = {item(0, 3, only), item(1, 4, only)};
    rows_.assign(items, kRowPageTokens, &by_fours_, 8);
    EXPECT_TRUE(rows_.is_padded());
    EXPECT_THAT(rows_.ids(), ElementsAre(10, 11, 11, 11));
    const SubBatchRows &used = rows_.sub_batch(static_cast<std::size_t>(only)),
                       &empty = rows_.sub_batch(static_cast<std::size_t>(1 - only));
    EXPECT_EQ(used.row_begin, 0u);
    EXPECT_EQ(used.num_rows, 4u);
    EXPECT_EQ(rows_in_groups(used), 2);
    EXPECT_EQ(empty.num_rows, 0u);
    EXPECT_TRUE(empty.groups.empty());
  }
}

TEST_F(AddedRows, AreNoneWithoutTheRoomForAllOrBesideAChunk) {
  const RunnerItem two[] = {item(0, 3, 0), item(1, 4, 1)};
  rows_.assign(two, kRowPageTokens, &by_fours_, 8);
  EXPECT_EQ(rows_.ids().size(), 8u);
  rows_.assign(two, kRowPageTokens, &by_fours_, 7);
  EXPECT_FALSE(rows_.is_padded());
  EXPECT_THAT(rows_.ids(), ElementsAre(10, 11));
  const RunnerItem chunk[] = {item(0, 3, 0), item(1, 0, 0, 3)};
  rows_.assign(chunk, kRowPageTokens, &by_fours_, 8);
  EXPECT_FALSE(rows_.is_padded());
  EXPECT_EQ(rows_.ids().size(), 4u);
  rows_.assign(two, kRowPageTokens);
  EXPECT_EQ(rows_.ids().size(), 2u);
  EXPECT_FALSE(rows_.is_padded());
}

// Memory of the unit is NaN where nothing was written, such as the attention of the padding.
TEST_F(AddedRows, AreSeenByNobody) {
  for (const bool samples : {false, true}) {
    for (const int sub_batches : {1, 2}) {
      for (const int max_running : {3, 6, 64}) {
        SCOPED_TRACE(testing::Message() << "samples " << samples << " sub-batches " << sub_batches
                                        << " running " << max_running);
        EngineOptions options;
        options.num_sub_batches = sub_batches;
        options.max_running = max_running;
        test::QueuedComputeUnit compute(rig_.compute(), {.samples = samples, .pad_to = 5});
        std::vector<NamedUnit> units = rig_.cpu_units({256});
        units.push_back({"queued", std::make_unique<test::QueuedAttentionUnit>(
                                       compute, std::move(rig_.cpu_unit(256).unit))});
        auto engine = rig_.engine_on(compute, std::move(units), options);
        compare(run_all(*engine, requests()));
      }
    }
  }
}

// Three decode rows, padded to four; there is room for fewer rows of logits.
TEST_F(AddedRows, OfLogitsKeepToTheRoomThatThereIs) {
  const auto vocab = static_cast<std::size_t>(rig_.model().config().vocab_size);
  for (const int room : {2, 3, 8}) {
    SCOPED_TRACE(room);
    test::QueuedComputeUnit compute(rig_.compute(), {.pad_to = 4});
    const NamedUnit unit{"queued", std::make_unique<test::QueuedAttentionUnit>(
                                       compute, std::move(rig_.cpu_unit(8).unit))};
    Executor executor(rig_.model(), compute, {.max_rows = 8, .max_logit_rows = room});
    executor.add_unit(*unit.unit);
    const BlockPlace blocks[] = {{0, 0}, {0, 1}, {0, 2}};
    std::vector<RunnerItem> items;
    for (std::size_t i = 0; i < 3; ++i) {
      items.push_back(item(i, 0, 0));
      items.back().blocks = std::span(blocks).subspan(i, 1);
    }
    std::vector<std::size_t> heard;
    executor.run(items, [&](std::size_t i, int, std::span<const float> logits) {
      heard.push_back(i);
      for (const float logit : logits) ASSERT_TRUE(std::isfinite(logit));
    });
    EXPECT_THAT(heard, testing::UnorderedElementsAre(0, 1, 2));
    const std::size_t copied = compute.counts().copied_bytes / (vocab * sizeof(float));
    EXPECT_EQ(copied, room == 2 ? 4u : room == 3 ? 3u : 4u) << "rows of logits";
  }
}

}  // namespace
}  // namespace tandem::engine
