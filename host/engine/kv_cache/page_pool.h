// SPDX-License-Identifier: Apache-2.0
//
// PagePool: which pages of one attention unit are free, in use, or idle.
//
// A page is in use while it has references. Without references it is idle where the index knows its
// prefix (it has a key), else free. take() evicts an idle page only when no page is free; it takes
// the one that has been idle longest. Cost: O(1) per call. Threads: the engine's. Errors: none;
// take() returns nothing when no page is left.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "device/attention_unit.h"

namespace tandem::engine {

using device::PageId;
using PrefixKey = std::uint64_t;  // 0: none

class PagePool {
 public:
  explicit PagePool(std::uint32_t num_pages);

  struct Taken {
    PageId page = 0;
    PrefixKey evicted = 0;  // the prefix that it held until now
  };
  std::optional<Taken> take();  // one reference

  void retain(PageId page);   // adds a reference; the page is in use or idle
  void release(PageId page);  // removes a reference; the page is in use

  // Records that the page, which is in use, holds a prefix that can be found under `key`.
  void set_key(PageId page, PrefixKey key);
  // Records that the page's prefix cannot be found any more. An idle page becomes free.
  void forget_key(PageId page);

  PrefixKey key(PageId page) const { return pages_[page].key; }
  std::uint32_t references(PageId page) const { return pages_[page].references; }
  std::uint32_t num_pages() const { return static_cast<std::uint32_t>(pages_.size()); }
  std::uint32_t num_used() const { return num_pages() - num_available(); }
  std::uint32_t num_idle() const { return num_idle_; }
  std::uint32_t num_available() const {
    return static_cast<std::uint32_t>(free_.size()) + num_idle_;
  }

 private:
  static constexpr PageId kNone = ~PageId{0};
  struct Page {
    PrefixKey key = 0;
    std::uint32_t references = 0;
    PageId older = kNone, newer = kNone;  // neighbours in the list of idle pages
  };

  void push_idle(PageId page);
  void unlink_idle(PageId page);

  std::vector<Page> pages_;
  std::vector<PageId> free_;
  PageId oldest_ = kNone, newest_ = kNone;
  std::uint32_t num_idle_ = 0;
};

}  // namespace tandem::engine
