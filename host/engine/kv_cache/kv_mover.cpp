// SPDX-License-Identifier: Apache-2.0
//
// Last pages first, so that the block that grows next is already on the new unit.
#include "engine/kv_cache/kv_mover.h"

#include <exception>
#include <utility>

#include "engine/kv_cache/guarded_wait.h"

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
  for (std::size_t block = table.blocks.size(); block > 0; --block) {
    if (result.num_pages == plan.num_pages || (result.num_pages > 0 && slice.expired())) break;
    const BlockPlace place = table.blocks[block - 1];
    if (place.unit != plan.from || (whole_sequences && kv_.is_shared(place))) continue;
    const auto reserved = kv_.reserve(plan.to);
    if (!reserved) break;
    if (!copy(place, *reserved, from, to, result)) {
      kv_.give_back(*reserved);
      break;
    }
    kv_.relocate(place, *reserved, tables);
    ++result.num_pages;
  }
  return result;
}

bool KvMover::copy(const BlockPlace& from, const BlockPlace& to, device::AttentionUnit& from_unit,
                   device::AttentionUnit& to_unit, MoveResult& result) try {
  if (!image_) image_ = std::make_unique<std::vector<std::byte>>(image_bytes_);
  const auto deadline = [&] { return Deadline::after(device_timeout_, clock_); };
  int unit = from.unit;
  WaitResult done =
      guarded_wait([&] { return from_unit.export_page(from.page, *image_, deadline()); });
  if (done == WaitResult::kDone) {
    unit = to.unit;
    done = guarded_wait([&] { return to_unit.import_page(to.page, *image_, deadline()); });
  }
  if (done == WaitResult::kDone) return true;
  result.lost_unit = unit;
  if (done == WaitResult::kTimeout) set_aside_.push_back(std::move(image_));
  return false;
} catch (const std::exception&) {
  // The unit refuses, or there is no memory for the image: the page stays.
  stopped_.push_back({from.unit, to.unit});
  return false;
}

}  // namespace tandem::engine
