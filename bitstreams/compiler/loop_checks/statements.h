// SPDX-License-Identifier: Apache-2.0
//
// All statements of a function, block by block; joins of values (phi) are not among them. Whoever
// adds or removes statements takes a list first. Threads: that of g++.
#pragma once

#include "bitstreams/compiler/loop_checks/gcc_headers.h"

namespace tandem::loop_checks {

// The first for which the predicate is true; null: none.
template <class Predicate>
gimple* find_statement(struct function* body, const Predicate& is_wanted) {
  basic_block block;
  FOR_EACH_BB_FN(block, body) {
    for (auto at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
      if (is_wanted(gsi_stmt(at))) return gsi_stmt(at);
    }
  }
  return nullptr;
}

// Of the current function.
template <class Predicate>
bool has_statement(const Predicate& is_wanted) {
  return find_statement(cfun, is_wanted) != nullptr;
}

template <class Predicate>
std::vector<gimple*> statements_that(const Predicate& are_wanted) {
  std::vector<gimple*> found;
  find_statement(cfun, [&](gimple* stmt) {
    if (are_wanted(stmt)) found.push_back(stmt);
    return false;
  });
  return found;
}

}  // namespace tandem::loop_checks
