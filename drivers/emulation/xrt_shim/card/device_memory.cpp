// SPDX-License-Identifier: Apache-2.0
//
// The card keeps a lent piece as an allocation at the same place. When that place can be allocated
// again, no holder is left.
#include "emulation/xrt_shim/card/device_memory.h"

#include <chrono>

namespace tandem::emulation {
namespace {

// Short: a question about lent memory without an answer is asked again later.
constexpr std::chrono::milliseconds kReclaimTimeout{500};

std::string request_for(uint64_t size_bytes, uint64_t low, uint64_t high) {
  return "allocate " + std::to_string(size_bytes) + " " + std::to_string(low) + " " +
         std::to_string(high);
}

std::string request_at(uint64_t address, uint64_t size_bytes) {
  return request_for(size_bytes, address, address + round_up_to_granule(size_bytes));
}

}  // namespace

DeviceMemory::DeviceMemory(CardProcess& process, const SharedArea& area, const SharedState& shared,
                           bool is_own)
    : process_(process),
      area_(area),
      shared_(shared),
      is_own_(is_own),
      ranges_(0, area.size_bytes()) {}

DeviceMemory::Piece DeviceMemory::ask(uint64_t size_bytes, uint64_t low, uint64_t high) {
  const CardAnswer answer = process_.call(request_for(size_bytes, low, high));
  if (answer.ok()) return {true, answer.number(0), 0, ""};
  return {false, 0, answer.number(0), answer.problem};
}

DeviceMemory::Piece DeviceMemory::allocate(uint64_t size_bytes, uint64_t low, uint64_t high) {
  if (!is_own_) return ask(size_bytes, low, high);
  auto address = ranges_.allocate(size_bytes, low, high);
  if (!address) {
    reclaim();
    address = ranges_.allocate(size_bytes, low, high);
  }
  if (!address) return {false, 0, ranges_.largest_free(low, high), ""};
  std::lock_guard lock(mutex_);
  kept_[*address] = size_bytes;
  return {true, *address, 0, ""};
}

void DeviceMemory::release(uint64_t address) {
  std::unique_lock lock(mutex_);
  const auto kept = kept_.find(address);
  if (kept == kept_.end()) {
    lock.unlock();
    process_.post("release " + std::to_string(address));
    return;
  }
  const uint64_t size_bytes = kept->second;
  kept_.erase(kept);
  lock.unlock();
  area_.discard(address, round_up_to_granule(size_bytes));
  ranges_.release(address, size_bytes);
}

// The caller holds the buffer during the call, so no other thread releases it.
CardAnswer DeviceMemory::lend(uint64_t address, uint64_t size_bytes, uint32_t group) {
  {
    std::lock_guard one_at_a_time(lend_mutex_);
    std::unique_lock lock(mutex_);
    const auto kept = kept_.find(address);
    if (kept != kept_.end()) {
      const uint64_t kept_bytes = kept->second;
      lock.unlock();
      const CardAnswer told = process_.call(request_at(address, kept_bytes));
      if (!told.ok()) return told;
      lock.lock();
      lent_.insert(kept_.extract(address));
    }
  }
  return process_.call("export " + std::to_string(address) + " " + std::to_string(size_bytes) +
                       " " + std::to_string(group));
}

// Takes back the lent pieces without a holder.
void DeviceMemory::reclaim() {
  const std::unique_lock one_at_a_time(lend_mutex_, std::try_to_lock);
  if (!one_at_a_time.owns_lock()) return;
  std::unique_lock lock(mutex_);
  const std::map<uint64_t, uint64_t> lent = lent_;
  lock.unlock();
  for (const auto& [address, size_bytes] : lent) {
    const CardAnswer answer = process_.call(request_at(address, size_bytes), {}, kReclaimTimeout);
    if (answer.is_missing) return;
    if (!answer.ok()) continue;
    process_.post("release " + std::to_string(address));
    lock.lock();
    lent_.erase(address);
    lock.unlock();
    ranges_.release(address, size_bytes);
  }
}

uint64_t DeviceMemory::free_bytes() {
  if (!is_own_) return shared_.free_bytes.load();
  reclaim();
  return ranges_.free_bytes();
}

}  // namespace tandem::emulation
