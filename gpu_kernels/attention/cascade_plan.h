// SPDX-License-Identifier: Apache-2.0
//
// Shared prefixes: sequences whose page lists begin with the same pages attend to those pages once,
// as one group of many query rows. Each sequence attends to its remaining pages alone. merge.h
// joins the results.
//
// The page lists form a tree. A node becomes a shared group if at least two sequences pass through
// it and its pages save at least min_tokens reads. The rest of a sequence is its own group. Only
// whole pages are shared, and only if every sharer sees all their tokens. Units: tokens, pages.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/decode_plan.h"

namespace tandem::gpu_kernels {

inline constexpr int kMaxCascadeLevels = 4;  // level 0 included

// Rows of shared groups of level l have out_offset l * max_rows (level 0: the sequences' own
// groups). So a row has at most one result per level.
struct CascadePlan {
  std::vector<DecodeGroup> own;     // for a decode bucket with few rows per group
  std::vector<DecodeGroup> shared;  // for a decode bucket with many rows per group
  std::vector<std::int32_t> rows;   // the row list of `own` and `shared`
  // The rows that have a result of each level; empty if a level has none.
  std::vector<std::int32_t> level_rows[kMaxCascadeLevels];
};

struct CascadeOptions {
  int page_tokens = 16;
  std::int32_t min_tokens = 512;  // reads that a shared group saves: tokens times (sequences - 1)
  std::int32_t max_rows = 0;      // distance in rows between the results of two levels
};

// groups: the sequences, their rows in `rows` and their pages in `pages`, as for plan_decode(). A
// page is shared only if every sharer has attend_begin 0 and a num_attend past the page. Pure
// function on the host. Cost: O(n log n) comparisons of page lists.
void plan_cascade(const CascadeOptions& options, std::span<const DecodeGroup> groups,
                  std::span<const std::int32_t> rows, std::span<const std::uint32_t> pages,
                  CascadePlan& plan);

}  // namespace tandem::gpu_kernels
