// SPDX-License-Identifier: Apache-2.0
//
// Building, changing and adapting blocks; the kernel over them.
#include "tensor/sparse/adaptive/adaptive_partition.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "common/error.h"
#include "tensor/sparse/formats/entry_order.h"
#include "tensor/sparse/formats/radix_sort.h"
#include "tensor/sparse/kernels/mttkrp_block.h"

namespace tandem::sparse {
namespace {

constexpr double kNewWeight = 0.5;  // of a measurement in a moving mean

// The time of this thread: what other processes take of a processor says nothing about a block.
class ThreadWatch {
 public:
  double seconds() const { return now() - start_; }

 private:
  static double now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double start_ = now();
};

class Watch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

double blend(double old, double fresh) {
  return old == 0 ? fresh : (1 - kNewWeight) * old + kNewWeight * fresh;
}

// A thread's rows of the result.
struct RunRows {
  std::uint64_t first = 0, last = 0;
  AlignedVector<float> values;  // [last - first, stride]
};

RunRows rows_of(std::span<const CurveBlock> run, std::size_t mode, std::size_t stride) {
  RunRows rows{~std::uint64_t{0}, 0, {}};
  for (const CurveBlock& block : run) {
    if (block.size() == 0) continue;
    rows.first = std::min(rows.first, block.bases[mode]);
    rows.last = std::max(rows.last, block.ends[mode]);
  }
  rows.first = std::min(rows.first, rows.last);
  rows.values.assign((rows.last - rows.first) * stride, 0.0f);
  return rows;
}

void add_curve_block(const CurveBlock& block, std::span<const FactorMatrix<float>> factors,
                     std::size_t mode, RunRows& rows, std::size_t stride) {
  MttkrpBlock<float> work{
      block.distances.data(), block.values.data(), block.size(), factors.size(), mode, stride};
  for (std::size_t m = 0; m < factors.size(); ++m) {
    if (m != mode) work.rows[m] = factors[m].row(block.bases[m]);
  }
  work.out = rows.values.data() + (block.bases[mode] - rows.first) * stride;
  add_block(work);
}

// Divides times among blocks by their entries.
void share_times(double kernel, double change, std::vector<CurveBlock>& blocks) {
  std::size_t entries = 0;
  for (const CurveBlock& block : blocks) entries += block.size();
  for (CurveBlock& block : blocks) {
    const double part =
        entries == 0 ? 0 : static_cast<double>(block.size()) / static_cast<double>(entries);
    block.kernel_seconds = kernel * part;
    block.change_seconds = change * part;
  }
}

CooTensor joined(const CooTensor& first, const CooTensor& second) {
  CooTensor both = first;
  both.resize(first.num_entries() + second.num_entries());
  for (std::size_t i = 0; i < second.num_entries(); ++i) {
    for (std::size_t mode = 0; mode < both.order(); ++mode) {
      both.indices[mode].set(first.num_entries() + i, second.indices[mode][i]);
    }
    both.values[first.num_entries() + i] = second.values[i];
  }
  return both;
}

// The measured seconds of an iteration; before there are any, the entries.
std::vector<double> kernel_costs(std::span<const CurveBlock> blocks) {
  const bool is_measured = std::ranges::all_of(
      blocks, [](const CurveBlock& b) { return b.size() == 0 || b.kernel_seconds > 0; });
  std::vector<double> costs;
  for (const CurveBlock& block : blocks) {
    costs.push_back(is_measured ? block.kernel_seconds : static_cast<double>(block.size()));
  }
  return costs;
}

}  // namespace

AdaptivePartition::AdaptivePartition(const CooTensor& tensor, const AdaptiveOptions& options,
                                     ThreadPool& pool)
    : sizes_(tensor.sizes), options_(options), curve_(CurveKind::kHilbert, tensor.sizes) {
  CooTensor whole = tensor;
  sum_duplicates(whole, pool);
  const CurveEntries entries = sorted(whole, whole.num_entries(), pool);
  const Watch watch;
  const int bits = curve_.bits(), grid = std::min(options.grid_bits, bits);
  const std::size_t cells = std::size_t{1} << grid;
  std::vector<std::vector<CurveBlock>> made(cells);
  pool.run(cells, [&](std::size_t cell) {
    // Shifts by 64 are undefined: one block of 64 bits is all keys.
    const auto key = [&](std::size_t c) {
      return grid == 0 ? 0 : static_cast<std::uint64_t>(c) << (bits - grid);
    };
    const std::uint64_t all = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    const KeyRange keys{key(cell), cell + 1 == cells ? all : key(cell + 1) - 1};
    const auto begin = std::lower_bound(entries.keys.begin(), entries.keys.end(), keys.first);
    const auto end = std::upper_bound(begin, entries.keys.end(), keys.last);
    append_blocks(entries, static_cast<std::size_t>(begin - entries.keys.begin()),
                  static_cast<std::size_t>(end - entries.keys.begin()), keys, sizes_.size(),
                  made[cell]);
  });
  for (auto& some : made) std::move(some.begin(), some.end(), std::back_inserter(blocks_));
  entry_seconds_ = watch.seconds() * static_cast<double>(pool.num_threads()) /
                   static_cast<double>(std::max<std::size_t>(1, entries.size()));
}

CurveEntries AdaptivePartition::sorted(const CooTensor& tensor, std::size_t first_removed,
                                       ThreadPool& pool) const {
  const auto records = sorted_positions(curve_keys(tensor, curve_, pool), curve_.bits(), pool);
  const std::size_t order = sizes_.size();
  CurveEntries entries;
  entries.keys.resize(records.size());
  entries.values.resize(records.size());
  entries.indices.resize(records.size() * order);
  entries.removed.resize(records.size());
  for_parts(records.size(), pool, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      entries.keys[i] = records[i].key;
      entries.values[i] = static_cast<float>(tensor.values[records[i].position]);
      entries.removed[i] = records[i].position >= first_removed ? 1 : 0;
      for (std::size_t mode = 0; mode < order; ++mode) {
        entries.indices[i * order + mode] = tensor.indices[mode][records[i].position];
      }
    }
  });
  return entries;
}

