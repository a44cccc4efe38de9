// SPDX-License-Identifier: Apache-2.0
//
// How one attention batch is cut into items for a team of threads: a pure function.
//
// An item is up to kPanelQueries query rows of some adjacent KV heads of one sequence, over a range
// of tokens. KV heads stay together if possible: a page stores them side by side and is then read
// from end to end. If threads would idle, a sequence is cut by tokens into ranges of at least 256,
// and if that is not enough, by heads. Many query rows, which compute more than they read, take one
// head at a time. Rows of a KV head count over (query, head in the group): row = query * group +
// head.
#pragma once

#include <cstddef>
#include <vector>

#include "common/function_ref.h"
#include "device/attention_unit.h"

namespace tandem::device::cpu {

inline constexpr std::size_t kPanelQueries = 64;
// rows for which reading takes longer than computing
inline constexpr std::size_t kFewQueries = 16;

struct AttentionItem {
  std::size_t sequence = 0;
  std::size_t head_begin = 0, head_end = 0;  // KV heads
  std::size_t row_begin = 0, row_end = 0;
  std::size_t token_begin = 0, token_end = 0;
  std::size_t range = 0, num_ranges = 1;  // this item's range of tokens, and the number of ranges
  std::size_t partial_row = 0;  // the item's first row in the partial results, if num_ranges > 1

  std::size_t rows_per_head() const { return row_end - row_begin; }
  std::size_t rows() const { return (head_end - head_begin) * rows_per_head(); }
};

struct AttentionPlan {
  std::vector<AttentionItem> items;
  std::size_t partial_rows = 0;
  // after sort_by_node(): [num_nodes + 1]; NUMA node n has items bounds[n] .. bounds[n + 1]
  std::vector<std::size_t> bounds;

  // Lists the items node by node, in their order within a node. home: the node of an item.
  void sort_by_node(int num_nodes, FunctionRef<int(const AttentionItem&)> home);

 private:
  std::vector<AttentionItem> unsorted_;
  std::vector<int> homes_;
};

void plan_attention(const AttentionGeometry& geometry, const AttentionBatch& batch, int num_threads,
                    AttentionPlan& plan);

}  // namespace tandem::device::cpu
