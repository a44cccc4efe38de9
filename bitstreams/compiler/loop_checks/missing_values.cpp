// SPDX-License-Identifier: Apache-2.0
//
// First the tokens of what decides branches, then those of all values in the order of discovery.
#include "bitstreams/compiler/loop_checks/missing_values.h"

#include "bitstreams/compiler/loop_checks/place_text.h"
#include "bitstreams/compiler/loop_checks/same_outcome.h"
#include "bitstreams/compiler/loop_checks/tokens.h"

namespace tandem::loop_checks {
namespace {

bool is_complex(gimple* stmt) {
  return is_gimple_assign(stmt) && gimple_assign_rhs_code(stmt) == COMPLEX_EXPR;
}

// Whether it only hands the value on.
bool is_copy(gimple* stmt) {
  if (gimple_code(stmt) == GIMPLE_PHI) return true;
  return is_gimple_assign(stmt) &&
         (gimple_assign_ssa_name_copy_p(stmt) || gimple_assign_cast_p(stmt));
}

}  // namespace

void MissingValues::add(tree value, tree token, tree variable) {
  if (is_known(value)) return;
  index_[value] = values_.size();
  values_.push_back({value, token, variable, token, true});
}

bool MissingValues::spread(size_t most) {
  for (size_t at = 0; at < values_.size(); ++at) {
    if (values_.size() > most) return false;
    find_uses(at);
  }
  return true;
}

void MissingValues::find_uses(size_t at) {
  const tree value = values_[at].name;
  imm_use_iterator uses;
  use_operand_p use;
  FOR_EACH_IMM_USE_FAST(use, uses, value) {
    gimple* const stmt = USE_STMT(use);
    const Use kind = use_of(stmt, value);
    if (gimple_call_internal_p(stmt, IFN_UBSAN_BOUNDS)) indices_.insert(value);
    if (is_complex(stmt)) {
      follow_parts(stmt, value);
    } else if (kind == Use::kPasses) {
      pass_on(gimple_code(stmt) == GIMPLE_PHI ? gimple_phi_result(stmt) : gimple_get_lhs(stmt));
    } else if (kind == Use::kStores) {
      follow_store(stmt, value, whole_of(stmt), 0);
    } else if (kind == Use::kUses && !follow_branch(stmt) && !follow_chosen(stmt, value)) {
      note({stmt, value, false, {}});
    }
  }
}

// False: it does more than to choose between values.
bool MissingValues::follow_branch(gimple* stmt) {
  if (same_.count(stmt) == 0 && outcome_of(stmt).is_possible()) same_[stmt] = NULL_TREE;
  const Choice* const choice = branches_.add(stmt);
  if (choice == nullptr) return false;
  for (gphi* result : choice->results) pass_on(gimple_phi_result(result));
  return true;
}

SameOutcome MissingValues::outcome_of(gimple* branch) const {
  return SameOutcome(branch, is_checked_, [this](tree value) { return token_of(value); });
}

// A load from an address that the value decides, if any such address is right: an element of an
// array of this function or of a table, or what std::max() chose: `*(a < b ? &b : &a)`.
bool MissingValues::follow_chosen(gimple* stmt, tree value) {
  if (!gimple_assign_load_p(stmt)) return false;
  const tree place = gimple_assign_rhs1(stmt), result = gimple_assign_lhs(stmt);
  const bool is_address = TREE_CODE(place) == MEM_REF && TREE_OPERAND(place, 0) == value;
  if (!VAR_P(root_of(place)) && !(is_address && is_choice_of_set(value, 0))) return false;
  if (TREE_CODE(result) != SSA_NAME) {
    follow_store(stmt, value, whole_of(stmt), 0);
    return true;
  }
  pass_on(result);
  chosen_[result] = value;
  return true;
}

// Whether only what chose the value may be missing.
bool MissingValues::is_choice_of_set(tree value, int depth) const {
  constexpr int kMostChoices = 8;  // `std::max(a, std::max(b, c))`
  auto* const phi = dyn_cast<gphi*>(SSA_NAME_DEF_STMT(value));
  if (phi == nullptr || depth > kMostChoices) return false;
  for (unsigned index = 0; index < gimple_phi_num_args(phi); ++index) {
    const tree each = gimple_phi_arg_def(phi, index);
    const bool may_miss = TREE_CODE(each) == SSA_NAME && is_known(each);
    if (may_miss && !is_choice_of_set(each, depth + 1)) return false;
  }
  return true;
}

// Where a complex number is stored, only one part of it is missing.
void MissingValues::follow_parts(gimple* stmt, tree value) {
  const HOST_WIDE_INT bytes = int_size_in_bytes(TREE_TYPE(value));
  imm_use_iterator uses;
  use_operand_p use;
  FOR_EACH_IMM_USE_FAST(use, uses, gimple_assign_lhs(stmt)) {
    gimple* const store = USE_STMT(use);
    if (!gimple_assign_single_p(store) || !gimple_store_p(store)) continue;
    if (gimple_assign_rhs1(stmt) == value) follow_store(store, value, {0, bytes}, 0);
    if (gimple_assign_rhs2(stmt) == value) follow_store(store, value, {bytes, bytes}, 0);
  }
}

void MissingValues::follow_store(gimple* store, tree value, const Part& part, int depth) {
  constexpr int kMostCopies = 8;
  const std::vector<gimple*> loads = loads_behind(store);
  if (loads.empty()) note({store, value, true, part});
  for (gimple* load : loads) {
    const tree result = gimple_assign_lhs(load);
    const Part found = part_in(load, store, part);
    if (TREE_CODE(result) != SSA_NAME) {
      if (depth < kMostCopies) follow_store(load, value, found, depth + 1);
    } else if (!is_known(result) && found.bytes == whole_of(load).bytes) {
      sources_[result] = value;
      pass_on(result);
    }
  }
}

void MissingValues::pass_on(tree name) {
  if (is_known(name) || SSA_NAME_OCCURS_IN_ABNORMAL_PHI(name)) return;
  index_[name] = values_.size();
  values_.push_back({name, NULL_TREE, NULL_TREE, NULL_TREE, false});
}

void MissingValues::note(const End& end) {
  const bool is_noted = std::any_of(ends_.begin(), ends_.end(), [&](const End& each) {
    return each.stmt == end.stmt && each.value == end.value;
  });
  if (!is_noted) ends_.push_back(end);
}

tree MissingValues::token_of(tree name) const {
  return TREE_CODE(name) == SSA_NAME && is_known(name) ? value_of(name).token : null_token();
}

tree MissingValues::token_at(const End& end) const {
  const Value& value = value_of(end.value);
  gimple_seq code = nullptr;
  tree token = value.token;
  if (value.variable != NULL_TREE) token = placed_token(value, end.stmt, &code);
  const auto same = same_.find(end.stmt);
  if (same != same_.end()) token = deciding_token(same->second, token, &code);
  auto at = gsi_for_stmt(end.stmt);
  gsi_insert_seq_before(&at, code, GSI_SAME_STMT);
  return token;
}

// If it tells no line yet, that of the statement.
tree MissingValues::placed_token(const Value& value, gimple* stmt, gimple_seq* code) {
  const tree place = place_text(stmt, value.variable);
  return choose_token(value.token, value.lineless, place, value.token, code);
}

// Of a branch whose ways may be the same: then nothing is decided.
tree MissingValues::deciding_token(tree is_same, tree token, gimple_seq* code) {
  return choose_token(is_same, boolean_true_node, null_token(), token, code);
}

// An operand whose token tells no line; null: none.
const MissingValues::Value* MissingValues::lineless_operand(gimple* stmt) const {
  if (auto* const phi = dyn_cast<gphi*>(stmt)) {
    for (unsigned index = 0; index < gimple_phi_num_args(phi); ++index) {
      const tree value = gimple_phi_arg_def(phi, index);
      if (TREE_CODE(value) != SSA_NAME || !is_known(value)) continue;
      if (value_of(value).variable != NULL_TREE) return &value_of(value);
    }
    return nullptr;
  }
  ssa_op_iter operands;
  tree value;
  FOR_EACH_SSA_TREE_OPERAND(value, stmt, operands, SSA_OP_USE) {
    if (is_known(value) && value_of(value).variable != NULL_TREE) return &value_of(value);
  }
  return nullptr;
}

void MissingValues::find_lineless() {
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (Value& value : values_) {
      if (value.is_first || value.variable != NULL_TREE) continue;
      gimple* const made = SSA_NAME_DEF_STMT(value.name);
      const auto source = sources_.find(value.name);
      if (source == sources_.end() && !is_copy(made)) continue;
      const Value* const operand =
          source == sources_.end() ? lineless_operand(made) : &value_of(source->second);
      if (operand == nullptr || operand->variable == NULL_TREE) continue;
      value.variable = operand->variable;
      value.lineless = operand->lineless;
      has_changed = true;
    }
  }
}

