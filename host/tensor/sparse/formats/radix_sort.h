// SPDX-License-Identifier: Apache-2.0
//
// sort_by_key: a parallel, stable radix sort of records by an unsigned `key`.
//
// Least significant digit first, 11 bits at a time. Every part of the records counts its digits;
// prefix sums give each part its own places, so the result does not depend on the number of
// threads. Cost: two passes over the records for each digit, and a second array of records. A
// digit that all keys share is skipped. Threads: one caller; `pool` runs the parts.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/raw_vector.h"
#include "common/thread_pool.h"

namespace tandem::sparse {

struct KeyedPosition {
  std::uint64_t key = 0;
  std::uint64_t position = 0;
};

// Bounds of equal parts: part p is [bound(p), bound(p + 1)).
struct EqualParts {
  std::size_t size = 0, parts = 1;
  std::size_t bound(std::size_t part) const {
    return static_cast<std::size_t>(static_cast<unsigned __int128>(size) * part / parts);
  }
};

// Calls body(begin, end) for equal parts of [0, size), one for each thread.
template <typename Body>
void for_parts(std::size_t size, ThreadPool& pool, const Body& body) {
  const EqualParts parts{size, static_cast<std::size_t>(pool.num_threads())};
  pool.run(parts.parts, [&](std::size_t part) { body(parts.bound(part), parts.bound(part + 1)); });
}

namespace radix {

constexpr int kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
using Histogram = std::array<std::uint64_t, kDigits>;

template <typename Record>
std::size_t digit_of(const Record& record, int shift) {
  return static_cast<std::size_t>(record.key >> shift) & (kDigits - 1);
}

// Turns counts into first positions, digit by digit, and for each digit part by part. Returns
// whether all records have the same digit.
inline bool to_places(std::vector<Histogram>& histograms, std::size_t num_records) {
  std::uint64_t place = 0;
  for (std::size_t digit = 0; digit < kDigits; ++digit) {
    const std::uint64_t before = place;
    for (Histogram& histogram : histograms) {
      const std::uint64_t count = histogram[digit];
      histogram[digit] = place;
      place += count;
    }
    if (place - before == num_records) return true;
  }
  return false;
}

}  // namespace radix

// Record: any type with an unsigned integer `key` below 2^bits.
template <typename Record>
void sort_by_key(RawVector<Record>& records, int bits, ThreadPool& pool) {
  const EqualParts parts{records.size(), static_cast<std::size_t>(pool.num_threads())};
  RawVector<Record> other(records.size());
  std::vector<radix::Histogram> histograms(parts.parts);
  for (int shift = 0; shift < bits; shift += radix::kDigitBits) {
    pool.run(parts.parts, [&](std::size_t part) {
      radix::Histogram& histogram = histograms[part];
      histogram.fill(0);
      for (std::size_t i = parts.bound(part); i < parts.bound(part + 1); ++i) {
        ++histogram[radix::digit_of(records[i], shift)];
      }
    });
    if (radix::to_places(histograms, records.size())) continue;
    pool.run(parts.parts, [&](std::size_t part) {
      radix::Histogram& places = histograms[part];
      for (std::size_t i = parts.bound(part); i < parts.bound(part + 1); ++i) {
        other[places[radix::digit_of(records[i], shift)]++] = records[i];
      }
    });
    std::swap(records, other);
  }
}

// Sorts the keys, which are below 2^bits. Returns each key with its former position.
inline RawVector<KeyedPosition> sorted_positions(const RawVector<std::uint64_t>& keys, int bits,
                                                 ThreadPool& pool) {
  RawVector<KeyedPosition> records(keys.size());
  for_parts(keys.size(), pool, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) records[i] = {keys[i], i};
  });
  sort_by_key(records, bits, pool);
  return records;
}

}  // namespace tandem::sparse