std::size_t AdaptivePartition::num_entries() const {
  return std::accumulate(
      blocks_.begin(), blocks_.end(), std::size_t{0},
      [](std::size_t sum, const CurveBlock& block) { return sum + block.size(); });
}

void AdaptivePartition::replace(Made& made, const std::vector<bool>& is_old) {
  std::vector<CurveBlock> next;
  next.reserve(blocks_.size());
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (is_old[b]) {
      next.push_back(std::move(blocks_[b]));
    } else {
      std::move(made[b].begin(), made[b].end(), std::back_inserter(next));
    }
  }
  blocks_ = std::move(next);
}

// Block `old` after the changes [begin, end).
std::vector<CurveBlock> AdaptivePartition::rebuilt(const CurveBlock& old,
                                                   const CurveEntries& change, std::size_t begin,
                                                   std::size_t end) const {
  const ThreadWatch watch;
  const std::size_t order = sizes_.size();
  const CurveEntries merged = changed(entries_of(old, order), change, begin, end, order);
  std::vector<CurveBlock> fresh;
  append_blocks(merged, 0, merged.size(), {old.first, old.last}, order, fresh);
  const double seconds = cost_of(merged.size(), watch.seconds());
  share_times(old.kernel_seconds, old.change_seconds + kNewWeight * seconds, fresh);
  return fresh;
}

void AdaptivePartition::change(const CooTensor& set, const CooTensor& removed, ThreadPool& pool) {
  const Watch watch;
  const CurveEntries entries = sorted(joined(set, removed), set.num_entries(), pool);
  Made made(blocks_.size());
  std::vector<bool> is_old(blocks_.size(), true);
  std::vector<std::size_t> hit, bounds;
  for (std::size_t at = 0, b = 0; b < blocks_.size(); ++b) {
    const std::size_t begin = at;
    while (at < entries.size() && entries.keys[at] <= blocks_[b].last) ++at;
    blocks_[b].change_seconds *= 1 - kNewWeight;
    if (at == begin) continue;
    is_old[b] = false;
    hit.push_back(b);
    bounds.push_back(begin);
    stats_.rebuilt_entries += blocks_[b].size() + (at - begin);
  }
  bounds.push_back(entries.size());
  pool.run(hit.size(), [&](std::size_t i) {
    made[hit[i]] = rebuilt(blocks_[hit[i]], entries, bounds[i], bounds[i + 1]);
  });
  replace(made, is_old);
  work_seconds_ += watch.seconds();
}

