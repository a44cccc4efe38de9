// SPDX-License-Identifier: Apache-2.0
//
// What is not known counts as any place of its variable.
#include "bitstreams/compiler/loop_checks/stored_values.h"

#include "bitstreams/compiler/loop_checks/statements.h"

namespace tandem::loop_checks {
namespace {

struct Extent {
  tree base = NULL_TREE;  // null: it is not known
  HOST_WIDE_INT begin = 0, end = 0;
  bool overlaps(const Extent& other) const {
    return base == other.base && begin < other.end && other.begin < end;
  }
  bool is_inside(const Extent& other) const { return begin >= other.begin && end <= other.end; }
};

Extent extent_of(tree reference) {
  poly_int64 offset, size, most;
  bool is_reverse = false;
  Extent extent;
  const tree base = get_ref_base_and_extent(reference, &offset, &size, &most, &is_reverse);
  HOST_WIDE_INT bits = 0;
  if (base == NULL_TREE || !known_eq(size, most) || !offset.is_constant(&extent.begin) ||
      !size.is_constant(&bits)) {
    return {base, 0, HOST_WIDE_INT_MAX};
  }
  extent.base = base;
  extent.end = extent.begin + bits;
  return extent;
}

// Whether the load reads what the store left: no other store to these bytes lies between them.
bool reads_from(gimple* load, gimple* store, const Extent& stored) {
  constexpr int kMostSteps = 200;
  tree memory = gimple_vuse(load);
  for (int step = 0; step < kMostSteps && memory != NULL_TREE; ++step) {
    gimple* const before = SSA_NAME_DEF_STMT(memory);
    if (before == store) return true;
    if (gimple_nop_p(before) || gimple_code(before) == GIMPLE_PHI) return false;
    const tree result = gimple_get_lhs(before);
    const bool is_store = result != NULL_TREE && TREE_CODE(result) != SSA_NAME;
    if (is_store && extent_of(result).overlaps(stored)) return false;
    memory = gimple_vuse(before);
  }
  return false;
}

// A number of which other bits were set, as of a bit field, counts as set.
bool reads_other_bits(gimple* load, const Extent& stored) {
  const tree result = gimple_assign_lhs(load);
  if (TREE_CODE(result) != SSA_NAME || !INTEGRAL_TYPE_P(TREE_TYPE(result))) return false;
  const Extent loaded = extent_of(gimple_assign_rhs1(load));
  return loaded.end != HOST_WIDE_INT_MAX && !loaded.is_inside(stored);
}

// Whether the statement is done before the other whenever that is done.
bool is_before(gimple* stmt, gimple* other) {
  if (gimple_bb(stmt) != gimple_bb(other)) {
    return dominated_by_p(CDI_DOMINATORS, gimple_bb(other), gimple_bb(stmt));
  }
  auto at = gsi_for_stmt(stmt);
  while (!gsi_end_p(at) && gsi_stmt(at) != other) gsi_next(&at);
  return !gsi_end_p(at);
}

// Whether all other stores to these bytes are done before it: then no load behind reads theirs.
bool is_last_store(gimple* store, const Extent& stored) {
  calculate_dominance_info(CDI_DOMINATORS);
  return !has_statement([&](gimple* stmt) {
    const tree result = gimple_get_lhs(stmt);
    const bool is_store = result != NULL_TREE && TREE_CODE(result) != SSA_NAME;
    if (stmt == store || !is_store || gimple_clobber_p(stmt)) return false;
    return extent_of(result).overlaps(stored) && !is_before(stmt, store);
  });
}

}  // namespace

bool are_same_place(tree one, tree other) {
  if (operand_equal_p(one, other, OEP_ADDRESS_OF)) return true;
  const Extent first = extent_of(one), second = extent_of(other);
  return first.base != NULL_TREE && DECL_P(first.base) && first.end != HOST_WIDE_INT_MAX &&
         first.base == second.base && first.begin == second.begin && first.end == second.end;
}

Part whole_of(gimple* store) {
  return {0, std::max<HOST_WIDE_INT>(int_size_in_bytes(TREE_TYPE(gimple_get_lhs(store))), 0)};
}

Part part_in(gimple* load, gimple* store, const Part& part) {
  const Extent stored = extent_of(gimple_get_lhs(store)),
               loaded = extent_of(gimple_assign_rhs1(load));
  const Part whole = whole_of(load);
  const HOST_WIDE_INT bits = stored.begin - loaded.begin;
  const bool is_known = stored.end != HOST_WIDE_INT_MAX && loaded.end != HOST_WIDE_INT_MAX;
  if (!is_known || bits % BITS_PER_UNIT != 0 || part.bytes == 0) return whole;
  const Part found = {part.offset + bits / BITS_PER_UNIT, part.bytes};
  return found.offset < 0 || found.offset + found.bytes > whole.bytes ? whole : found;
}

tree address_of(tree target, const Part& part) {
  const tree pointer = build_fold_addr_expr(unshare_expr(target));
  return part.offset == 0 ? pointer : fold_build_pointer_plus_hwi(pointer, part.offset);
}

bool reads_state_at(gimple* load, gimple* check) {
  constexpr int kMostSteps = 200;
  const tree place = gimple_assign_rhs1(load);
  tree memory = gimple_vuse(load);
  for (int step = 0; step < kMostSteps && memory != NULL_TREE; ++step) {
    gimple* const before = SSA_NAME_DEF_STMT(memory);
    if (gimple_nop_p(before) || is_before(before, check)) return true;
    if (gimple_code(before) == GIMPLE_PHI) return false;
    if (gimple_store_p(before) && stmt_may_clobber_ref_p(before, place)) return false;
    memory = gimple_vuse(before);
  }
  return false;
}

tree pointed_root(tree pointer) {
  while (TREE_CODE(pointer) == SSA_NAME && is_gimple_assign(SSA_NAME_DEF_STMT(pointer))) {
    gimple* const made = SSA_NAME_DEF_STMT(pointer);
    const tree_code code = gimple_assign_rhs_code(made);
    const bool is_moved = code == POINTER_PLUS_EXPR || CONVERT_EXPR_CODE_P(code) ||
                          code == SSA_NAME || code == ADDR_EXPR;
    if (!is_moved) return pointer;
    pointer = gimple_assign_rhs1(made);
  }
  return TREE_CODE(pointer) == ADDR_EXPR ? root_of(TREE_OPERAND(pointer, 0)) : pointer;
}

tree root_of(tree place) {
  const tree base = get_base_address(place);
  return TREE_CODE(base) == MEM_REF ? pointed_root(TREE_OPERAND(base, 0)) : base;
}

bool marks(gimple* stmt, tree variable) {
  if (!gimple_call_internal_p(stmt, IFN_ASAN_MARK)) return false;
  const tree marked = gimple_call_arg(stmt, 1);
  return TREE_CODE(marked) == ADDR_EXPR && TREE_OPERAND(marked, 0) == variable;
}

bool has_marks(tree target) {
  const tree base = get_base_address(target);
  if (base == NULL_TREE) return false;
  return !DECL_P(base) || has_statement([&](gimple* stmt) { return marks(stmt, base); });
}

bool is_returned(tree target) {
  const tree base = get_base_address(target);
  if (base == NULL_TREE || !DECL_P(base)) return false;
  if (TREE_CODE(base) == RESULT_DECL) return true;
  edge last;
  edge_iterator edges;
  FOR_EACH_EDGE(last, edges, EXIT_BLOCK_PTR_FOR_FN(cfun)->preds) {
    auto at = gsi_last_nondebug_bb(last->src);
    if (gsi_end_p(at)) continue;
    auto* const end = dyn_cast<greturn*>(gsi_stmt(at));
    if (end != nullptr && gimple_return_retval(end) == base) return true;
  }
  return false;
}

bool is_hidden(tree target) {
  const tree base = get_base_address(target);
  const bool is_own = base != NULL_TREE && VAR_P(base) &&
                      auto_var_in_fn_p(base, current_function_decl) && !TREE_ADDRESSABLE(base);
  return is_own && !has_marks(target) && !is_returned(target);
}

std::vector<gimple*> loads_behind(gimple* store) {
  const tree target = gimple_assign_lhs(store);
  const Extent stored = extent_of(target);
  if (stored.base == NULL_TREE || !is_hidden(target)) return {};
  const bool is_last = is_last_store(store, stored);
  return statements_that([&](gimple* stmt) {
    if (is_gimple_debug(stmt) || !gimple_assign_load_p(stmt)) return false;
    if (!extent_of(gimple_assign_rhs1(stmt)).overlaps(stored)) return false;
    if (reads_other_bits(stmt, stored)) return false;
    return (is_last && is_before(store, stmt)) || reads_from(stmt, store, stored);
  });
}

}  // namespace tandem::loop_checks
