// SPDX-License-Identifier: Apache-2.0
//
// What a statement does with a value: what MissingValues asks of each. Threads: that of g++.
#pragma once

#include "bitstreams/compiler/loop_checks/gcc_headers.h"

namespace tandem::loop_checks {

enum class Use { kNone, kPasses, kUses, kStores };
Use use_of(gimple* stmt, tree value);

// Whether the statement belongs to a function of the HLS headers that sets bits of a number.
bool sets_bits(gimple* stmt);

// Whether it calls a function like expf(), which computes, but may set errno.
bool is_mathematical(gimple* call);

// `value & mask`: without effect of `value` on the result if `mask` equals `neutral`. The condition
// in `value * condition` and `value | condition` is a mask too, as is an element of a constant
// table in `value * coefficient` of integers.
struct Mask {
  tree mask = NULL_TREE;  // null: there is none
  tree neutral = NULL_TREE;
};
Mask mask_of(gimple* stmt, tree value);

}  // namespace tandem::loop_checks
