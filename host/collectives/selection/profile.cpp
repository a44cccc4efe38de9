// SPDX-License-Identifier: Apache-2.0
//
// Sketches keep only hashes, because the number of holders of a sampled unit matters, not its
// identity.
#include "collectives/selection/profile.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <queue>
#include <utility>

#include "collectives/codec/format.h"
#include "tensor/sparse/supports.h"

namespace tandem::collectives {
namespace {

std::uint32_t hash_place(std::uint64_t place) {
  std::uint64_t z = place + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<std::uint32_t>((z ^ (z >> 31)) >> 32);
}

// Keeps the kSketchSize least hashes of its input.
class Sketcher {
 public:
  void add(std::uint64_t place) {
    ++num_present_;
    const std::uint32_t hash = hash_place(place);
    if (hash >= bound_) return;
    kept_.push_back(hash);
    if (kept_.size() >= 4 * kSketchSize) shrink();
  }

  SupportSketch finish() {
    shrink();
    std::sort(kept_.begin(), kept_.end());
    return {num_present_, std::move(kept_)};
  }

 private:
  void shrink() {
    if (kept_.size() <= kSketchSize) return;
    const auto end = kept_.begin() + kSketchSize;
    std::nth_element(kept_.begin(), end - 1, kept_.end());
    bound_ = std::uint64_t{*(end - 1)} + 1;
    kept_.erase(end, kept_.end());
  }

  std::uint64_t num_present_ = 0;
  std::uint64_t bound_ = std::uint64_t{1} << 32;
  std::vector<std::uint32_t> kept_;
};

std::uint64_t range_size(std::uint64_t num_units, int world) {
  const auto ranks = static_cast<std::uint64_t>(world);
  return std::max<std::uint64_t>(1, num_units / ranks + (num_units % ranks != 0 ? 1 : 0));
}

std::uint64_t num_blocks(Domain domain) {
  const std::uint64_t units = std::max<std::uint64_t>(1, units_per_block(domain));
  return domain.num_units / units + (domain.num_units % units != 0 ? 1 : 0);
}

template <typename I>
RankProfile profile_indices(std::span<const I> indices, Domain domain, int world) {
  RankProfile profile;
  profile.unit_ranges.assign(static_cast<std::size_t>(world), 0);
  profile.block_ranges = profile.unit_ranges;
  const std::uint64_t units_in_range = range_size(domain.num_units, world);
  const std::uint64_t blocks_in_range = range_size(num_blocks(domain), world);
  const std::uint64_t block_units = std::max<std::uint64_t>(1, units_per_block(domain));
  Sketcher units, blocks;
  std::uint64_t next_block = 0;
  for (I unit : indices) {
    units.add(unit);
    ++profile.unit_ranges[unit / units_in_range];
    const std::uint64_t block = unit / block_units;
    if (block < next_block) continue;
    blocks.add(block);
    ++profile.block_ranges[block / blocks_in_range];
    next_block = block + 1;
  }
  profile.units = units.finish();
  profile.blocks = blocks.finish();
  return profile;
}

[[noreturn]] void reject(const char* what) {
  throw Error("selection", std::string("the profile is malformed: ") + what);
}

template <typename T>
T take(std::span<const std::byte>& bytes) {
  T value;
  if (bytes.size() < sizeof(T)) reject("it ends early");
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes = bytes.subspan(sizeof(T));
  return value;
}

std::vector<std::uint32_t> take_words(std::span<const std::byte>& bytes, std::size_t count) {
  if (bytes.size() / sizeof(std::uint32_t) < count) reject("it ends early");
  std::vector<std::uint32_t> words(count);
  if (count > 0) std::memcpy(words.data(), bytes.data(), count * sizeof(std::uint32_t));
  bytes = bytes.subspan(count * sizeof(std::uint32_t));
  return words;
}

void append_words(ByteBuffer& bytes, const std::vector<std::uint32_t>& words) {
  for (std::uint32_t word : words) append_value(bytes, word);
}

SupportSketch take_sketch(std::span<const std::byte>& bytes, std::uint64_t num_present) {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(num_present, kSketchSize));
  SupportSketch sketch{num_present, take_words(bytes, count)};
  if (!std::is_sorted(sketch.hashes.begin(), sketch.hashes.end())) reject("hashes out of order");
  return sketch;
}

// How many units exactly m ranks hold, estimated. [world + 1]
std::vector<double> estimate_holders(const std::vector<const SupportSketch*>& sketches) {
  // Below this every sketch is complete.
  std::uint64_t bound = std::uint64_t{1} << 32;
  std::size_t num_hashes = 0;
  for (const SupportSketch* sketch : sketches) {
    if (sketch->num_present > kSketchSize)
      bound = std::min<std::uint64_t>(bound, sketch->hashes.back());
    num_hashes += sketch->hashes.size();
  }
  std::vector<std::uint32_t> all;
  all.reserve(num_hashes);
  for (const SupportSketch* sketch : sketches) {
    for (std::uint32_t hash : sketch->hashes) {
      if (hash < bound) all.push_back(hash);
    }
  }
  std::sort(all.begin(), all.end());
  std::vector<double> held_by(sketches.size() + 1, 0);
  const double weight = 0x1.0p32 / static_cast<double>(std::max<std::uint64_t>(bound, 1));
  for (std::size_t first = 0, end = 0; first < all.size(); first = end) {
    while (end < all.size() && all[end] == all[first]) ++end;
    held_by[std::min(end - first, sketches.size())] += weight;
  }
  return held_by;
}

std::vector<double> estimate_unions(const std::vector<const SupportSketch*>& sketches,
                                    double most) {
  std::vector<double> sizes = sparse::union_sizes(estimate_holders(sketches));
  double mean = 0, largest = 0;
  for (const SupportSketch* sketch : sketches) {
    mean += static_cast<double>(sketch->num_present) / static_cast<double>(sketches.size());
    largest = std::max(largest, static_cast<double>(sketch->num_present));
  }
  // The mean of single ranks is known exactly; the estimate is scaled to it.
  const double scale = sizes.size() > 1 && sizes[1] > 0 ? mean / sizes[1] : 1;
  for (double& size : sizes) size = std::min(size * scale, most);
  if (sizes.back() < largest) sizes.back() = largest;
  return sizes;
}

// The union's entries per range from the ranks' histograms: between the most that one rank has
// there and the sum, at the place that gives the union's size in all.
using Ranges = std::vector<std::uint32_t>;

double union_imbalance(std::span<const Ranges* const> by_rank, double union_entries, double range) {
  const std::size_t world = by_rank.size();
  std::vector<double> most(world, 0), sum(world, 0);
  double total_most = 0, total_sum = 0;
  for (std::size_t place = 0; place < world; ++place) {
    for (const Ranges* ranges : by_rank) {
      const auto count = static_cast<double>((*ranges)[place]);
      most[place] = std::max(most[place], count);
      sum[place] += count;
    }
    total_most += most[place];
    total_sum += sum[place];
  }
  if (total_sum == 0) return 1;
  const double spread = total_sum - total_most;
  const double share = spread > 0 ? std::clamp((union_entries - total_most) / spread, 0.0, 1.0) : 0;
  double busiest = 0, total = 0;
  for (std::size_t place = 0; place < world; ++place) {
    const double here = std::min(range, most[place] + share * (sum[place] - most[place]));
    busiest = std::max(busiest, here);
    total += here;
  }
  return std::max(1.0, busiest * static_cast<double>(world) / std::max(total, union_entries));
}

double push_imbalance(std::span<const Ranges* const> by_rank) {
  double imbalance = 1;
  for (const Ranges* ranges : by_rank) {
    double busiest = 0, total = 0;
    for (std::uint32_t count : *ranges) {
      busiest = std::max(busiest, static_cast<double>(count));
      total += count;
    }
    if (total > 0) {
      imbalance = std::max(imbalance, busiest * static_cast<double>(ranges->size()) / total);
    }
  }
  return imbalance;
}

}  // namespace

