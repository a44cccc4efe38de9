// SPDX-License-Identifier: Apache-2.0
//
// Page by page, in the order of the sequence. A page that fails ends the copy.
#include "engine/kv_cache/kv_parking.h"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

namespace tandem::engine {

using device::WaitResult;

KvParking::KvParking(std::size_t most_bytes, const device::AttentionGeometry& geometry,
                     std::chrono::milliseconds device_timeout, const Clock& clock, UnitAt unit_at)
    : most_bytes_(most_bytes),
      image_bytes_(device::page_image_bytes(geometry)),
      page_tokens_(geometry.page_tokens),
      device_timeout_(device_timeout),
      clock_(clock),
      unit_at_(std::move(unit_at)) {}

std::size_t KvParking::blocks_of(int num_tokens) const {
  return static_cast<std::size_t>((num_tokens + page_tokens_ - 1) / page_tokens_);
}

bool KvParking::has_room(int num_tokens) const {
  return num_tokens > 0 && bytes_ + blocks_of(num_tokens) * image_bytes_ <= most_bytes_;
}

KvParking::Image& KvParking::page() {
  if (page_) return *page_;
  // What follows a late copy does not throw.
  set_aside_.reserve(set_aside_.size() + 1);
  stopped_.reserve(stopped_.size() + 1);
  page_ = std::make_unique<Image>(image_bytes_);
  return *page_;
}

int KvParking::park(std::uint64_t id, const PageTable& table, int num_tokens) try {
  forget(id);
  const std::size_t num_blocks = blocks_of(num_tokens);
  std::vector<std::byte> images;
  images.reserve(num_blocks * image_bytes_);
  for (std::size_t block = 0; block < num_blocks; ++block) {
    const BlockPlace& place = table.blocks[block];
    Image& image = page();
    device::AttentionUnit& unit = unit_at_(place.unit);
    const WaitResult done = patient_copy(unit, clock_, patience(), [&](Deadline deadline) {
      return unit.export_page(place.page, image, deadline);
    });
    if (done != WaitResult::kDone) {
      set_aside();
      if (done == WaitResult::kLost) return place.unit;
      stopped_.push_back(place.unit);
      return -1;
    }
    images.insert(images.end(), image.begin(), image.end());
  }
  bytes_ += images.size();
  parked_[id] = {num_tokens, std::move(images)};
  return -1;
} catch (const std::exception&) {
  return -1;  // the unit refuses, or there is no memory
}

int KvParking::num_tokens(std::uint64_t id) const {
  const auto it = parked_.find(id);
  return it == parked_.end() ? 0 : it->second.num_tokens;
}

KvParking::Restored KvParking::restore(std::uint64_t id, const PageTable& table,
                                       std::size_t first_block) try {
  Parked parked = std::move(parked_.at(id));
  parked_.erase(id);
  bytes_ -= parked.images.size();
  for (std::size_t block = first_block; block < blocks_of(parked.num_tokens); ++block) {
    const BlockPlace& place = table.blocks[block];
    Image& image = page();
    std::ranges::copy(std::span(parked.images).subspan(block * image_bytes_, image_bytes_),
                      image.begin());
    device::AttentionUnit& unit = unit_at_(place.unit);
    const WaitResult done = patient_copy(unit, clock_, patience(), [&](Deadline deadline) {
      return unit.import_page(place.page, image, deadline);
    });
    if (done == WaitResult::kDone) continue;
    set_aside();
    if (done == WaitResult::kLost) return {false, place.unit, {}};
    stopped_.push_back(place.unit);
    return {false, -1, place};
  }
  return {true, -1, {}};
} catch (const std::exception&) {
  return {};
}

bool KvParking::is_stopped(const PageTable& table) const {
  return std::ranges::any_of(stopped_, [&](int unit) { return KvCache::touches(table, unit); });
}

void KvParking::forget(std::uint64_t id) {
  const auto it = parked_.find(id);
  if (it == parked_.end()) return;
  bytes_ -= it->second.images.size();
  parked_.erase(it);
}

}  // namespace tandem::engine
