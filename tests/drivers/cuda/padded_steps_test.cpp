// SPDX-License-Identifier: Apache-2.0
//
// Decode steps of all sizes are padded to a few sizes, so that a few graphs serve them; no answer
// changes.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "cuda/compute/compute_unit.h"
#include "cuda/queue/buckets.h"
#include "drivers/cuda/gpu_rig.h"
#include "engine/executor/executor.h"
#include "engine/steps/step_rows.h"
#include "gpu_kernels/simt/faults.h"

namespace tandem::engine {
namespace {

TEST(RowBucket, IsNeverLessAndSeldomMuchMore) {
  std::size_t before = 0;
  for (std::size_t rows = 1; rows <= 2000; ++rows) {
    const std::size_t bucket = cuda::row_bucket(rows);
    EXPECT_GE(bucket, rows);
    EXPECT_GE(bucket, before);
    EXPECT_EQ(cuda::row_bucket(bucket), bucket);
    EXPECT_EQ(cuda::about(rows, 8), cuda::about(bucket, 8)) << "one launch shape of attention";
    EXPECT_LE(bucket - rows, rows <= 8 ? 1u : rows <= 64 ? 7u : rows <= 256 ? 15u : 31u);
    before = bucket;
  }
}

constexpr std::size_t kMost = 40, kPast = 2;

// Sequences of four tokens each, the last two of which are decoded again and again.
class Steps {
 public:
  Steps(EngineRig& rig, device::ComputeUnit& compute, NamedUnit unit)
      : unit_(std::move(unit)),
        kv_(16, Placement::kSequences, false),
        executor_(rig.model(), compute, {.max_rows = 64, .max_logit_rows = 64}) {
    executor_.add_unit(*unit_.unit);
    kv_.add_unit(kMost, 1.0);
    std::vector<RunnerItem> items;
    for (std::size_t i = 0; i < kMost; ++i) {
      tokens_[i] = rig.prompt(kPast + 2, static_cast<std::uint32_t>(i));
      EXPECT_TRUE(kv_.extend(tables_[i], kPast + 2));
      items.push_back({std::span(tokens_[i]).first(kPast + 1), tables_[i].blocks});
      if (items.size() == 20) run(std::exchange(items, {}));
    }
  }

  // Of `count` of the sequences, in one or two sub-batches, the last token or the one before: as
  // in a decode, no step has the positions of the one before. Samples where the executor does.
  void decode(std::size_t count, std::size_t past, int sub_batches, bool samples) {
    std::vector<RunnerItem> items;
    for (std::size_t i = 0; i < count; ++i) {
      RunnerItem& item = items.emplace_back();
      item.tokens = std::span(tokens_[i]).subspan(past, 1);
      item.blocks = tables_[i].blocks;
      item.past = static_cast<int>(past);
      item.logits = LogitRows::kLast;
      item.sub_batch = sub_batches == 2 && i >= (count + 1) / 2 ? 1 : 0;
      if (samples) item.sample.emplace();
    }
    run(items);
  }

  std::array<std::vector<float>, kMost> logits;
  std::array<model::TokenId, kMost> sampled{};

 private:
  void run(const std::vector<RunnerItem>& items) {
    const auto lost = executor_.run(
        items,
        [&](std::size_t item, int, std::span<const float> row) {
          logits[item].assign(row.begin(), row.end());
        },
        [&](std::size_t item, model::TokenId token) { sampled[item] = token; });
    EXPECT_TRUE(lost.empty());
  }

  NamedUnit unit_;
  KvCache kv_;
  std::array<std::vector<model::TokenId>, kMost> tokens_;
  std::array<PageTable, kMost> tables_;
  Executor executor_;
};

class PaddedSteps : public CudaEngineTest {
 protected:
  void TearDown() override { simt::clear_faults(); }
};

TEST_F(PaddedSteps, AGraphServesAllSizesOfABucketAndAnswersAreAsWithoutIt) {
  EngineRig plain(random_model(DType::kF32));
  Steps expected(plain, plain.compute(), plain.cpu_unit(kMost));
  std::array<std::array<std::vector<float>, kMost>, 2> logits;
  for (const std::size_t past : {kPast, kPast + 1}) {
    expected.decode(kMost, past, 1, false);
    logits[past - kPast] = expected.logits;
  }
  for (const int sub_batches : {1, 2}) {
    SCOPED_TRACE(sub_batches);
    GpuRig gpu(file_.string());
    Steps steps(gpu.rig, *gpu.compute, gpu.cuda_unit(kMost));
    std::size_t past = kPast;
    steps.decode(kMost, past, sub_batches, true);  // the queue's scratch has its place then
    std::map<std::array<std::size_t, 3>, int> shapes;
    simt::clear_faults();
    for (const std::size_t count :
         {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 33, 3, 12, 1, 2, 40, 4, 37}) {
      past = kPast + (past + 1) % 2;
      const std::size_t first = sub_batches == 2 ? (count + 1) / 2 : count;
      ++shapes[{cuda::row_bucket(first), cuda::row_bucket(count - first), cuda::row_bucket(count)}];
      steps.decode(count, past, sub_batches, true);
      for (std::size_t i = 0; i < count; ++i) {
        const auto& row = logits[past - kPast][i];
        const auto token = static_cast<std::size_t>(steps.sampled[i]);
        ASSERT_LT(token, row.size());
        EXPECT_GE(row[token], *std::ranges::max_element(row) - 1e-3f)
            << "sequence " << i << " of " << count;
      }
    }
    const auto repeated = std::ranges::count_if(shapes, [](const auto& s) { return s.second > 1; });
    const auto& stats = static_cast<cuda::CudaComputeUnit&>(*gpu.compute).gpu().queue.stats();
    EXPECT_GT(stats.graph_launches, 0u);
    if (!simt::is_interpreted()) continue;  // who counts them
    EXPECT_GT(simt::graphs_made(), 0);
    EXPECT_LE(simt::graphs_made(), repeated);
    EXPECT_TRUE(sub_batches != 1 || simt::graphs_made() == 9) << "1, 2, 3, 4, 6, 8, 16, 24, 40";
  }
}

TEST_F(PaddedSteps, StepsWithChunksOrWithoutRoomStayAsTheyAre) {
  GpuRig gpu(random_model(DType::kF32));
  KvCache kv(16, Placement::kSequences, false);
  kv.add_unit(8, 1.0);
  const std::vector<model::TokenId> tokens = {5, 6};
  std::array<PageTable, 6> tables;
  std::vector<RunnerItem> items;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    ASSERT_TRUE(kv.extend(tables[i], 2));
    items.push_back({std::span(tokens).first(1), tables[i].blocks});
    items.back().sub_batch = i == 5 ? 1 : 0;
  }
  StepRows rows;
  const auto num_rows = [&](std::size_t max_rows) {
    rows.assign(items, 16, gpu.compute.get(), max_rows);
    EXPECT_EQ(rows.positions().size(), rows.ids().size());
    EXPECT_EQ(rows.sub_batch(1).row_begin, rows.sub_batch(0).num_rows);
    EXPECT_EQ(rows.sub_batch(0).groups.size(), 5u);
    return rows.ids().size();
  };
  EXPECT_EQ(num_rows(7), 7u);
  EXPECT_TRUE(rows.is_padded());
  EXPECT_EQ(num_rows(6), 6u) << "no room";
  EXPECT_FALSE(rows.is_padded());
  items[5].tokens = tokens;
  EXPECT_EQ(num_rows(100), 7u) << "a chunk";
  EXPECT_FALSE(rows.is_padded());
}

}  // namespace
}  // namespace tandem::engine
