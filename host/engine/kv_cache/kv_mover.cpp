// SPDX-License-Identifier: Apache-2.0
//
// Last pages first, so that the block that grows next is already on the new unit. Where pages are
// dealt, those that leave the compute device's own memory are the first: the tail stays near.
#include "engine/kv_cache/kv_mover.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "engine/kv_cache/patient_copy.h"

namespace tandem::engine {
namespace {

using device::WaitResult;

constexpr auto kSlice = std::chrono::milliseconds(2);

}  // namespace

MoveResult KvMover::move(const KvMove& plan, device::AttentionUnit& from, device::AttentionUnit& to,
                         std::span<PageTable* const> tables, bool whole_sequences) {
  MoveResult result;
  const PageTable& table = *tables[plan.sequence];
  const Deadline slice = Deadline::after(kSlice, clock_);
  const bool prefix_first = !whole_sequences && kv_.is_near(plan.from);
  const std::size_t count = table.blocks.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (result.num_pages == plan.num_pages || (result.num_pages > 0 && slice.expired())) break;
    const BlockPlace place = table.blocks[prefix_first ? i : count - 1 - i];
    if (place.unit != plan.from || (whole_sequences && kv_.is_shared(place))) continue;
    const auto reserved = kv_.reserve(plan.to);
    if (!reserved) break;
    const Copied copied = copy(place, *reserved, from, to, result);
    if (copied == Copied::kLate) kv_.withhold(*reserved);
    if (copied != Copied::kYes) {
      kv_.give_back(*reserved);
      break;
    }
    kv_.relocate(place, *reserved, tables);
    ++result.num_pages;
  }
  return result;
}

KvMover::Copied KvMover::copy(const BlockPlace& from, const BlockPlace& to,
                              device::AttentionUnit& from_unit, device::AttentionUnit& to_unit,
                              MoveResult& result) try {
  if (!image_) image_ = std::make_unique<std::vector<std::byte>>(image_bytes_);
  const auto most = std::min(device_timeout_, kPatience);
  int unit = from.unit;
  WaitResult done = patient_copy(from_unit, clock_, most, [&](Deadline deadline) {
    return from_unit.export_page(from.page, *image_, deadline);
  });
  if (done == WaitResult::kDone) {
    unit = to.unit;
    done = patient_copy(to_unit, clock_, most, [&](Deadline deadline) {
      return to_unit.import_page(to.page, *image_, deadline);
    });
  }
  if (done == WaitResult::kDone) return Copied::kYes;
  set_aside_.push_back(std::move(image_));
  if (done == WaitResult::kLost) {
    result.lost_unit = unit;
    return Copied::kNot;
  }
  stopped_.push_back({from.unit, to.unit});
  return unit == to.unit ? Copied::kLate : Copied::kNot;
} catch (const std::exception&) {
  // The unit refuses, or there is no memory for the image: the page stays.
  stopped_.push_back({from.unit, to.unit});
  return Copied::kNot;
}

}  // namespace tandem::engine
