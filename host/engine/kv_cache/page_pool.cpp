// SPDX-License-Identifier: Apache-2.0
//
// A stack of free pages, and a doubly linked list of idle ones inside the array of pages: nothing
// is allocated after construction.
#include "engine/kv_cache/page_pool.h"

#include "common/error.h"

namespace tandem::engine {

PagePool::PagePool(std::uint32_t num_pages) : pages_(num_pages) {
  free_.reserve(num_pages);
  for (std::uint32_t page = num_pages; page > 0; --page) free_.push_back(page - 1);
}

std::optional<PagePool::Taken> PagePool::take() {
  Taken taken;
  if (!free_.empty()) {
    taken.page = free_.back();
    free_.pop_back();
  } else if (oldest_ != kNone) {
    taken.page = oldest_;
    taken.evicted = pages_[taken.page].key;
    unlink_idle(taken.page);
  } else {
    return std::nullopt;
  }
  pages_[taken.page].key = 0;
  pages_[taken.page].references = 1;
  return taken;
}

void PagePool::retain(PageId page) {
  Page& entry = pages_[page];
  if (entry.references == 0) {
    TANDEM_CHECK_OP(entry.key, !=, PrefixKey{0});
    unlink_idle(page);
  }
  ++entry.references;
}

void PagePool::release(PageId page) {
  Page& entry = pages_[page];
  TANDEM_CHECK_OP(entry.references, >, 0u);
  if (--entry.references > 0) return;
  if (entry.key != 0) {
    push_idle(page);
  } else {
    free_.push_back(page);
  }
}

void PagePool::set_key(PageId page, PrefixKey key) {
  TANDEM_CHECK_OP(pages_[page].references, >, 0u);
  pages_[page].key = key;
}

void PagePool::forget_key(PageId page) {
  Page& entry = pages_[page];
  if (entry.references == 0 && entry.key != 0) {
    unlink_idle(page);
    free_.push_back(page);
  }
  entry.key = 0;
}

void PagePool::push_idle(PageId page) {
  Page& entry = pages_[page];
  entry.older = newest_;
  entry.newer = kNone;
  (newest_ == kNone ? oldest_ : pages_[newest_].newer) = page;
  newest_ = page;
  ++num_idle_;
}

void PagePool::unlink_idle(PageId page) {
  const Page& entry = pages_[page];
  (entry.older == kNone ? oldest_ : pages_[entry.older].newer) = entry.newer;
  (entry.newer == kNone ? newest_ : pages_[entry.newer].older) = entry.older;
  --num_idle_;
}

}  // namespace tandem::engine
