// SPDX-License-Identifier: Apache-2.0
//
// How one attention batch is cut into items for a team of threads: a pure function.
//
// An item is up to kPanelQueries query rows of one KV head of one sequence over a range of tokens.
// A sequence is cut by tokens only when the team would otherwise idle, into ranges of at least 256.
// Rows of a KV head count over (query, head within the group): row = query * group + head.
#pragma once

#include <cstddef>
#include <vector>

#include "device/attention_unit.h"

namespace tandem::device::cpu {

inline constexpr std::size_t kPanelQueries = 64;

struct AttentionItem {
  std::size_t sequence = 0;
  std::size_t kv_head = 0;
  std::size_t row_begin = 0, row_end = 0;
  std::size_t token_begin = 0, token_end = 0;
  std::size_t range = 0, num_ranges = 1;  // this part of the tokens
  std::size_t partial_row = 0;            // where its rows stand in the partial results, if ranges
};

struct AttentionPlan {
  std::vector<AttentionItem> items;  // the ranges of one panel follow each other
  std::size_t partial_rows = 0;
};

void plan_attention(const AttentionGeometry& geometry, const AttentionBatch& batch, int num_threads,
                    AttentionPlan& plan);

}  // namespace tandem::device::cpu
