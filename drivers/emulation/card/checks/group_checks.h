// SPDX-License-Identifier: Apache-2.0
//
// GroupChecks: the part of RunChecks that is about kernels of OpenCL C: work-items of one group
// that race, barriers that not all of them reach, and values that are missing.
//
// The functions that these kernels call are in group_calls.cpp. Threads: the unit's.
#pragma once

#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "emulation/card/checks/item_races.h"

namespace tandem::emulation {

class RunChecks;

class GroupChecks {
 public:
  struct Range {
    uint64_t begin = 0, size_bytes = 0;
  };

  explicit GroupChecks(RunChecks& checks) : checks_(checks) {}
  GroupChecks(const GroupChecks&) = delete;
  GroupChecks& operator=(const GroupChecks&) = delete;
  ~GroupChecks();

  // `locals`: the memory of the group. Returns whether the calls about items are wanted.
  bool begin_group(uint64_t items, std::vector<Range> locals);
  // At the end of a call too.
  void end_group();
  void set_item(uint64_t item) {
    finish_write();
    races_.set_item(item);
  }
  void end_interval();
  // Before the access. Memory that items do not share is ignored.
  void touch(uint64_t address, uint64_t size_bytes, bool writes, const void* from) {
    finish_write();
    if (!watches_ || (!races_.knows(address) && !is_shared(address))) return;
    const auto conflict = races_.touch(address, size_bytes, writes, code_offset(from));
    if (conflict) meet(address, size_bytes, writes, from, *conflict);
  }
  // Bytes that a loop accesses: `size_bytes` from `low` on, again every `step` bytes, for up to two
  // loops that go back `turns` times.
  struct Span {
    uint64_t low = 0, size_bytes = 0;
    struct Extent {
      int64_t step = 0;
      uint64_t turns = 0;
    };
    Extent extents[2] = {};
    bool writes = false;
    bool is_whole = false;  // the loop surely accesses each of these bytes
  };
  // Before the loop: whether no check of these accesses can find anything, and all bytes that are
  // read have a value.
  bool is_good(const Span& span, const void* from);
  // The loop, whose spans are all good, will do it.
  void note(const Span& span, const void* from);
  // An atomic function changes these bytes.
  void atomic(uint64_t address, uint64_t size_bytes, const void* from);
  // `other`: where another item waits, or null; `reached` of `items` wait at all.
  void uneven_barrier(const void* first, const void* other, uint64_t reached, uint64_t items);
  // A missing value decides something; its states were stored at `states`, of numbers of
  // `lane_bytes`; bytes are copied; are set.
  void value_used(const void* from);
  void value_stored(uint64_t states, uint64_t size_bytes, uint64_t lane_bytes, const void* from);
  void values_copied(uint64_t to, uint64_t from, uint64_t size_bytes, const void* caller);
  void values_set(uint64_t to, uint64_t size_bytes);

 private:
  // A write that races if it changes the bytes: items that store the same flag do no harm.
  struct Write {
    uint64_t address = 0, size_bytes = 0;  // 0: none
    unsigned char before[64] = {};
    const void* from = nullptr;
    ItemConflict conflict;
  };

  bool is_shared(uint64_t address) const;
  bool is_good_local(uint64_t begin, uint64_t end) const;
  const void* code_at(uint32_t offset) const;
  bool is_new_pair(const void* from, uint32_t other);
  uint32_t code_offset(const void* from) const {
    return static_cast<uint32_t>(reinterpret_cast<uint64_t>(from) - code_begin_);
  }
  void meet(uint64_t address, uint64_t size_bytes, bool writes, const void* from,
            const ItemConflict& conflict);
  void finish_write() {
    if (last_.size_bytes != 0) tell_write();
  }
  void tell_write();
  void tell_race(uint64_t address, bool writes, const void* from, const ItemConflict& conflict);

  RunChecks& checks_;
  std::vector<Range> locals_, marked_;
  ItemRaces races_;
  Write last_;
  // Uses of missing values in a group of several items: if the items race, that is their cause.
  std::vector<const void*> uses_;
  std::set<std::pair<uint32_t, uint32_t>> told_codes_;
  std::set<std::pair<std::string, std::string>> told_places_;
  uint64_t code_begin_ = 0;  // of the unit's library
  bool has_raced_ = false;   // in this group
  bool watches_ = false;
};

}  // namespace tandem::emulation
