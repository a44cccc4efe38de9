// SPDX-License-Identifier: Apache-2.0
//
// BranchTokens: the branches of a function that only choose (choices.h), and the token of what
// decides each of them: what it chooses is missing if that is. Threads: that of g++.
#pragma once

#include "bitstreams/compiler/loop_checks/choices.h"
#include "bitstreams/compiler/loop_checks/gcc_headers.h"

namespace tandem::loop_checks {

// What a branch stores to local memory, if it only chooses: before the branch, whichever way it
// takes, and behind the store, the card is told that what stands there may be missing.
struct ChosenStore {
  gimple* at;
  bool is_before;
  tree token, place;
};
gcall* call_of_choice(const ChosenStore& store, gimple_seq* code);

class BranchTokens {
 public:
  // Null: it does more than to choose between values.
  const Choice* add(gimple* branch);
  std::vector<gimple*> branches() const;
  // `token`: of what decides; known before the branch. Call it for all before what follows.
  void set_token(gimple* branch, tree token);
  // What comes in by this way has `token` if it is there, else that of what decides.
  tree token_on(edge way, gphi* phi, tree token) const;
  // Of the branches with a token. The caller may split blocks afterwards.
  const std::vector<ChosenStore>& stores() const { return stores_; }

 private:
  struct Branch {
    gimple* stmt;
    Choice choice;
    tree token;
    std::map<basic_block, tree>
        tokens;  // at the end of the choice's blocks: null: it did not decide
  };

  Branch* find(gimple* branch);
  static bool decides(const Branch& branch, edge way, gphi* phi);
  static void spread_token(Branch* branch);

  std::deque<Branch> branches_;
  std::vector<ChosenStore> stores_;
};

}  // namespace tandem::loop_checks
