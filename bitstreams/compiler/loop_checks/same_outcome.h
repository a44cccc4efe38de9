// SPDX-License-Identifier: Apache-2.0
//
// Branches whose ways do the same because of a condition behind them: in `tag == x && is_valid` the
// first condition decides nothing if the second one is false. What stands behind the branch is
// computed before it: at most three conditions. A local variable is read there only if the card
// says that it can be, and has a value. Threads: that of g++.
#pragma once

#include <functional>

#include "bitstreams/compiler/loop_checks/gcc_headers.h"

namespace tandem::loop_checks {

class SameOutcome {
 public:
  // `is_checked`: the function has the checks of its accesses, so memory may be read. `token_of`:
  // that of a value (missing_values.h).
  SameOutcome(gimple* branch, bool is_checked, std::function<tree(tree)> token_of)
      : branch_(branch), is_checked_(is_checked), token_of_(std::move(token_of)) {}

  bool is_possible();
  // A boolean, computed by statements to be put before the branch; `token` is that of the branch's
  // condition.
  tree compute(tree token, gimple_seq* code);

 private:
  tree ways_are_same();
  tree leads_to(edge way, edge other, int depth);
  tree goes_on_to(basic_block block, edge other, int depth);
  tree are_equal_there(edge way, edge other);
  tree are_equal(tree value, tree other);
  tree has_value(tree value);
  bool is_passed(tree value) const;
  tree compare(tree_code code, tree one, tree other);
  tree copy_of(tree value);
  void make_copy(tree value);
  tree copy_statement(gassign* stmt);
  tree copy_load(gassign* load);
  tree copy_place(tree place);
  tree choose(tree condition, tree yes, tree no);
  tree both(tree one, tree other);
  tree add(tree_code code, tree one, tree other);

  gimple* const branch_;
  const bool is_checked_;
  const std::function<tree(tree)> token_of_;
  tree token_ = NULL_TREE;
  gimple_seq* code_ = nullptr;       // null: only whether it is possible
  std::vector<basic_block> passed_;  // behind the branch
  // A value that is computed before the branch, and whether all that it needs is there.
  struct Copy {
    tree value, is_right;
  };
  std::map<tree, Copy> copies_;
  tree is_right_ = boolean_true_node;
};

}  // namespace tandem::loop_checks
