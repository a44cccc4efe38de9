// SPDX-License-Identifier: Apache-2.0
//
// MissingValues: follows values that may be missing through the statements of a function.
//
// Beside each such value stands a token: null if the value is there, else a pointer that tells the
// card where the value was read: an address in the kernel's code, or a text
// "file:line:line of the declaration:variable".
// Sums, casts, joins of branches and branches that only choose between two values pass the token
// on; other conditions (unless both ways are the same), addresses and calls use the value, stores
// keep it. A value behind a mask of zeros counts as there. Statements that set some bits of a
// number of the HLS headers end its way: their result counts as set. Threads: that of g++.
#pragma once

#include "bitstreams/compiler/loop_checks/branch_tokens.h"
#include "bitstreams/compiler/loop_checks/gcc_headers.h"
#include "bitstreams/compiler/loop_checks/same_outcome.h"
#include "bitstreams/compiler/loop_checks/stored_values.h"
#include "bitstreams/compiler/loop_checks/value_uses.h"

namespace tandem::loop_checks {

class MissingValues {
 public:
  // A statement that uses the value, or stores it: to `part` of its target.
  struct End {
    gimple* stmt;
    tree value;
    bool is_store;
    Part part;
  };

  // `is_checked`: the function has the checks of its accesses.
  explicit MissingValues(bool is_checked) : is_checked_(is_checked) {}

  // `variable`: its token does not tell a line yet; the first statement that computes with the
  // value, or its end, gives it. Null: it does.
  void add(tree value, tree token, tree variable);
  // False: more than `most` values.
  bool spread(size_t most);
  const std::vector<End>& ends() const { return ends_; }
  // Whether the value is used whatever comes next.
  bool is_certain(const End& end) const { return !end.is_store && same_.count(end.stmt) == 0; }
  // Adds the statements that compute the tokens.
  void make_tokens();
  const std::vector<ChosenStore>& chosen_stores() const { return branches_.stores(); }
  // An index that is missing becomes 0, so that it does not count as one outside of its array too.
  // To be called last.
  void set_indices();
  // To be passed to the card where the value ends.
  tree token_at(const End& end) const;

 private:
  struct Value {
    tree name, token;
    tree variable, lineless;  // that, and its token without a line; null: its token tells one
    bool is_first;
  };

  void find_uses(size_t at);
  bool follow_branch(gimple* stmt);
  SameOutcome outcome_of(gimple* branch) const;
  bool follow_chosen(gimple* stmt, tree value);
  bool is_choice_of_set(tree value, int depth) const;
  void follow_parts(gimple* stmt, tree value);
  void follow_store(gimple* store, tree value, const Part& part, int depth);
  void pass_on(tree name);
  void note(const End& end);
  bool is_known(tree name) const { return index_.count(name) != 0; }
  const Value& value_of(tree name) const { return values_[index_.at(name)]; }
  tree token_of(tree name) const;
  void find_lineless();
  const Value* lineless_operand(gimple* stmt) const;
  static tree placed_token(const Value& value, gimple* stmt, gimple_seq* code);
  static tree deciding_token(tree is_same, tree token, gimple_seq* code);
  void add_choice(Value* value);
  void join_tokens(gphi* phi, tree token);
  void compute_token(gimple* stmt, tree token);
  tree compute_token(gimple* branch) const;
  tree compare_ways(gimple* branch) const;
  std::vector<tree> known_operands(gimple* stmt) const;
  tree operand_token(gimple* stmt, tree operand, gimple_seq* code) const;
  tree joined_token(gimple* stmt, const std::vector<tree>& operands, tree found,
                    gimple_seq* code) const;

  const bool is_checked_;
  std::deque<Value> values_;
  std::map<tree, size_t> index_;
  std::map<tree, tree> sources_;  // of loads from variables that the card does not know
  std::set<tree> indices_;
  std::map<tree, tree> chosen_;  // loads from an address that a branch chose
  BranchTokens branches_;
  std::map<gimple*, tree> same_;  // branches whose ways may be the same, and whether they are
  std::vector<End> ends_;
};

}  // namespace tandem::loop_checks