void MissingValues::make_tokens() {
  find_lineless();
  for (Value& value : values_) {
    if (!value.is_first) value.token = make_ssa_name(token_type());
  }
  for (auto& [branch, is_same] : same_) is_same = compare_ways(branch);
  for (gimple* branch : branches_.branches()) branches_.set_token(branch, compute_token(branch));
  for (Value& value : values_) add_choice(&value);
  for (const Value& value : values_) {
    if (value.is_first) continue;
    gimple* const made = SSA_NAME_DEF_STMT(value.name);
    if (auto* const phi = dyn_cast<gphi*>(made)) {
      join_tokens(phi, value.token);
    } else {
      compute_token(made, value.token);
    }
  }
}

// What chose the address of a value that has a token of its own.
void MissingValues::add_choice(Value* value) {
  const auto chosen = chosen_.find(value->name);
  if (!value->is_first || chosen == chosen_.end()) return;
  gimple_seq code = nullptr;
  const tree token = token_of(chosen->second);
  value->token = first_token(token, value->token, &code);
  auto at = gsi_for_stmt(SSA_NAME_DEF_STMT(value->name));
  gsi_insert_seq_after(&at, code, GSI_CONTINUE_LINKING);
}

void MissingValues::set_indices() {
  for (const Value& value : values_) {
    const tree index = value.name;
    if (indices_.count(index) == 0) continue;
    const tree token = token_of(index);
    gimple* const made = SSA_NAME_DEF_STMT(index);
    if (TREE_CODE(token) != SSA_NAME || gimple_nop_p(made) || stmt_ends_bb_p(made)) continue;
    const tree set = make_ssa_name(TREE_TYPE(index));
    replace_uses_by(index, set);
    gimple_seq code = nullptr;
    const tree is_set = make_ssa_name(boolean_type_node);
    gimple_seq_add_stmt(&code, gimple_build_assign(is_set, EQ_EXPR, token, null_token()));
    gimple_seq_add_stmt(&code, gimple_build_assign(set, COND_EXPR, is_set, index,
                                                   build_zero_cst(TREE_TYPE(index))));
    if (gimple_code(made) == GIMPLE_PHI) {
      auto at = gsi_after_labels(gimple_bb(made));
      gsi_insert_seq_before(&at, code, GSI_SAME_STMT);
      continue;
    }
    const bool is_behind = !value.is_first || chosen_.count(index) != 0;
    auto at = gsi_for_stmt(is_behind ? SSA_NAME_DEF_STMT(token) : made);
    gsi_insert_seq_after(&at, code, GSI_SAME_STMT);
  }
}

