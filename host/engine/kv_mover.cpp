// SPDX-License-Identifier: Apache-2.0
//
// KvMover: last pages first, so that what the sequence grows by next is already at its new home.
#include "engine/kv_mover.h"

#include <utility>

#include "common/error.h"

namespace tandem::engine {
namespace {

using device::WaitResult;

constexpr auto kSlice = std::chrono::milliseconds(2);

template <typename Call>
WaitResult guarded(const Call& call) {
  try {
    return call();
  } catch (const DeviceError&) {
    return WaitResult::kLost;
  }
}

}  // namespace

MoveResult KvMover::move(const KvMove& plan, device::AttentionUnit& from, device::AttentionUnit& to,
                         PageTable& table, std::span<PageTable* const> tables) {
  MoveResult result;
  const Deadline slice = Deadline::after(kSlice);
  for (std::size_t block = table.blocks.size(); block > 0; --block) {
    if (result.num_pages == plan.num_pages || (result.num_pages > 0 && slice.expired())) break;
    const BlockPlace place = table.blocks[block - 1];
    if (place.unit != plan.from) continue;
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
                   device::AttentionUnit& to_unit, MoveResult& result) {
  if (!image_) image_ = std::make_unique<std::vector<std::byte>>(image_bytes_);
  const auto deadline = [&] { return Deadline::after(device_timeout_); };
  int unit = from.unit;
  WaitResult done = guarded([&] { return from_unit.export_page(from.page, *image_, deadline()); });
  if (done == WaitResult::kDone) {
    unit = to.unit;
    done = guarded([&] { return to_unit.import_page(to.page, *image_, deadline()); });
  }
  if (done == WaitResult::kDone) return true;
  if (done == WaitResult::kTimeout) set_aside_.push_back(std::move(image_));
  result.lost_unit = unit;
  return false;
}

}  // namespace tandem::engine
