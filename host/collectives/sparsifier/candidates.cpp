// SPDX-License-Identifier: Apache-2.0
//
// The sample takes one value of every stretch, at a place that a hash gives: a gradient with a
// period is sampled evenly too.
#include "collectives/sparsifier/candidates.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tensor/sparse/generate/random_subset.h"

namespace tandem::collectives {
namespace {

constexpr std::uint64_t kPartValues = 1 << 20;
constexpr std::uint64_t kScanChunk = 4096;
constexpr std::uint64_t kLargestSample = 1 << 16;
constexpr std::uint64_t kNotWorthASample = 1 << 14;  // values; all become candidates

// Appends to `found` what [begin, end) has.
void scan_part(const float* values, std::uint64_t begin, std::uint64_t end, float threshold,
               Indices& found) {
  std::size_t count = found.size();
  for (std::uint64_t first = begin; first < end; first += kScanChunk) {
    const auto size = static_cast<std::size_t>(std::min(kScanChunk, end - first));
    if (found.size() < count + size + kSelectionSlack) {
      found.resize(std::max(found.size() * 2, count + 4 * kScanChunk + kSelectionSlack));
    }
    count += find_large(values + first, size, threshold, static_cast<std::uint32_t>(first),
                        found.data() + count);
  }
  found.resize(count);
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
  std::vector<Indices> parts(num_parts_of(end - begin));
  for_each_part(begin, end, threads,
                [&](std::uint64_t first, std::uint64_t last, std::size_t part) {
                  scan_part(values.data(), first, last, threshold, parts[part]);
                });
  if (parts.size() == 1) return std::move(parts.front());
  std::size_t total = 0;
  for (const Indices& part : parts) total += part.size();
  Indices all(total);
  std::size_t at = 0;
  for (const Indices& part : parts) {
    std::copy(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(at));
    at += part.size();
  }
  return all;
}

float Candidates::sampled_floor(double share) const {
  const std::uint64_t n = num_values();
  if (n <= kNotWorthASample) return 0;
  const std::uint64_t size = std::min(kLargestSample, n / 4);
  const std::uint64_t stretch = n / size;
  const double expected = share * static_cast<double>(size);
  const auto wanted =
      static_cast<std::uint64_t>(expected + 4 * std::sqrt(expected) + 8);  // a margin of 4 sigma
  if (wanted >= size) return 0;
  std::vector<float> sample(size);
  for (std::uint64_t i = 0; i < size; ++i) {
    sample[i] = std::fabs(values_[begin_ + i * stretch + sparse::mix(i, n) % stretch]);
  }
  const auto nth = sample.begin() + static_cast<std::ptrdiff_t>(wanted - 1);
  std::nth_element(sample.begin(), nth, sample.end(), std::greater<>());
  return *nth;
}

void Candidates::take(float floor) {
  floor_ = floor;
  collected_ = true;
  indices_ = find_at_least(values_, begin_, end_, floor, threads_);
  magnitudes_.resize(indices_.size());
  for (std::size_t i = 0; i < indices_.size(); ++i)
    magnitudes_[i] = std::fabs(values_[indices_[i]]);
}

void Candidates::collect(std::uint64_t count) {
  const std::uint64_t wanted = std::min(count, num_values());
  if (collected_ && indices_.size() >= wanted) return;
  if (num_values() == 0) return;
  for (double share = static_cast<double>(wanted) / static_cast<double>(num_values());;
       share = 4 * share + 1e-6) {
    take(sampled_floor(share));
    if (indices_.size() >= wanted || floor_ == 0) return;  // a NaN is no candidate
  }
}

void Candidates::collect_from(float threshold) {
  if (!collected_ || threshold < floor_) take(std::max(threshold, 0.0f));
}

std::uint64_t Candidates::count_up_to_size(float threshold) const {
  if (threshold < floor_) return size();
  return static_cast<std::uint64_t>(
      std::count_if(magnitudes_.begin(), magnitudes_.end(),
                    [&](float magnitude) { return magnitude >= threshold; }));
}

std::uint64_t Candidates::count_at_least(float threshold) {
  collect_from(threshold);
  return count_up_to_size(threshold);
}

Moments Candidates::moments_at_least(float threshold) {
  collect_from(threshold);
  Moments moments;
  for (const float magnitude : magnitudes_) {
    if (magnitude < threshold) continue;
    const double value = magnitude;
    moments.sum += value;
    moments.squares += value * value;
    ++moments.count;
  }
  return moments;
}

float Candidates::smallest_at_least(float threshold) {
  collect_from(threshold);
  float smallest = std::numeric_limits<float>::infinity();
  for (const float magnitude : magnitudes_) {
    if (magnitude >= threshold) smallest = std::min(smallest, magnitude);
  }
  return smallest;
}

Indices Candidates::at_least(float threshold) {
  collect_from(threshold);
  Indices found;
  found.reserve(indices_.size());
  for (std::size_t i = 0; i < indices_.size(); ++i) {
    if (magnitudes_[i] >= threshold) found.push_back(indices_[i]);
  }
  return found;
}

float Candidates::nth_largest(std::uint64_t count) {
  collect(count);
  count = std::min<std::uint64_t>(count, size());
  if (count == 0) return 0;
  RawVector<float> order = magnitudes_;
  const auto nth = order.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(order.begin(), nth, order.end(), std::greater<>());
  return *nth;
}

Indices Candidates::top(std::uint64_t count) {
  count = std::min(count, num_values());
  if (count == 0) return {};
  const float least = nth_largest(count);
  count = std::min<std::uint64_t>(count, size());
  std::uint64_t above = 0;
  for (const float magnitude : magnitudes_) above += magnitude > least ? 1 : 0;
  std::uint64_t equal = count - above;  // that are still taken
  Indices found;
  found.reserve(count);
  for (std::size_t i = 0; i < indices_.size(); ++i) {
    if (magnitudes_[i] < least) continue;
    if (magnitudes_[i] == least) {
      if (equal == 0) continue;
      --equal;
    }
    found.push_back(indices_[i]);
  }
  return found;
}

}  // namespace tandem::collectives