void MissingValues::join_tokens(gphi* phi, tree token) {
  gphi* const tokens = create_phi_node(token, gimple_bb(phi));
  for (unsigned index = 0; index < gimple_phi_num_args(phi); ++index) {
    const edge way = gimple_phi_arg_edge(phi, index);
    const tree token = token_of(gimple_phi_arg_def(phi, index));
    add_phi_arg(tokens, branches_.token_on(way, phi, token), way, UNKNOWN_LOCATION);
  }
}

tree MissingValues::operand_token(gimple* stmt, tree operand, gimple_seq* code) const {
  const Value& value = value_of(operand);
  const bool has_line = value.variable == NULL_TREE || is_copy(stmt);
  const tree token = has_line ? value.token : placed_token(value, stmt, code);
  const Mask mask = mask_of(stmt, operand);
  if (mask.mask == NULL_TREE) return token;
  // A mask without a value hides nothing.
  const tree other = token_of(mask.mask);
  const tree hidden =
      other == null_token() ? other : choose_token(other, null_token(), other, token, code);
  return choose_token(mask.mask, mask.neutral, hidden, token, code);
}

// That of the first operand that is missing.
tree MissingValues::joined_token(gimple* stmt, const std::vector<tree>& operands, tree found,
                                 gimple_seq* code) const {
  for (tree operand : operands) {
    found = first_token(found, operand_token(stmt, operand, code), code);
  }
  return found;
}

