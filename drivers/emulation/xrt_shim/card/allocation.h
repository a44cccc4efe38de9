// SPDX-License-Identifier: Apache-2.0
//
// Device memory of a buffer: allocated on its card, or imported from an export handle.
//
// The card counts the holders in all processes; the memory is freed with the last one. Memory of
// another card is in a window of the importing card's address space, so that card's kernels reach
// it. Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "emulation/xrt_shim/card/card.h"

namespace tandem::emulation {

class Allocation {
 public:
  // nullptr when memory group `group` has no room; that is reported.
  static std::shared_ptr<Allocation> make(std::shared_ptr<Card> card, uint64_t size_bytes,
                                          uint32_t group);
  // The buffer of `handle`, which the caller owns. Reports an error and returns nullptr when it is
  // no export handle of an emulated card, or its card has ended.
  static std::shared_ptr<Allocation> import(std::shared_ptr<Card> card, int handle);
  ~Allocation();
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  // The memory group that XRT gets: the buffer's own, or that of its exporter if this card's
  // bitstream has it, too.
  uint32_t group() const { return group_; }
  // A new export handle (a descriptor), -1 when none can be made; that is reported.
  int export_handle() const;
  const Card& card() const { return *card_; }
  // The card that owns the memory, if this process has it open; otherwise the importing card.
  uint32_t home() const { return home_; }
  uint64_t address() const { return address_; }  // in the card's address space
  uint64_t size_bytes() const { return size_bytes_; }
  std::byte* data() const {
    return window_.data() != nullptr ? window_.data() : card_->device_data() + address_;
  }

 private:
  Allocation(std::shared_ptr<Card> card, uint64_t address, uint64_t size_bytes, uint32_t group,
             SharedArea window)
      : card_(std::move(card)),
        home_(card_->index()),
        address_(address),
        size_bytes_(size_bytes),
        group_(group),
        window_(std::move(window)) {}
  static std::shared_ptr<Allocation> import_foreign(std::shared_ptr<Card> card, int handle);
  static std::shared_ptr<Allocation> map_foreign(std::shared_ptr<Card> card, const Message& leased,
                                                 int lease);

  std::shared_ptr<Card> card_;
  uint32_t home_;
  bool made_here_ = false;                     // false: imported
  mutable std::atomic<bool> exported_{false};  // other processes may hold it
  uint64_t address_;
  uint64_t size_bytes_;
  uint32_t group_;
  SharedArea window_;  // this process' mapping of another card's memory
};

}  // namespace tandem::emulation
