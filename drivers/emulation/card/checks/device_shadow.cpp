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

namespace tandem::emulation {
namespace {

constexpr uint64_t kShadowPage = 4096;
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
  close(file);
  // The parts of pages at both ends.
  std::memset(reinterpret_cast<void*>(begin), kUnknownStates, std::min(first, end) - begin);
  if (end > last) std::memset(reinterpret_cast<void*>(last), kUnknownStates, end - last);
}

void DeviceShadow::look_at_block(uint64_t address) {
  const uint64_t begin = address / kBlockBytes * kBlockBytes;
  const uint64_t end = std::min(begin + kBlockBytes, size_bytes_);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_known(address)) return;
  known_blocks_.push_back(begin);
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

void DeviceShadow::stored(uint64_t address, uint64_t size_bytes) {
  const uint64_t end = address + size_bytes;
  for (uint64_t at = address / 8 * 8; at < end; at += 8) {
    int8_t& shadow = shadow_of(device_ + at);
    if (shadow == 0 || shadow == kUnknownStates) continue;
    if (states_at(states_.states() + at) == kStoredStates) shadow = 0;
  }
}

void DeviceShadow::forget_all() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const uint64_t begin : known_blocks_) {
    const uint64_t bytes = std::min(kBlockBytes, size_bytes_ - begin);
    std::memset(&shadow_of(device_ + begin), kUnknownStates, bytes / 8);
  }
  known_blocks_.clear();
}

}  // namespace tandem::emulation
