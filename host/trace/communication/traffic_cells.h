// SPDX-License-Identifier: Apache-2.0
//
// TrafficCells: bytes and messages by key, in the order of the keys.
//
// add() appends a cell. Cells with equal keys are joined when they are read, or when their number
// has doubled. So a million cells in any order cost one sort, and memory grows with the distinct
// keys. Names are views of text that the caller owns. Threads: one, also for reading.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::trace {

constexpr std::string_view kNoPhase = "0";

struct TrafficKey {
  int source = 0, destination = 0;
  std::string_view kind, operation, phase = kNoPhase;
  int window = 0;

  auto operator<=>(const TrafficKey&) const = default;
};

struct TrafficVolume {
  std::uint64_t bytes = 0, messages = 0;

  bool operator==(const TrafficVolume&) const = default;
};

class TrafficCells {
 public:
  using Cell = std::pair<TrafficKey, TrafficVolume>;

  void add(const TrafficKey& key, const TrafficVolume& volume);
  bool empty() const { return cells_.empty(); }
  const std::vector<Cell>& sorted() const;

 private:
  static constexpr std::size_t kFirstJoin = 1 << 16;

  mutable std::vector<Cell> cells_;
  mutable std::size_t num_joined_ = 0;  // those in front have distinct keys and are in order
  std::size_t next_join_ = kFirstJoin;
};

}  // namespace tandem::trace
