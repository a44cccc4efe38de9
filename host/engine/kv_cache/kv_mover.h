// SPDX-License-Identifier: Apache-2.0
//
// KvMover: moves pages of a sequence from one attention unit to another between steps, when nothing
// is in flight.
//
// A slice is bounded in pages and in time. Page tables and the prefix index change only after the
// page's contents have arrived, so a unit that is lost during a move costs no more than any lost
// unit. If a page cannot be moved in time or at all, it stays, and no more pages move between those
// two units. With kSequences a page that several sequences share does not move; otherwise it moves
// for all of them. Threads: the engine's. Ownership: borrows the cache and the clock; keeps
// the image that a timed-out unit may still use, so units must be destroyed first. Cost: one copy
// out and one copy in through host memory per page, blocking. Errors: none.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "common/clock.h"
#include "device/attention_unit.h"
#include "engine/kv_cache/kv_cache.h"
#include "engine/kv_cache/move_policy.h"

namespace tandem::engine {

struct MoveResult {
  std::uint32_t num_pages = 0;
  int lost_unit = -1;
};

class KvMover {
 public:
  KvMover(KvCache& kv, const device::AttentionGeometry& geometry,
          std::chrono::milliseconds device_timeout, const Clock& clock = real_clock())
      : kv_(kv),
        image_bytes_(device::page_image_bytes(geometry)),
        device_timeout_(device_timeout),
        clock_(clock) {}

  // `tables`: of all sequences that have pages, in the plan's order.
  MoveResult move(const KvMove& plan, device::AttentionUnit& from, device::AttentionUnit& to,
                  std::span<PageTable* const> tables, bool whole_sequences);
  // The pairs of units between which no pages are moved any more.
  std::span<const UnitPair> stopped() const { return stopped_; }

 private:
  // kLate: the unit is alive but may still write the page, which is not used again.
  enum class Copied { kYes, kNot, kLate };
  Copied copy(const BlockPlace& from, const BlockPlace& to, device::AttentionUnit& from_unit,
              device::AttentionUnit& to_unit, MoveResult& result);

  KvCache& kv_;
  const std::size_t image_bytes_;
  const std::chrono::milliseconds device_timeout_;
  const Clock& clock_;
  std::vector<UnitPair> stopped_;
  std::unique_ptr<std::vector<std::byte>> image_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> set_aside_;
};

}  // namespace tandem::engine
