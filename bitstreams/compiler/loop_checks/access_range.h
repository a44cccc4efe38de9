// SPDX-License-Identifier: Apache-2.0
//
// AccessRange: the bytes that an access reaches while a loop runs, as expressions that can be
// computed before the loop.
//
// Known for addresses that each loop around the access changes by the same step in every iteration,
// and for elements of arrays whose size is known. Threads: that of g++.
#pragma once

#include "bitstreams/compiler/loop_checks/gcc_headers.h"

namespace tandem::loop_checks {

// A value that starts at `base`. A loop changes it by `step` after each of `count` iterations.
struct Steps {
  struct Level {
    tree step, count;  // ssizetype, sizetype
  };
  tree base = NULL_TREE;      // sizetype
  std::vector<Level> levels;  // innermost first
};

// The steps of `value`, which `stmt` uses, while `outer` runs. False: not known before the loop.
bool find_steps(Loop* outer, gimple* stmt, tree value, Steps& steps);

// `bytes` bytes at steps.base + offset and at all steps from there.
struct AccessRange {
  Steps steps;
  HOST_WIDE_INT offset = 0, bytes = 0;
  location_t place = UNKNOWN_LOCATION;  // of the first access
  bool is_store = false;
  bool is_extent = false;  // all of the array, since the index is not known
  bool is_whole = false;   // the loop reaches each of these bytes for sure
};

bool find_range(Loop* outer, gimple* stmt, tree pointer, HOST_WIDE_INT bytes, AccessRange& range);
// Makes `range` contain the bytes of `other` too, if they lie closely together. With bytes between
// them the range is not whole.
bool merge_ranges(AccessRange& range, const AccessRange& other);

// `count` pieces of `piece` bytes from `low` on, which begin every `step` bytes. All are sizetype.
struct Pieces {
  tree low = NULL_TREE, piece = NULL_TREE, step = NULL_TREE, count = NULL_TREE;
  bool is_exact = true;  // false: there are more bytes than in the range
};
Pieces pieces_of(const AccessRange& range);

// The array element or member that `pointer` points to; null: not known.
tree pointed_element(tree pointer);

}  // namespace tandem::loop_checks
