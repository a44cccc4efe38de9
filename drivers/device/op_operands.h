// SPDX-License-Identifier: Apache-2.0
//
// The operands of an operation: its slices, with their sizes and uses, and its weights.
//
// map_operands() gives the same operation on other operands: those of one unit of a group, or those
// of the unit that a double wraps. OpLists holds the lists of the result. Threads: plain data.
// Errors: Error if a size cannot be computed (a missing weight, a negative row).
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <span>
#include <type_traits>

#include "device/compute_ops.h"

namespace tandem::device {

enum class Access {
  kRead,
  kWrite,  // all of its bytes are replaced
  kUpdate  // read and written, or written in part
};

class OperandMap {
 public:
  virtual ~OperandMap() = default;
  // `slice` may be empty. The first slice that is visited is one that is read, if there is any.
  virtual Slice slice(const Slice& slice, std::size_t size_bytes, Access access) = 0;
  virtual const Weight* weight(const Weight* weight) = 0;  // not null
};

// Memory for the lists of operations.
class OpLists {
 public:
  enum class Keep { kBorrowed, kCopies };
  // kBorrowed: lists without operands (ids, positions) are not copied. kCopies: all lists are
  // copied.
  explicit OpLists(Keep keep) : keep_(keep) {}
  OpLists(const OpLists&) = delete;
  OpLists& operator=(const OpLists&) = delete;

  template <typename T>
  std::span<T> copy(std::span<const T> list) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (list.empty()) return {};
    auto* to = static_cast<T*>(memory_.allocate(list.size_bytes(), alignof(T)));
    return {to, std::uninitialized_copy(list.begin(), list.end(), to)};
  }
  template <typename T>
  std::span<const T> keep(std::span<const T> list) {
    return keep_ == Keep::kBorrowed ? list : copy(list);
  }

 private:
  const Keep keep_;
  std::array<std::byte, 1024> first_;  // enough for a decode step
  std::pmr::monotonic_buffer_resource memory_{first_.data(), first_.size()};
};

// The result borrows from `lists`, and with kBorrowed also from `op`.
Op map_operands(const Op& op, OpLists& lists, OperandMap& map);

}  // namespace tandem::device