void AdaptivePartition::mttkrp(std::span<const FactorMatrix<float>> factors, std::size_t mode,
                               FactorMatrix<float>& out, ThreadPool& pool) {
  TANDEM_CHECK_OP(factors.size(), ==, sizes_.size());
  TANDEM_CHECK_OP(mode, <, sizes_.size());
  TANDEM_CHECK_OP(out.rows, ==, sizes_[mode]);
  const Watch all;
  const auto threads = static_cast<std::size_t>(pool.num_threads());
  const std::vector<std::size_t> bounds = balanced_runs(kernel_costs(blocks_), threads);
  std::vector<RunRows> runs(threads);
  pool.run(threads, [&](std::size_t run) {
    const auto mine = std::span(blocks_).subspan(bounds[run], bounds[run + 1] - bounds[run]);
    runs[run] = rows_of(mine, mode, out.stride);
    for (CurveBlock& block : mine) {
      if (block.size() == 0) continue;
      const ThreadWatch watch;
      add_curve_block(block, factors, mode, runs[run], out.stride);
      const double seconds = cost_of(block.size(), watch.seconds());
      block.kernel_seconds = blend(block.kernel_seconds, std::max(seconds, 1e-9));
    }
  });
  for_parts(static_cast<std::size_t>(out.rows), pool, [&](std::size_t begin, std::size_t end) {
    std::fill(out.row(begin), out.row(begin) + (end - begin) * out.stride, 0.0f);
    for (const RunRows& run : runs) {
      const std::uint64_t first = std::max<std::uint64_t>(begin, run.first);
      const std::uint64_t last = std::min<std::uint64_t>(end, run.last);
      if (first >= last) continue;
      const float* from = run.values.data() + (first - run.first) * out.stride;
      float* to = out.row(first);
      for (std::size_t i = 0; i < (last - first) * out.stride; ++i) to[i] += from[i];
    }
  });
  work_seconds_ += all.seconds();
}

// Halves a block while the halves stay hot; the last halves are appended.
void AdaptivePartition::halve(CurveBlock block, double share, double midpoint, int depth,
                              std::vector<CurveBlock>& to) const {
  const bool is_whole = depth == 0 || share <= midpoint || block.first == block.last ||
                        block.size() < 2 * options_.plan.least_entries;
  if (is_whole) return to.push_back(std::move(block));
  const std::uint64_t middle = block.first + (block.last - block.first) / 2;
  const CurveEntries entries = entries_of(block, sizes_.size());
  const auto cut = static_cast<std::size_t>(
      std::upper_bound(entries.keys.begin(), entries.keys.end(), middle) - entries.keys.begin());
  std::vector<CurveBlock> halves;
  append_blocks(entries, 0, cut, {block.first, middle}, sizes_.size(), halves);
  append_blocks(entries, cut, entries.size(), {middle + 1, block.last}, sizes_.size(), halves);
  share_times(block.kernel_seconds, block.change_seconds, halves);
  for (CurveBlock& half : halves) {
    const double part = static_cast<double>(half.size()) / static_cast<double>(block.size());
    halve(std::move(half), share * part, midpoint, depth - 1, to);
  }
}

