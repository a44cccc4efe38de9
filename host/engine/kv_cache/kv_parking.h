// SPDX-License-Identifier: Apache-2.0
//
// KvParking: keeps the KV of preempted sequences in host memory, so that it need not be computed
// again.
//
// A parked sequence is one image per page. Its memory is allocated when the sequence is parked and
// freed when it is restored or forgotten. Threads: the engine's. Ownership: borrows units and
// clock; keeps the image that a timed-out unit may still use, so units must be destroyed first. A
// unit that is alive and does not copy a page within kPatience is not asked again.
// Cost: one copy of each page between unit and host, and one in host memory, blocking. Errors:
// none; the engine computes again what cannot be parked or restored.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "device/attention_unit.h"
#include "engine/kv_cache/kv_cache.h"
#include "engine/kv_cache/patient_copy.h"

namespace tandem::engine {

class KvParking {
 public:
  using UnitAt = std::function<device::AttentionUnit&(int unit)>;

  // most_bytes: limit for all images together; 0: nothing is parked.
  KvParking(std::size_t most_bytes, const device::AttentionGeometry& geometry,
            std::chrono::milliseconds device_timeout, const Clock& clock, UnitAt unit_at);

  // Whether there is room for the pages of that many tokens.
  bool has_room(int num_tokens) const;
  // Copies the pages of the table's first `num_tokens` tokens. Returns the unit that was lost
  // during the copies, or -1. Nothing is parked if a copy fails.
  int park(std::uint64_t id, const PageTable& table, int num_tokens);
  // The number of leading tokens of the sequence that are parked; 0: none.
  int num_tokens(std::uint64_t id) const;

  struct Restored {
    bool done = false;
    int lost_unit = -1;
    std::optional<BlockPlace> late;  // a page that its unit may still write
  };
  // Writes the parked pages from block `first_block` on into the table's blocks, and forgets the
  // sequence. The table holds num_tokens(id) tokens.
  Restored restore(std::uint64_t id, const PageTable& table, std::size_t first_block);
  void forget(std::uint64_t id);
  // Whether the table has pages of a unit that did not copy one in time.
  bool is_stopped(const PageTable& table) const;

  std::size_t bytes() const { return bytes_; }

 private:
  using Image = std::vector<std::byte>;
  struct Parked {
    int num_tokens = 0;
    std::vector<std::byte> images;  // [blocks, image_bytes_]
  };
  Image& page();
  // Keeps the image of a unit that did not answer, in memory that page() has reserved.
  void set_aside() { set_aside_.push_back(std::move(page_)); }
  std::size_t blocks_of(int num_tokens) const;
  std::chrono::milliseconds patience() const { return std::min(device_timeout_, kPatience); }

  const std::size_t most_bytes_, image_bytes_;
  const int page_tokens_;
  const std::chrono::milliseconds device_timeout_;
  const Clock& clock_;
  const UnitAt unit_at_;
  std::size_t bytes_ = 0;
  std::unordered_map<std::uint64_t, Parked> parked_;
  std::unique_ptr<Image> page_;  // the only memory that units see
  std::vector<std::unique_ptr<Image>> set_aside_;
  std::vector<int> stopped_;  // units
};

}  // namespace tandem::engine
