// SPDX-License-Identifier: Apache-2.0
//
// Where a way is shared with another branch, its token joins with null.
#include "bitstreams/compiler/loop_checks/branch_tokens.h"

#include "bitstreams/compiler/loop_checks/tokens.h"

namespace tandem::loop_checks {

gcall* call_of_choice(const ChosenStore& store, gimple_seq* code) {
  const tree type =
      build_function_type_list(void_type_node, token_type(), ptr_type_node, sizetype, NULL_TREE);
  const tree pointer =
      force_gimple_operand(build_fold_addr_expr(unshare_expr(store.place)), code, true, NULL_TREE);
  return gimple_build_call(card_function("tandem_unset_choice", type), 3, store.token, pointer,
                           TYPE_SIZE_UNIT(TREE_TYPE(store.place)));
}

BranchTokens::Branch* BranchTokens::find(gimple* branch) {
  const auto found = std::find_if(branches_.begin(), branches_.end(),
                                  [&](const Branch& each) { return each.stmt == branch; });
  return found == branches_.end() ? nullptr : &*found;
}

const Choice* BranchTokens::add(gimple* branch) {
  if (gimple_code(branch) != GIMPLE_COND && gimple_code(branch) != GIMPLE_SWITCH) return nullptr;
  if (const Branch* const known = find(branch)) return &known->choice;
  Branch found{branch, {}, NULL_TREE, {}};
  if (!only_chooses(branch, &found.choice)) return nullptr;
  branches_.push_back(found);
  return &branches_.back().choice;
}

std::vector<gimple*> BranchTokens::branches() const {
  std::vector<gimple*> all;
  for (const Branch& branch : branches_) all.push_back(branch.stmt);
  return all;
}

void BranchTokens::set_token(gimple* branch, tree token) {
  Branch* const found = find(branch);
  found->token = token;
  spread_token(found);
  for (gimple* store : found->choice.stores) {
    const tree place = gimple_assign_lhs(store);
    stores_.push_back({branch, true, token, place});
    stores_.push_back({store, false, found->tokens.at(gimple_bb(store)), place});
  }
}

bool BranchTokens::decides(const Branch& branch, edge way, gphi* phi) {
  const Choice& choice = branch.choice;
  return std::find(choice.ways.begin(), choice.ways.end(), way) != choice.ways.end() &&
         std::find(choice.results.begin(), choice.results.end(), phi) != choice.results.end();
}

tree BranchTokens::token_on(edge way, gphi* phi, tree token) const {
  gimple_seq code = nullptr;
  for (const Branch& branch : branches_) {
    if (!decides(branch, way, phi)) continue;
    const tree deciding = branch.tokens.at(way->src);
    token = token == null_token() ? deciding
                                  : choose_token(deciding, null_token(), token, deciding, &code);
  }
  if (code == nullptr) return token;
  auto at = gsi_last_bb(way->src);
  if (!gsi_end_p(at) && stmt_ends_bb_p(gsi_stmt(at))) {
    gsi_insert_seq_before(&at, code, GSI_SAME_STMT);
  } else {
    gsi_insert_seq_after(&at, code, GSI_CONTINUE_LINKING);
  }
  return token;
}

void BranchTokens::spread_token(Branch* branch) {
  const basic_block own = gimple_bb(branch->stmt);
  branch->tokens[branch->choice.begin] = null_token();
  branch->tokens[own] = branch->token;
  for (basic_block block : branch->choice.between) {
    if (block == own) continue;
    const tree first = branch->tokens.at(EDGE_PRED(block, 0)->src);
    branch->tokens[block] = first;
    edge way;
    edge_iterator edges;
    gphi* tokens = nullptr;
    FOR_EACH_EDGE(way, edges, block->preds) {
      if (branch->tokens.at(way->src) != first)
        tokens = tokens != nullptr ? tokens : create_phi_node(make_ssa_name(token_type()), block);
    }
    if (tokens == nullptr) continue;
    FOR_EACH_EDGE(way, edges, block->preds) {
      add_phi_arg(tokens, branch->tokens.at(way->src), way, UNKNOWN_LOCATION);
    }
    branch->tokens[block] = gimple_phi_result(tokens);
  }
}

}  // namespace tandem::loop_checks
