// SPDX-License-Identifier: Apache-2.0
//
// What is not known of a statement counts as a use.
#include "bitstreams/compiler/loop_checks/value_uses.h"

#include "bitstreams/compiler/loop_checks/place_text.h"
#include "bitstreams/compiler/loop_checks/pure_calls.h"
#include "bitstreams/compiler/loop_checks/stored_values.h"

namespace tandem::loop_checks {
namespace {

Use use_in_call(gcall* call) {
  const bool has_result =
      gimple_call_lhs(call) != NULL_TREE && TREE_CODE(gimple_call_lhs(call)) == SSA_NAME;
  if (gimple_call_internal_p(call)) return has_result ? Use::kPasses : Use::kNone;
  const tree function = gimple_call_fndecl(call);
  if (function == NULL_TREE || DECL_NAME(function) == NULL_TREE) return Use::kUses;
  const char* const name = IDENTIFIER_POINTER(DECL_NAME(function));
  if (starts_with(name, "tandem_") || starts_with(name, "__ubsan_")) return Use::kNone;
  if (has_result && only_computes_result(call)) return Use::kPasses;
  if (is_mathematical(call)) return has_result ? Use::kPasses : Use::kNone;
  const bool only_computes = gimple_call_builtin_p(call, BUILT_IN_NORMAL) && has_result &&
                             (gimple_call_flags(call) & ECF_CONST) != 0 && !stmt_ends_bb_p(call);
  return only_computes ? Use::kPasses : Use::kUses;
}

// Of a shift to the left the missing bits may leave the number.
bool is_bit_function(tree function) {
  if (function == NULL_TREE || TREE_CODE(function) != FUNCTION_DECL) return false;
  if (DECL_NAME(function) == NULL_TREE) return false;
  const char* const file = DECL_SOURCE_FILE(function);
  if (file == nullptr || std::strstr(file, "/ap_") == nullptr) return false;
  const char* const name = IDENTIFIER_POINTER(DECL_NAME(function));
  for (const char* each :
       {"put_bits", "put", "set_bit", "insert", "cut_top", "operator<<", "operator<<="}) {
    if (std::strcmp(name, each) == 0) return true;
  }
  const tree scope = DECL_CONTEXT(function);
  if (scope == NULL_TREE || !TYPE_P(scope) || TYPE_IDENTIFIER(scope) == NULL_TREE) return false;
  return std::strcmp(IDENTIFIER_POINTER(TYPE_IDENTIFIER(scope)), "ap_concat_ref") == 0;
}

// The operand of a statement that only moves or drops bits; null: it does more.
tree moved(gimple* stmt) {
  if (!is_gimple_assign(stmt)) return NULL_TREE;
  const tree_code code = gimple_assign_rhs_code(stmt);
  const bool is_moved =
      code == SSA_NAME || CONVERT_EXPR_CODE_P(code) ||
      (code == BIT_AND_EXPR && TREE_CODE(gimple_assign_rhs2(stmt)) == INTEGER_CST);
  const tree from = is_moved ? gimple_assign_rhs1(stmt) : NULL_TREE;
  return from != NULL_TREE && TREE_CODE(from) == SSA_NAME ? from : NULL_TREE;
}

tree origin_of(tree value) {
  for (tree from = value; from != NULL_TREE; from = moved(SSA_NAME_DEF_STMT(value))) value = from;
  return value;
}

// Whether `value` is `result` of the turn before, through joins and copies.
bool comes_from(tree value, tree result) {
  constexpr size_t kMost = 32;
  std::vector<tree> seen = {origin_of(value)};
  for (size_t at = 0; at < seen.size() && seen.size() < kMost; ++at) {
    if (seen[at] == result) return true;
    auto* const phi = dyn_cast<gphi*>(SSA_NAME_DEF_STMT(seen[at]));
    for (unsigned index = 0; phi != nullptr && index < gimple_phi_num_args(phi); ++index) {
      const tree each = gimple_phi_arg_def(phi, index);
      if (TREE_CODE(each) != SSA_NAME) continue;
      const tree origin = origin_of(each);
      if (std::find(seen.begin(), seen.end(), origin) == seen.end()) seen.push_back(origin);
    }
  }
  return false;
}

// Whether `result`, or it without some bits, is stored there.
bool is_stored_at(tree result, tree place, int depth) {
  constexpr int kMostSteps = 4;
  imm_use_iterator uses;
  use_operand_p use;
  FOR_EACH_IMM_USE_FAST(use, uses, result) {
    gimple* const stmt = USE_STMT(use);
    if (gimple_assign_single_p(stmt) && gimple_store_p(stmt)) {
      if (are_same_place(gimple_get_lhs(stmt), place)) return true;
    } else if (moved(stmt) != NULL_TREE && depth < kMostSteps) {
      if (is_stored_at(gimple_get_lhs(stmt), place, depth + 1)) return true;
    }
  }
  return false;
}

// Whether `result` is stored where `value` was read.
bool replaces(tree value, tree result) {
  gimple* const load = SSA_NAME_DEF_STMT(origin_of(value));
  return gimple_assign_load_p(load) && is_stored_at(result, gimple_assign_rhs1(load), 0);
}

bool is_shift(gimple* stmt) {
  const tree_code code = gimple_assign_rhs_code(stmt);
  return code == LSHIFT_EXPR ||
         (code == RSHIFT_EXPR && TYPE_UNSIGNED(TREE_TYPE(gimple_assign_lhs(stmt))));
}

// `bits = bits << 8 | next`: bits that are missing leave the number. So do those of an unsigned one
// to the right.
bool shifts_in(gassign* stmt, tree value) {
  if (gimple_assign_rhs_code(stmt) != BIT_IOR_EXPR) return false;
  gimple* const shift = SSA_NAME_DEF_STMT(origin_of(value));
  if (!is_gimple_assign(shift) || !is_shift(shift)) return false;
  const tree shifted = gimple_assign_rhs1(shift), result = gimple_assign_lhs(stmt);
  if (TREE_CODE(shifted) != SSA_NAME) return false;
  return comes_from(shifted, result) || replaces(shifted, result);
}

// The variable that a pointer points into, which may move on in a loop. Null: it is not known.
tree pointed_variable(tree pointer) {
  constexpr size_t kMost = 16;
  std::vector<tree> seen = {pointer};
  tree found = NULL_TREE;
  for (size_t at = 0; at < seen.size(); ++at) {
    if (seen.size() > kMost) return NULL_TREE;
    std::vector<tree> before = {seen[at]};
    if (TREE_CODE(seen[at]) == SSA_NAME) {
      gimple* const made = SSA_NAME_DEF_STMT(seen[at]);
      auto* const phi = dyn_cast<gphi*>(made);
      if (phi == nullptr && !is_gimple_assign(made)) return NULL_TREE;
      before.clear();
      for (unsigned index = 0; phi != nullptr && index < gimple_phi_num_args(phi); ++index) {
        before.push_back(gimple_phi_arg_def(phi, index));
      }
      if (phi == nullptr) before.push_back(gimple_assign_rhs1(made));
    } else if (TREE_CODE(seen[at]) == ADDR_EXPR) {
      const tree base = get_base_address(TREE_OPERAND(seen[at], 0));
      if (found != NULL_TREE && base != found) return NULL_TREE;
      found = base;
    } else {
      return NULL_TREE;
    }
    for (tree each : before) {
      if (std::find(seen.begin(), seen.end(), each) == seen.end()) seen.push_back(each);
    }
  }
  return found;
}

// Data may be 0 by chance; a constant table says that the other factor does not matter.
bool is_coefficient(tree value) {
  gimple* const load = SSA_NAME_DEF_STMT(value);
  if (!gimple_assign_load_p(load)) return false;
  tree table = get_base_address(gimple_assign_rhs1(load));
  if (table != NULL_TREE && TREE_CODE(table) == MEM_REF) {
    table = pointed_variable(TREE_OPERAND(table, 0));
  } else if (table != NULL_TREE && TREE_CODE(table) == TARGET_MEM_REF) {
    table = pointed_variable(TMR_BASE(table));
  }
  if (table == NULL_TREE || !VAR_P(table)) return false;
  return TREE_READONLY(table) || TYPE_READONLY(strip_array_types(TREE_TYPE(table)));
}

Use use_in_assign(gassign* stmt, tree value) {
  if (TREE_CODE(gimple_assign_lhs(stmt)) != SSA_NAME) {
    const bool is_stored = gimple_assign_single_p(stmt) && gimple_assign_rhs1(stmt) == value;
    return is_stored ? Use::kStores : Use::kUses;
  }
  if (gimple_assign_load_p(stmt) || stmt_ends_bb_p(stmt)) return Use::kUses;
  if (shifts_in(stmt, value)) return Use::kNone;
  switch (gimple_assign_rhs_code(stmt)) {
    case BIT_INSERT_EXPR:  // the other part is there
    case COMPLEX_EXPR:
    case CONSTRUCTOR:
      return Use::kNone;
    default:
      return Use::kPasses;
  }
}

}  // namespace

Use use_of(gimple* stmt, tree value) {
  if (is_gimple_debug(stmt) || gimple_clobber_p(stmt)) return Use::kNone;
  if (gimple_code(stmt) == GIMPLE_PHI) return Use::kPasses;
  if (sets_bits(stmt)) return Use::kNone;
  if (auto* const call = dyn_cast<gcall*>(stmt)) return use_in_call(call);
  if (auto* const assign = dyn_cast<gassign*>(stmt)) return use_in_assign(assign, value);
  return Use::kUses;
}

bool sets_bits(gimple* stmt) {
  if (is_bit_function(current_function_decl)) return true;
  for (tree block = inlined_scope(gimple_block(stmt)); block != NULL_TREE;
       block = inlined_scope(BLOCK_SUPERCONTEXT(block))) {
    if (is_bit_function(block_ultimate_origin(block))) return true;
  }
  return false;
}

bool is_mathematical(gimple* call) {
  if (!gimple_call_builtin_p(call, BUILT_IN_NORMAL) || stmt_ends_bb_p(call)) return false;
  bool has_fraction = false;
  for (unsigned index = 0; index < gimple_call_num_args(call); ++index) {
    const tree type = TREE_TYPE(gimple_call_arg(call, index));
    if (!SCALAR_FLOAT_TYPE_P(type) && !INTEGRAL_TYPE_P(type)) return false;
    has_fraction = has_fraction || SCALAR_FLOAT_TYPE_P(type);
  }
  return has_fraction;
}

Mask mask_of(gimple* stmt, tree value) {
  if (!is_gimple_assign(stmt) || gimple_num_ops(stmt) != 3) return {};
  const tree type = TREE_TYPE(gimple_assign_lhs(stmt));
  if (!INTEGRAL_TYPE_P(type)) return {};
  const tree_code code = gimple_assign_rhs_code(stmt);
  const bool is_or = code == BIT_IOR_EXPR && TYPE_PRECISION(type) == 1;
  if (!is_or && code != BIT_AND_EXPR && code != MULT_EXPR) return {};
  const tree one = gimple_assign_rhs1(stmt), other = gimple_assign_rhs2(stmt);
  const tree mask = one == value ? other : one;
  if (mask == value || TREE_CODE(mask) != SSA_NAME) return {};
  const bool is_condition = TYPE_PRECISION(TREE_TYPE(origin_of(mask))) == 1;
  const bool is_mask = code == BIT_AND_EXPR || is_condition ||
                       (code == MULT_EXPR && is_coefficient(origin_of(mask)));
  if (!is_mask) return {};
  return {mask, is_or ? build_one_cst(type) : build_zero_cst(type)};
}

}  // namespace tandem::loop_checks
