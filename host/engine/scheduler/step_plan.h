// SPDX-License-Identifier: Apache-2.0
//
// StepPlan: the work of one iteration of the engine. A plain value that can be printed and
// compared.
//
// In this order: the preempted sequences release their pages; the admitted ones attach to cached
// prefixes; every item gets pages for all its known tokens; the items run as one batch of rows.
// Items are in sub-batch order; inside a sub-batch decode rows come before prefill chunks.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

namespace tandem::engine {

using SequenceId = std::uint64_t;

// Rows [begin, begin + num_rows) of a sequence's known tokens, and of `num_drafts` guesses behind
// them.
struct StepItem {
  SequenceId id = 0;
  int begin = 0;
  int num_rows = 0;
  bool samples = false;  // its last row is the last known token: a new token follows
  int sub_batch = 0;
  int num_drafts = 0;  // of num_rows; then there is one known token, the last
  friend bool operator==(const StepItem&, const StepItem&) = default;
};

struct StepPlan {
  std::vector<SequenceId> preempted;  // within a caller, the newest first
  std::vector<SequenceId> admitted;   // in the order of admission
  std::vector<StepItem> items;
  int num_sub_batches = 0;  // 0 when there is nothing to run
  bool holds_back = false;  // a caller gets fewer rows, so that another caller's prompt ends sooner
  friend bool operator==(const StepPlan&, const StepPlan&) = default;
};

// "step: 2 sub-batches; preempt 7; admit 8; run 0: 3@12+1! 4@0+256; 1: 5@9+1!"
std::ostream& operator<<(std::ostream& out, const StepPlan& plan);

}  // namespace tandem::engine