// Seconds of an iteration: a better balance of the kernels, and changes that hit smaller blocks.
double AdaptivePartition::gain_of(const BlockPlan& plan, std::span<const double> seconds,
                                  std::size_t threads) const {
  const double halvings = depth_limit(blocks_.size());
  std::vector<double> after;
  double changes = 0;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (!plan.splits[b]) {
      after.push_back(seconds[b]);
      continue;
    }
    const auto parts = static_cast<std::size_t>(std::exp2(halvings));
    after.insert(after.end(), parts, seconds[b] / static_cast<double>(parts));
    changes += blocks_[b].change_seconds * (1 - std::exp2(-halvings));
  }
  const double before = longest_run(seconds, balanced_runs(seconds, threads));
  return before - longest_run(after, balanced_runs(after, threads)) + changes;
}

std::vector<BlockLoad> AdaptivePartition::loads(std::size_t kernels) const {
  std::vector<BlockLoad> result;
  for (const CurveBlock& block : blocks_) {
    const double seconds =
        static_cast<double>(kernels) * block.kernel_seconds + block.change_seconds;
    result.push_back({block.size(), static_cast<double>(block.size() * sizes_.size()), seconds});
  }
  return result;
}

bool AdaptivePartition::adapt(std::size_t remaining, std::size_t kernels, ThreadPool& pool) {
  const Watch watch;
  ++iterations_;
  const std::vector<BlockLoad> load = loads(kernels);
  const BlockPlan plan = plan_blocks(load, options_.plan);
  if (plan.changes_nothing()) return false;
  std::vector<double> seconds;
  for (const CurveBlock& block : blocks_) {
    seconds.push_back(static_cast<double>(kernels) * block.kernel_seconds);
  }
  const auto threads = static_cast<std::size_t>(pool.num_threads());
  const double gain = gain_of(plan, seconds, threads);
  const RoundWork work = round_work(load, plan, depth_limit(blocks_.size()));
  const double copies = work.copies_of_a_thread(threads);
  const double cost = entry_seconds_ * copies;
  const RoundBudget budget{options_.round_budget, work_seconds_, stats_.round_seconds, iterations_};
  const bool pays = gain * static_cast<double>(remaining) > cost && budget.allows(cost, remaining);
  if (pays) {
    make_round(plan, shares(load), pool);
    stats_.rebuilt_entries += work.moved;
    ++stats_.rounds;
    const auto entries = static_cast<std::size_t>(copies) + 1;
    entry_seconds_ =
        blend(entry_seconds_, cost_of(entries, watch.seconds()) / static_cast<double>(entries));
  } else {
    ++stats_.refusals;
  }
  stats_.round_seconds += watch.seconds();
  return pays;
}

std::vector<CurveBlock> AdaptivePartition::fused(std::size_t begin, std::size_t end) const {
  CurveEntries entries;
  double kernel = 0, changing = 0;
  for (std::size_t b = begin; b < end; ++b) {
    append(entries_of(blocks_[b], sizes_.size()), entries);
    kernel += blocks_[b].kernel_seconds;
    changing += blocks_[b].change_seconds;
  }
  std::vector<CurveBlock> made;
  append_blocks(entries, 0, entries.size(), {blocks_[begin].first, blocks_[end - 1].last},
                sizes_.size(), made);
  share_times(kernel, changing, made);
  return made;
}

void AdaptivePartition::make_round(const BlockPlan& plan, std::span<const double> shares,
                                   ThreadPool& pool) {
  Made made(blocks_.size());
  std::vector<bool> is_old(blocks_.size(), true);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (plan.splits[b]) is_old[b] = false;
    stats_.splits += plan.splits[b] ? 1 : 0;
    if (!plan.joins_next[b]) continue;
    is_old[b] = is_old[b + 1] = false;
    ++stats_.fusions;
  }
  const int depth = depth_limit(blocks_.size());
  pool.run(blocks_.size(), [&](std::size_t b) {
    if (plan.splits[b]) return halve(blocks_[b], shares[b], plan.midpoint, depth, made[b]);
    const bool begins_run = plan.joins_next[b] && (b == 0 || !plan.joins_next[b - 1]);
    if (!begins_run) return;
    std::size_t end = b + 1;
    while (plan.joins_next[end - 1]) ++end;
    made[b] = fused(b, end);
  });
  replace(made, is_old);
}

}  // namespace tandem::sparse