RankProfile profile_support(const SparseVector& own, int world) {
  if (own.wide()) return profile_indices(own.indices<std::uint64_t>(), own.domain(), world);
  return profile_indices(own.indices<std::uint32_t>(), own.domain(), world);
}

void RankProfile::append_to(ByteBuffer& bytes) const {
  append_value(bytes, units.num_present);
  append_value(bytes, blocks.num_present);
  append_words(bytes, unit_ranges);
  append_words(bytes, block_ranges);
  append_words(bytes, units.hashes);
  append_words(bytes, blocks.hashes);
}

RankProfile RankProfile::parse(std::span<const std::byte>& bytes, int world) {
  RankProfile profile;
  const auto num_units = take<std::uint64_t>(bytes);
  const auto num_blocks = take<std::uint64_t>(bytes);
  profile.unit_ranges = take_words(bytes, static_cast<std::size_t>(world));
  profile.block_ranges = take_words(bytes, static_cast<std::size_t>(world));
  profile.units = take_sketch(bytes, num_units);
  profile.blocks = take_sketch(bytes, num_blocks);
  return profile;
}

void fill_from_profiles(Problem& problem, std::span<const RankProfile> profiles) {
  problem.world = static_cast<int>(profiles.size());
  std::vector<const SupportSketch*> units, blocks;
  std::vector<const Ranges*> unit_ranges, block_ranges;
  double entries = 0, most_entries = 0;
  for (const RankProfile& profile : profiles) {
    units.push_back(&profile.units);
    blocks.push_back(&profile.blocks);
    unit_ranges.push_back(&profile.unit_ranges);
    block_ranges.push_back(&profile.block_ranges);
    const auto own = static_cast<double>(profile.units.num_present);
    entries += own;
    most_entries = std::max(most_entries, own);
  }
  const std::uint64_t num_units = problem.domain.num_units;
  const std::uint64_t total_blocks = num_blocks(problem.domain);
  problem.union_entries = estimate_unions(units, static_cast<double>(num_units));
  problem.union_blocks = estimate_unions(blocks, static_cast<double>(total_blocks));
  problem.entry_imbalance = entries > 0 ? most_entries * problem.world / entries : 1;
  problem.even_push_imbalance = push_imbalance(unit_ranges);
  problem.even_pull_imbalance =
      union_imbalance(unit_ranges, problem.union_entries.back(),
                      static_cast<double>(range_size(num_units, problem.world)));
  problem.even_block_push_imbalance = push_imbalance(block_ranges);
  problem.even_block_pull_imbalance =
      union_imbalance(block_ranges, problem.union_blocks.back(),
                      static_cast<double>(range_size(total_blocks, problem.world)));
}

}  // namespace tandem::collectives
