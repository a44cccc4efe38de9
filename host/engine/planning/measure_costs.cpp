// SPDX-License-Identifier: Apache-2.0
//
// Measures steps of invented tokens.
#include "engine/planning/measure_costs.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/median.h"
#include "engine/planning/estimate_costs.h"

namespace tandem::engine {
namespace {

using MeasureClock = std::chrono::steady_clock;

// Above this number of rows, prompt chunks take fewer pages than single rows.
constexpr int kMostSingleRows = 16;
constexpr int kChunkRows = 64;
constexpr int kSampledRows = 8;
constexpr int kCausalRows = 128;  // of a chunk; in few rows each pair takes longer
// The middle one is neither an accident nor a stroke of luck.
constexpr int kStepRuns = 3;

class StepProbe {
 public:
  StepProbe(StepRunner& runner, const MeasureOptions& options, int unit, int num_pages,
            int page_tokens)
      : runner_(runner),
        options_(options),
        unit_(unit),
        num_pages_(num_pages),
        page_tokens_(page_tokens) {
    for (int i = 0; i < options.max_rows; ++i) tokens_.push_back(i % options.vocab_size);
  }

  // The number of rows for which there are pages.
  int most_rows() const {
    const int most = std::min(options_.max_rows, num_pages_ * page_tokens_);
    return most > kMostSingleRows ? most : std::min(most, num_pages_);
  }

  // Runs `rows` sequences of one token, or chunks.
  double run(int rows, LogitRows logits = LogitRows::kNone) {
    begin();
    const int chunk = rows > std::min(kMostSingleRows, num_pages_) ? kChunkRows : 1;
    for (int left = rows; left > 0; left -= chunk) add(std::min(left, chunk), 0, logits);
    return run_items();
  }

  // Runs a chunk after the same number of tokens.
  double run_behind(int rows) {
    begin();
    add(rows, rows, LogitRows::kNone);
    return run_items();
  }

 private:
  void begin() {
    items_.clear();
    blocks_.clear();
    next_page_ = 0;
  }

  void add(int rows, int past, LogitRows logits) {
    const int count = (past + rows + page_tokens_ - 1) / page_tokens_;
    std::vector<BlockPlace>& blocks = blocks_.emplace_back();
    for (int i = 0; i < count; ++i) {
      blocks.push_back({unit_, static_cast<device::PageId>(next_page_++ % num_pages_)});
    }
    RunnerItem& item = items_.emplace_back();
    item.tokens = std::span(tokens_).first(static_cast<std::size_t>(rows));
    item.past = past;
    item.logits = logits;
  }

  double run_items() {
    for (std::size_t i = 0; i < items_.size(); ++i) items_[i].blocks = blocks_[i];
    const auto begin = MeasureClock::now();
    const std::vector<int> lost =
        runner_.run(items_, [](std::size_t, int, std::span<const float>) {}, {});
    if (!lost.empty()) {
      throw Error("cost model", "an attention unit gave no answer while steps were measured");
    }
    return std::chrono::duration<double>(MeasureClock::now() - begin).count();
  }

