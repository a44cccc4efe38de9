// SPDX-License-Identifier: Apache-2.0
//
// Without code, names stand for their copies, and any value that is not known for "perhaps".
#include "bitstreams/compiler/loop_checks/same_outcome.h"

#include "bitstreams/compiler/loop_checks/choices.h"
#include "bitstreams/compiler/loop_checks/stored_values.h"
#include "bitstreams/compiler/loop_checks/tokens.h"

namespace tandem::loop_checks {
namespace {

constexpr int kMostConditions = 3;
constexpr HOST_WIDE_INT kMostBytes = 16;

// A boolean that is not known.
tree unknown() { return boolean_type_node; }

bool is_false(tree value) { return value == NULL_TREE || integer_zerop(value); }

// Whether only this way leads to the block, and nothing is done there but to compute.
bool may_pass(basic_block block) {
  if (!single_pred_p(block) || block == EXIT_BLOCK_PTR_FOR_FN(cfun)) return false;
  for (auto at = gsi_start_phis(block); !gsi_end_p(at); gsi_next(&at)) {
    if (!virtual_operand_p(gimple_phi_result(at.phi()))) return false;
  }
  for (auto at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
    if (!only_computes(gsi_stmt(at))) return false;
  }
  edge way;
  edge_iterator edges;
  FOR_EACH_EDGE(way, edges, block->succs) {
    if ((way->flags & EDGE_COMPLEX) != 0) return false;
  }
  return true;
}

bool is_empty(basic_block block) { return gsi_end_p(gsi_start_nondebug_after_labels_bb(block)); }

// Behind blocks without statements.
edge last_of(edge way) {
  while (may_pass(way->dest) && is_empty(way->dest) && single_succ_p(way->dest)) {
    way = single_succ_edge(way->dest);
  }
  return way;
}

// Whether the statement may be done where the function does not do it.
bool is_safe(gassign* stmt) {
  if (gimple_has_volatile_ops(stmt) || gimple_vdef(stmt) != NULL_TREE) return false;
  if (TREE_CODE(gimple_assign_lhs(stmt)) != SSA_NAME) return false;
  const tree_code code = gimple_assign_rhs_code(stmt);
  const bool divides = TREE_CODE_CLASS(code) == tcc_binary &&
                       INTEGRAL_TYPE_P(TREE_TYPE(gimple_assign_lhs(stmt))) &&
                       operation_could_trap_p(code, false, false, gimple_assign_rhs2(stmt));
  return !divides && !stmt_ends_bb_p(stmt);
}

bool is_whole_bytes(tree place) {
  if (TREE_CODE(place) == COMPONENT_REF) return !DECL_BIT_FIELD(TREE_OPERAND(place, 1));
  return TREE_CODE(place) == ARRAY_REF || TREE_CODE(place) == MEM_REF || DECL_P(place) ||
         TREE_CODE(place) == TARGET_MEM_REF;
}

bool has_fixed_place(tree place) {
  for (; handled_component_p(place); place = TREE_OPERAND(place, 0)) {
    if (TREE_CODE(place) == ARRAY_REF && TREE_CODE(TREE_OPERAND(place, 1)) != INTEGER_CST) {
      return false;
    }
  }
  return DECL_P(place) ||
         (TREE_CODE(place) == MEM_REF && TREE_CODE(TREE_OPERAND(place, 0)) == ADDR_EXPR);
}

// An operand with the value of an expression.
tree simple(tree expression, gimple_seq* code) {
  gimple_seq more = nullptr;
  const tree operand = force_gimple_operand(expression, &more, true, NULL_TREE);
  gimple_seq_add_seq(code, more);
  return operand;
}

// tandem_probe(token, address, bytes): the address if the token is not null and the bytes are
// accessible and have values.
gcall* call_of_probe(tree token, tree pointer, tree bytes) {
  const tree type =
      build_function_type_list(ptr_type_node, token_type(), ptr_type_node, sizetype, NULL_TREE);
  return gimple_build_call(card_function("tandem_probe", type), 3, token, pointer, bytes);
}

}  // namespace

bool SameOutcome::is_possible() {
  if (gimple_code(branch_) != GIMPLE_COND) return false;
  code_ = nullptr;
  return !is_false(ways_are_same());
}

tree SameOutcome::compute(tree token, gimple_seq* code) {
  token_ = token;
  code_ = code;
  return ways_are_same();
}

tree SameOutcome::ways_are_same() {
  edge yes, no;
  extract_true_false_edges_from_block(gimple_bb(branch_), &yes, &no);
  for (const auto& [way, other] : {std::pair(yes, no), std::pair(no, yes)}) {
    const tree same = leads_to(way, last_of(other), 0);
    if (!is_false(same)) return same;
  }
  return boolean_false_node;
}

// Whether the way leads to where `other` does, with the same values.
tree SameOutcome::leads_to(edge way, edge other, int depth) {
  if (way->dest == other->dest) return are_equal_there(way, other);
  if (!may_pass(way->dest)) return boolean_false_node;
  return goes_on_to(way->dest, other, depth);
}

tree SameOutcome::goes_on_to(basic_block block, edge other, int depth) {
  passed_.push_back(block);
  if (single_succ_p(block)) return leads_to(single_succ_edge(block), other, depth);
  auto* const condition = safe_dyn_cast<gcond*>(last_stmt(block));
  if (condition == nullptr || depth == kMostConditions) return boolean_false_node;
  edge yes, no;
  extract_true_false_edges_from_block(block, &yes, &no);
  const tree if_yes = leads_to(yes, other, depth + 1), if_no = leads_to(no, other, depth + 1);
  if (is_false(if_yes) && is_false(if_no)) return boolean_false_node;
  const tree found =
      compare(gimple_cond_code(condition), gimple_cond_lhs(condition), gimple_cond_rhs(condition));
  return found == NULL_TREE ? boolean_false_node : both(choose(found, if_yes, if_no), is_right_);
}

// Sets `is_right_` too. Null: it cannot be computed before the branch.
tree SameOutcome::compare(tree_code code, tree one, tree other) {
  is_right_ = boolean_true_node;
  const tree left = copy_of(one), right = copy_of(other);
  return left == NULL_TREE || right == NULL_TREE ? NULL_TREE : add(code, left, right);
}

tree SameOutcome::are_equal_there(edge way, edge other) {
  tree all = boolean_true_node;
  for (auto at = gsi_start_phis(way->dest); !gsi_end_p(at); gsi_next(&at)) {
    gphi* const phi = at.phi();
    if (virtual_operand_p(gimple_phi_result(phi))) continue;
    all = both(all, are_equal(PHI_ARG_DEF_FROM_EDGE(phi, way), PHI_ARG_DEF_FROM_EDGE(phi, other)));
  }
  return all;
}

// Of numbers it is too seldom that they are the same.
tree SameOutcome::are_equal(tree value, tree other) {
  if (operand_equal_p(value, other, 0)) return boolean_true_node;
  const tree type = TREE_TYPE(value);
  if (CONSTANT_CLASS_P(value) && CONSTANT_CLASS_P(other)) return boolean_false_node;
  if (!INTEGRAL_TYPE_P(type) || TYPE_PRECISION(type) != 1) return boolean_false_node;
  const tree found = compare(EQ_EXPR, value, other);
  return found == NULL_TREE ? boolean_false_node : both(found, is_right_);
}

bool SameOutcome::is_passed(tree value) const {
  const basic_block block = gimple_bb(SSA_NAME_DEF_STMT(value));
  return std::find(passed_.begin(), passed_.end(), block) != passed_.end();
}

// Null: it cannot be computed before the branch.
tree SameOutcome::copy_of(tree value) {
  if (TREE_CODE(value) != SSA_NAME) return is_gimple_min_invariant(value) ? value : NULL_TREE;
  if (SSA_NAME_IS_DEFAULT_DEF(value) || !is_passed(value)) {
    is_right_ = both(is_right_, has_value(value));
    return value;
  }
  const auto known = copies_.find(value);
  if (known == copies_.end()) make_copy(value);
  const Copy& copy = copies_.at(value);
  is_right_ = both(is_right_, copy.is_right);
  return copy.value;
}

void SameOutcome::make_copy(tree value) {
  const tree others = is_right_;
  is_right_ = boolean_true_node;
  auto* const made = dyn_cast<gassign*>(SSA_NAME_DEF_STMT(value));
  const tree copy = made == nullptr || !is_safe(made) ? NULL_TREE
                    : gimple_assign_load_p(made)      ? copy_load(made)
                                                      : copy_statement(made);
  copies_[value] = {copy, is_right_};
  is_right_ = others;
}

tree SameOutcome::has_value(tree value) {
  const tree token = code_ == nullptr ? null_token() : token_of_(value);
  return token == null_token() ? boolean_true_node : add(EQ_EXPR, token, null_token());
}

tree SameOutcome::copy_statement(gassign* stmt) {
  auto* const copy = as_a<gassign*>(gimple_copy(stmt));
  for (unsigned index = 1; index < gimple_num_ops(stmt); ++index) {
    const tree operand = copy_place(gimple_op(stmt, index));
    if (operand == NULL_TREE) return NULL_TREE;
    gimple_set_op(copy, index, operand);
  }
  if (code_ == nullptr) return gimple_assign_lhs(stmt);
  if (gimple_has_mem_ops(copy)) gimple_set_vuse(copy, NULL_TREE);
  const tree result = make_ssa_name(TREE_TYPE(gimple_assign_lhs(stmt)));
  gimple_assign_set_lhs(copy, result);
  gimple_seq_add_stmt(code_, copy);
  return result;
}

tree SameOutcome::copy_load(gassign* load) {
  const tree place = gimple_assign_rhs1(load);
  if (is_hidden(place)) {
    const bool is_set = code_ == nullptr || token_of_(gimple_assign_lhs(load)) == null_token();
    return is_set && has_fixed_place(place) ? copy_statement(load) : NULL_TREE;
  }
  const tree type = TREE_TYPE(place);
  const HOST_WIDE_INT bytes = int_size_in_bytes(type);
  if (!is_checked_ || bytes <= 0 || bytes > kMostBytes || !is_whole_bytes(place)) return NULL_TREE;
  const tree copy = copy_place(place);
  if (copy == NULL_TREE || code_ == nullptr)
    return copy == NULL_TREE ? copy : gimple_assign_lhs(load);
  const tree pointer = simple(build_fold_addr_expr(copy), code_);
  const tree readable = make_ssa_name(ptr_type_node), from = make_ssa_name(ptr_type_node);
  gcall* const probe = call_of_probe(token_, pointer, build_int_cst(sizetype, bytes));
  gimple_call_set_lhs(probe, readable);
  gimple_seq_add_stmt(code_, probe);
  const tree is_readable = add(NE_EXPR, readable, null_token());
  is_right_ = both(is_right_, is_readable);
  static const char zeros[kMostBytes] = {};
  const tree instead =
      simple(fold_convert(ptr_type_node, build_string_literal(kMostBytes, zeros)), code_);
  gimple_seq_add_stmt(code_, gimple_build_assign(from, COND_EXPR, is_readable, readable, instead));
  const tree value = build2(MEM_REF, build_aligned_type(type, BITS_PER_UNIT), from,
                            build_int_cst(ptr_type_node, 0));
  const tree result = make_ssa_name(TREE_TYPE(gimple_assign_lhs(load)));
  gimple_seq_add_stmt(code_, gimple_build_assign(result, value));
  return result;
}

// An operand or a place, with the copies of its names. Null: it cannot be computed there.
tree SameOutcome::copy_place(tree place) {
  struct Walk {
    SameOutcome* self;
    bool has_failed;
  } walk = {this, false};
  tree copy = unshare_expr(place);
  const auto replace = [](tree* at, int* has_more, void* data) -> tree {
    auto* const state = static_cast<Walk*>(data);
    if (TREE_CODE(*at) != SSA_NAME) return NULL_TREE;
    *has_more = 0;
    const tree found = state->self->copy_of(*at);
    state->has_failed = state->has_failed || found == NULL_TREE;
    if (found != NULL_TREE) *at = found;
    return NULL_TREE;
  };
  walk_tree(&copy, replace, &walk, nullptr);
  return walk.has_failed ? NULL_TREE : copy;
}

tree SameOutcome::choose(tree condition, tree yes, tree no) {
  if (yes == no) return yes;
  if (code_ == nullptr) return condition;
  const tree result = make_ssa_name(boolean_type_node);
  gimple_seq_add_stmt(code_, gimple_build_assign(result, COND_EXPR, condition, yes, no));
  return result;
}

tree SameOutcome::both(tree one, tree other) {
  if (is_false(one) || is_false(other)) return boolean_false_node;
  if (integer_onep(one)) return other;
  return integer_onep(other) ? one : add(BIT_AND_EXPR, one, other);
}

// Without code, a boolean that is not known.
tree SameOutcome::add(tree_code code, tree one, tree other) {
  if (code_ == nullptr) return unknown();
  const tree result = make_ssa_name(boolean_type_node);
  gimple_seq_add_stmt(code_, gimple_build_assign(result, code, one, other));
  return result;
}

}  // namespace tandem::loop_checks