std::vector<tree> MissingValues::known_operands(gimple* stmt) const {
  std::vector<tree> known;
  ssa_op_iter operands;
  tree operand;
  FOR_EACH_SSA_TREE_OPERAND(operand, stmt, operands, SSA_OP_USE) {
    if (is_known(operand) && use_of(stmt, operand) != Use::kNone) known.push_back(operand);
  }
  return known;
}

// Before the branch: whether its ways are the same.
tree MissingValues::compare_ways(gimple* branch) const {
  gimple_seq code = nullptr;
  const tree token = joined_token(branch, known_operands(branch), null_token(), &code);
  const tree is_same = outcome_of(branch).compute(token, &code);
  auto at = gsi_for_stmt(branch);
  gsi_insert_seq_before(&at, code, GSI_SAME_STMT);
  return is_same;
}

// Of what decides the branch.
tree MissingValues::compute_token(gimple* branch) const {
  gimple_seq code = nullptr;
  tree token = joined_token(branch, known_operands(branch), null_token(), &code);
  const auto same = same_.find(branch);
  if (same != same_.end()) token = deciding_token(same->second, token, &code);
  auto at = gsi_for_stmt(branch);
  gsi_insert_seq_before(&at, code, GSI_SAME_STMT);
  return token;
}

// Of a choice, only the chosen value matters, and what chooses.
void MissingValues::compute_token(gimple* stmt, tree token) {
  gimple_seq code = nullptr;
  const auto source = sources_.find(gimple_get_lhs(stmt));
  tree found = source == sources_.end() ? null_token() : token_of(source->second);
  std::vector<tree> operands = known_operands(stmt);
  if (is_gimple_assign(stmt) && gimple_assign_rhs_code(stmt) == COND_EXPR) {
    const tree yes = gimple_assign_rhs2(stmt), no = gimple_assign_rhs3(stmt);
    const tree chosen = make_ssa_name(token_type());
    gimple_seq_add_stmt(
        &code, gimple_build_assign(chosen, COND_EXPR, unshare_expr(gimple_assign_rhs1(stmt)),
                                   token_of(yes), token_of(no)));
    found = chosen;
    const auto is_chosen = [&](tree each) { return each == yes || each == no; };
    operands.erase(std::remove_if(operands.begin(), operands.end(), is_chosen), operands.end());
  }
  found = joined_token(stmt, operands, found, &code);
  gimple_seq_add_stmt(&code, gimple_build_assign(token, found));
  auto at = gsi_for_stmt(stmt);
  gsi_insert_seq_after(&at, code, GSI_CONTINUE_LINKING);
}

}  // namespace tandem::loop_checks