  StepRunner& runner_;
  const MeasureOptions& options_;
  const int unit_, num_pages_, page_tokens_;
  int next_page_ = 0;
  std::vector<TokenId> tokens_;
  std::vector<std::vector<BlockPlace>> blocks_;
  std::vector<RunnerItem> items_;
};

void measure_dense(StepProbe& probe, StepRunner& runner, double seconds,
                   planner::DeviceCost& cost) {
  const auto begin = MeasureClock::now();
  std::vector<planner::CurvePoint> points;
  probe.run(1);  // warms up
  for (int rows = 1; rows <= probe.most_rows(); rows *= 2) {
    std::vector<double> times;
    for (int i = 0; i < kStepRuns; ++i) {
      const double whole = probe.run(rows);
      const auto parts = runner.last_times();
      times.push_back(parts ? parts->dense : whole);
    }
    const double usual = median(std::move(times));
    points.push_back(
        {static_cast<double>(rows), points.empty() ? usual : std::max(usual, points.back().y)});
    const std::chrono::duration<double> spent = MeasureClock::now() - begin;
    if (spent.count() > seconds / 2) break;  // the next takes as long as all before
  }
  cost.dense_by_rows = planner::Curve(std::move(points));
}

// The usual time of the logits of so many rows, besides the layers.
double sampling_of(StepProbe& probe, StepRunner& runner, int rows) {
  std::vector<double> times;
  for (int i = 0; i < kStepRuns; ++i) {
    const double without = probe.run(rows);
    const double with = probe.run(rows, LogitRows::kLast);
    const auto parts = runner.last_times();
    times.push_back(parts ? parts->sampling : std::max(0.0, with - without));
  }
  return median(std::move(times));
}

// The first row reads the output projection, which further rows share.
void measure_sampling(StepProbe& probe, StepRunner& runner, planner::DeviceCost& cost) {
  const int rows = std::min(kSampledRows, probe.most_rows());
  const double one = sampling_of(probe, runner, 1);
  const double several = rows > 1 ? std::max(one, sampling_of(probe, runner, rows)) : one;
  cost.sampling_row_s = rows > 1 ? (several - one) / (rows - 1) : one;
  cost.sampling_s = std::max(0.0, one - cost.sampling_row_s);
}

void measure_rest(StepProbe& probe, StepRunner& runner, const MeasureOptions& options,
                  planner::DeviceCost& cost) {
  measure_sampling(probe, runner, cost);
  const int chunk = std::min(kCausalRows, probe.most_rows() / 2);
  if (!runner.last_times() || chunk < 2) return;
  std::vector<double> causal, merge;
  for (int i = 0; i < kStepRuns; ++i) {
    probe.run_behind(chunk);
    const auto parts = runner.last_times();
    causal.push_back(parts->causal);
    merge.push_back(parts->merge);
  }
  cost.causal_pair_s = median(std::move(causal)) / options.num_layers / (0.5 * chunk * (chunk + 1));
  constexpr int kPartials = 2;  // one of the past, one of the chunk
  cost.merge_row_s = median(std::move(merge)) / options.num_layers / chunk / kPartials;
}

void measure_steps(StepRunner& runner, std::span<const NamedUnit> units,
                   const MeasureOptions& options, planner::DeviceCost& compute) {
  std::size_t home = 0;
  while (home + 1 < units.size() && !is_own_unit(runner, *units[home].unit)) ++home;
  const device::AttentionUnit& unit = *units[home].unit;
  StepProbe probe(runner, options, static_cast<int>(home),
                  static_cast<int>(unit.capacity().num_pages), unit.geometry().page_tokens);
  measure_dense(probe, runner, options.seconds, compute);
  measure_rest(probe, runner, options, compute);
}

template <typename Measure>
void attempt(const MeasureOptions& options, const Measure& measure) {
  try {
    measure();
  } catch (const std::exception& error) {
    if (!options.on_unmeasured) throw;
    options.on_unmeasured(error.what());
  }
}

}  // namespace

bool is_own_unit(const StepRunner& runner, const device::AttentionUnit& unit) {
  const bool has_link = unit.capacity().link_bandwidth_bytes_per_s > 0;
  return runner.shares_queue_with(unit) || (runner.follows_rows() && !has_link);
}

planner::CostTable measure_costs(StepRunner& runner, std::span<const NamedUnit> units,
                                 const MeasureOptions& options) {
  const StatedCompute stated{options.compute_id, static_cast<double>(runner.weights().bytes), 0};
  planner::CostTable table = estimate_costs(stated, units);
  for (const NamedUnit& unit : units) {
    attempt(options,
            [&] { set_unit_costs(measure_unit(unit, options), entry_of(table, unit.id)); });
  }
  attempt(options,
          [&] { measure_steps(runner, units, options, entry_of(table, options.compute_id)); });
  return table;
}

}  // namespace tandem::engine
