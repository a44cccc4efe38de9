// SPDX-License-Identifier: Apache-2.0
//
// The sample takes four values of every stretch, at a place given by a hash, so a periodic gradient
// is also sampled evenly.
#include "collectives/sparsifier/candidates.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "collectives/sparsifier/magnitude_rank.h"
#include "tensor/sparse/generate/random_subset.h"

namespace tandem::collectives {
namespace {

constexpr std::uint64_t kPartValues = 1 << 20;
constexpr std::uint64_t kScanChunk = 1 << 14;
constexpr std::uint64_t kLargestSample = 1 << 16;
constexpr std::uint64_t kNeighbours = 4;  // values in a row: they cost one miss of the cache
constexpr std::uint64_t kNotWorthASample = 1 << 14;  // values; all become candidates

// Entries of a range, in order.
struct Entries {
  Indices places;
  RawVector<float> magnitudes;  // only where they are asked for
  std::size_t count = 0;

  // Makes room for the next entries. The first `done` of a range of `values` values have been read.
  void make_room(std::size_t next, std::uint64_t done, std::uint64_t values, bool with_magnitudes) {
    const std::size_t least = count + next + kSelectionSlack;
    if (places.size() >= least) return;
    const double share =
        static_cast<double>(count) / static_cast<double>(std::max(done, kScanChunk));
    const auto all = static_cast<std::size_t>(1.1 * share * static_cast<double>(values));
    const std::size_t size = std::max({all, least, done == 0 ? least : places.size() * 5 / 4});
    places.resize(size);
    if (with_magnitudes) magnitudes.resize(size);
  }
};

// The counts of the parts of a pass.
struct Beside {
  const Bracket& bracket;
  std::atomic<std::uint64_t> below{0}, above{0};
};

struct Pass {
  std::span<const float> values;
  float threshold;
  bool with_magnitudes;
  Beside* beside = nullptr;  // not with magnitudes
};

Entries scan(const Pass& pass, std::uint64_t begin, std::uint64_t end) {
  Entries found;
  const Bracket bracket = pass.beside != nullptr ? pass.beside->bracket : Bracket{};
  CountsBeside counts{bracket.below, bracket.above};
  for (std::uint64_t first = begin; first < end; first += kScanChunk) {
    const auto size = static_cast<std::size_t>(std::min(kScanChunk, end - first));
    const float* values = pass.values.data() + first;
    found.make_room(size, first - begin, end - begin, pass.with_magnitudes);
    const auto place = static_cast<std::uint32_t>(first);
    std::uint32_t* to = found.places.data() + found.count;
    if (pass.beside != nullptr) {
      found.count += find_large(values, size, pass.threshold, place, to, counts);
    } else if (pass.with_magnitudes) {
      found.count += find_large(values, size, pass.threshold, place, to,
                                found.magnitudes.data() + found.count);
    } else {
      found.count += find_large(values, size, pass.threshold, place, to);
    }
  }
  if (pass.beside != nullptr) {
    pass.beside->below += counts.reach_below;
    pass.beside->above += counts.reach_above;
  }
  found.places.resize(found.count);
  if (pass.with_magnitudes) found.magnitudes.resize(found.count);
  return found;
}

Entries find_entries(const Pass& pass, std::uint64_t begin, std::uint64_t end,
                     ThreadPool* threads) {
  const std::size_t num_parts = num_parts_of(end - begin);
  if (threads == nullptr || num_parts == 1) return scan(pass, begin, end);
  std::vector<Entries> parts(num_parts);
  for_each_part(begin, end, threads,
                [&](std::uint64_t first, std::uint64_t last, std::size_t part) {
                  parts[part] = scan(pass, first, last);
                });
  std::vector<std::size_t> offsets(num_parts + 1);
  for (std::size_t part = 0; part < num_parts; ++part) {
    offsets[part + 1] = offsets[part] + parts[part].count;
  }
  Entries all;
  all.count = offsets.back();
  all.places.resize(all.count);
  if (pass.with_magnitudes) all.magnitudes.resize(all.count);
  threads->run(num_parts, [&](std::size_t part) {
    std::ranges::copy(parts[part].places, all.places.data() + offsets[part]);
    if (pass.with_magnitudes) {
      std::ranges::copy(parts[part].magnitudes, all.magnitudes.data() + offsets[part]);
    }
  });
  return all;
}

}  // namespace

std::size_t num_parts_of(std::uint64_t num_values) {
  return static_cast<std::size_t>((num_values + kPartValues - 1) / kPartValues);
}

void for_each_part(std::uint64_t begin, std::uint64_t end, ThreadPool* threads, PartBody body) {
  const std::size_t num_parts = num_parts_of(end - begin);
  const auto run_part = [&](std::size_t part) {
    const std::uint64_t first = begin + part * kPartValues;
    body(first, std::min(end, first + kPartValues), part);
  };
  if (threads != nullptr && num_parts > 1) {
    threads->run(num_parts, ThreadPool::Body(run_part));
  } else {
    for (std::size_t part = 0; part < num_parts; ++part) run_part(part);
  }
}

Indices find_at_least(std::span<const float> values, std::uint64_t begin, std::uint64_t end,
                      float threshold, ThreadPool* threads) {
  if (begin >= end) return {};
  return find_entries({values, threshold, false}, begin, end, threads).places;
}

void Candidates::collect(std::uint64_t count) {
  const std::uint64_t wanted = std::min(count, num_values());
  if (num_values() == 0 || (collected_ && indices_.size() >= wanted)) return;
  take_top(wanted);
}

void Candidates::collect_from(float threshold) {
  if (is_below_floor(threshold)) take(std::max(threshold, 0.0f));
}

std::uint64_t Candidates::count_up_to_size(float threshold) const {
  if (threshold < floor_) return size();
  return tandem::collectives::count_at_least(magnitudes_.data(), magnitudes_.size(), threshold);
}

std::uint64_t Candidates::count_at_least(float threshold) {
  if (is_below_floor(threshold)) {
    if (const auto count = count_in_place(threshold)) return *count;
    collect_from(threshold);
  }
  return count_up_to_size(threshold);
}

Survivors Candidates::survivors(float threshold) {
  if (is_below_floor(threshold)) {
    if (const auto found = survivors_in_place(threshold)) return *found;
    collect_from(threshold);
  }
  Survivors found{{}, std::numeric_limits<float>::infinity()};
  for (const float magnitude : magnitudes_) {
    if (!(magnitude >= threshold)) continue;
    const double value = magnitude;
    found.moments.sum += value;
    found.moments.squares += value * value;
    ++found.moments.count;
    found.smallest = std::min(found.smallest, magnitude);
  }
  return found;
}

Indices Candidates::at_least(float threshold) {
  collect_from(threshold);
  return kept(threshold);
}

Indices Candidates::release() {
  collected_ = false;
  floor_ = 0;
  magnitudes_.clear();
  return std::move(indices_);
}

Indices Candidates::kept(float threshold) const {
  if (threshold == floor_ && all_reach_floor_) return indices_;
  Indices found(indices_.size() + kSelectionSlack);
  found.resize(
      keep_large(indices_.data(), magnitudes_.data(), indices_.size(), threshold, found.data()));
  return found;
}

Bracketed Candidates::find_bracketed(const Bracket& bracket) {
  Bracketed found;
  found.enough_below = bracket.below < 0 || count_at_least(bracket.below) >= bracket.wanted;
  found.count_above = count_at_least(bracket.above);
  found.places = at_least(bracket.threshold);
  return found;
}

float Candidates::nth_largest(std::uint64_t count) {
  collect(count);
  count = std::min<std::uint64_t>(count, size());
  return count == 0 ? 0 : nth_magnitude(magnitudes_, count).value;
}

Indices Candidates::top(std::uint64_t count) {
  count = std::min(count, num_values());
  collect(count);
  count = std::min<std::uint64_t>(count, size());
  if (count == 0) return {};
  const RankedMagnitude least = nth_magnitude(magnitudes_, count);
  if (least.at_least == count) return kept(least.value);
  std::uint64_t equal = count - least.above;  // that are still taken
  Indices found(count);
  std::size_t end = 0;
  for (std::size_t i = 0; end < count; ++i) {
    const bool tie = magnitudes_[i] == least.value && equal > 0;
    found[end] = indices_[i];
    equal -= tie ? 1 : 0;
    end += tie || magnitudes_[i] > least.value ? 1 : 0;
  }
  return found;
}

RawVector<float> HostCandidates::sample(std::uint64_t most) {
  const std::uint64_t n = num_values();
  if (n <= kNotWorthASample || most < kNeighbours) return {};
  const std::uint64_t groups = std::min({most, kLargestSample, n / 4}) / kNeighbours;
  const std::uint64_t stretch = n / groups;
  RawVector<float> taken(groups * kNeighbours);
  count_read(taken.size());
  for (std::uint64_t i = 0; i < groups; ++i) {
    const float* from =
        &values_[begin_ + i * stretch + sparse::mix(i, n) % (stretch - kNeighbours + 1)];
    for (std::uint64_t j = 0; j < kNeighbours; ++j) {
      taken[i * kNeighbours + j] = std::fabs(from[j]);
    }
  }
  return taken;
}

float HostCandidates::sampled_floor(double share) {
  const RawVector<float> taken = sample(kLargestSample);
  const double expected = share * static_cast<double>(taken.size());
  const auto wanted =
      static_cast<std::uint64_t>(expected + 4 * std::sqrt(expected) + 8);  // a margin of 4 sigma
  return wanted >= taken.size() ? 0 : nth_magnitude(taken, wanted).value;
}

Bracketed HostCandidates::find_bracketed(const Bracket& bracket) {
  count_read(num_values());
  Beside beside{bracket};
  Entries found =
      find_entries({values_, bracket.threshold, false, &beside}, begin_, end_, threads_);
  return {std::move(found.places), bracket.below < 0 || beside.below >= bracket.wanted,
          beside.above};
}

void HostCandidates::take(float floor) {
  floor_ = floor;
  collected_ = true;
  count_read(num_values());
  Entries found = find_entries({values_, floor, true}, begin_, end_, threads_);
  indices_ = std::move(found.places);
  magnitudes_ = std::move(found.magnitudes);
}

void HostCandidates::take_top(std::uint64_t count) {
  for (double share = static_cast<double>(count) / static_cast<double>(num_values());;
       share = 4 * share + 1e-6) {
    take(sampled_floor(share));
    if (indices_.size() >= count || floor_ == 0) return;  // a NaN is no candidate
  }
}

}  // namespace tandem::collectives
