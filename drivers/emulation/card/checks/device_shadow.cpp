// SPDX-License-Identifier: Apache-2.0
//
// Pages that nobody wrote are those of one file, mapped again and again.
#include "emulation/card/checks/device_shadow.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "emulation/card/checks/value_states.h"

namespace tandem::emulation {
namespace {

constexpr uint64_t kShadowPage = 4096;
constexpr uint64_t kLargePage = uint64_t{2} << 20;
constexpr uint64_t kTemplateBytes = uint64_t{8} << 20;
constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kReadableStates = kOnes * (kStateLive | kStateWritten);
constexpr uint64_t kStoredStates = kReadableStates | kOnes * kStateUnseen;
constexpr uint64_t kStaleStates = kOnes * kStateStale;

[[noreturn]] void fail_shadow() {
  throw std::runtime_error(std::string("cannot map the shadow of device memory: ") +
                           std::strerror(errno) + "; go without it by TANDEM_CHECKS=none");
}

// A file of kTemplateBytes unknown states.
int make_template() {
  const int file = memfd_create("tandem-shadow", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, kTemplateBytes) != 0) fail_shadow();
  void* const bytes = mmap(nullptr, kTemplateBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (bytes == MAP_FAILED) fail_shadow();
  std::memset(bytes, kUnknownStates, kTemplateBytes);
  munmap(bytes, kTemplateBytes);
  return file;
}

// The shadow byte of 8 states.
int8_t shadow_for(uint64_t states) {
  if (states == kStoredStates) return 0;
  return (states & (kReadableStates | kStaleStates)) == kReadableStates ? kPlainForLoads
                                                                        : kMixedStates;
}

uint64_t states_at(const uint8_t* states) {
  uint64_t word = 0;
  std::memcpy(&word, states, sizeof(word));
  return word;
}

}  // namespace

DeviceShadow::DeviceShadow(uint64_t device, uint64_t size_bytes, const MemoryStates& states)
    : device_(device), size_bytes_(size_bytes), states_(states) {
  const auto begin = reinterpret_cast<uint64_t>(&shadow_of(device));
  const uint64_t end = begin + size_bytes / 8;
  const uint64_t first = (begin + kShadowPage - 1) / kShadowPage * kShadowPage;
  const uint64_t last = std::max(first, end / kShadowPage * kShadowPage);
  const int file = make_template();
  for (uint64_t at = first; at < last; at += kTemplateBytes) {
    const uint64_t bytes = std::min(kTemplateBytes, last - at);
    void* const mapped = mmap(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, 0);
    if (mapped == MAP_FAILED) fail_shadow();
    madvise(mapped, bytes, MADV_DONTDUMP);
  }
  ::close(file);
  // No missing value stays in device memory, so its states are one page of zeros again and again.
  madvise(value_states_of(device / kLargePage * kLargePage), size_bytes, MADV_HUGEPAGE);
  // The parts of pages at both ends.
  std::memset(reinterpret_cast<void*>(begin), kUnknownStates, std::min(first, end) - begin);
  if (end > last) std::memset(reinterpret_cast<void*>(last), kUnknownStates, end - last);
}

void DeviceShadow::map_pages(uint64_t address, uint64_t size_bytes) const {
  const uint64_t end = std::min(address + size_bytes, size_bytes_);
  for (uint64_t at = address; at < end; at += kBlockBytes) {
    static_cast<void>(states_.any_unseen(at, 1));
    static_cast<void>(states_.any(at, 1, kStateLive));
    // A page that is only read would be made again at its first write.
    std::atomic_ref<int8_t>(shadow_of(device_ + at)).fetch_or(0);
  }
}

void DeviceShadow::look_at_block(uint64_t address) {
  const uint64_t begin = address / kBlockBytes * kBlockBytes;
  const uint64_t end = std::min(begin + kBlockBytes, size_bytes_);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_known(address) || is_closed()) return;
  // Before the states, so that a change in between is seen by refresh().
  known_blocks_.push_back({begin, states_.block_changes(begin)});
  const uint8_t* const states = states_.states() + begin;
  uint64_t unstored = 0, unreadable = 0;
  for (uint64_t at = 0; at < end - begin; at += 8) {
    const uint64_t word = states_at(states + at);
    unstored |= word ^ kStoredStates;
    unreadable |= (word & (kReadableStates | kStaleStates)) ^ kReadableStates;
  }
  int8_t* const shadows = &shadow_of(device_ + begin);
  if (unstored == 0 || unreadable == 0) {
    std::memset(shadows, unstored == 0 ? 0 : kPlainForLoads, (end - begin) / 8);
    return;
  }
  for (uint64_t at = 0; at < end - begin; at += 8)
    shadows[at / 8] = shadow_for(states_at(states + at));
}

// Units may run meanwhile: they know the bytes as long as they see the old shadow.
void DeviceShadow::close() {
  if (is_closed()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  is_closed_.store(true);
  for (const KnownBlock& block : known_blocks_) forget_block(block.begin);
  known_blocks_.clear();
}

void DeviceShadow::forget_block(uint64_t begin) const {
  const uint64_t bytes = std::min(kBlockBytes, size_bytes_ - begin);
  std::memset(&shadow_of(device_ + begin), kUnknownStates, bytes / 8);
}

// Another unit may forget the block meanwhile: then its bytes stay unknown.
void DeviceShadow::stored(uint64_t address, uint64_t size_bytes) {
  states_.note_unseen(address, size_bytes);
  const uint64_t end = address + size_bytes;
  for (uint64_t at = address / 8 * 8; at < end; at += 8) {
    std::atomic_ref<int8_t> shadow(shadow_of(device_ + at));
    int8_t before = shadow.load(std::memory_order_acquire);
    if (before == 0 || before == kUnknownStates) continue;
    if (states_at(states_.states() + at) == kStoredStates)
      shadow.compare_exchange_strong(before, 0);
  }
}

void DeviceShadow::store_range(uint64_t address, uint64_t size_bytes) {
  std::memset(states_.states() + address, kStateLive | kStateWritten | kStateUnseen, size_bytes);
  states_.note_unseen(address, size_bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t end = address + size_bytes;
  for (uint64_t at = address / 8 * 8; at < end;) {
    const uint64_t next = std::min(end, (at / kBlockBytes + 1) * kBlockBytes);
    const uint64_t whole = at < address || next - at < 8 ? 0 : (next - at) / 8;
    if (is_known(at) && whole != 0) std::memset(&shadow_of(device_ + at), 0, whole);
    at += whole * 8;
    if (at >= next) continue;
    // A part of 8 bytes.
    const bool all = states_at(states_.states() + at) == kStoredStates;
    if (all && is_known(at)) shadow_of(device_ + at) = 0;
    at += 8;
  }
}

void DeviceShadow::refresh() {
  const uint64_t changes = states_.changes();
  if (changes == seen_changes_.load(std::memory_order_relaxed)) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(known_blocks_, [this](const KnownBlock& block) {
    if (states_.block_changes(block.begin) == block.changes) return false;
    forget_block(block.begin);
    return true;
  });
  seen_changes_.store(changes, std::memory_order_relaxed);
}

}  // namespace tandem::emulation
