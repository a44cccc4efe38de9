// SPDX-License-Identifier: Apache-2.0
//
// Variables without marks need no check: only this function's statements know them.
#include "bitstreams/compiler/loop_checks/complex_parts.h"

#include "bitstreams/compiler/loop_checks/gcc_headers.h"
#include "bitstreams/compiler/loop_checks/statements.h"
#include "bitstreams/compiler/loop_checks/stored_values.h"

namespace tandem::loop_checks {
namespace {

bool is_part(tree place) {
  return TREE_CODE(place) == REALPART_EXPR || TREE_CODE(place) == IMAGPART_EXPR;
}

// Whether it is in memory that has a check elsewhere too.
bool is_in_memory(tree part) {
  const tree base = get_base_address(part);
  return base != NULL_TREE && TREE_CODE(base) != SSA_NAME && !is_hidden(part);
}

void add_check(gimple* stmt, tree part, bool is_store) {
  const int flags =
      ASAN_CHECK_SCALAR_ACCESS | ASAN_CHECK_NON_ZERO_LEN | (is_store ? ASAN_CHECK_STORE : 0);
  const tree bytes = TYPE_SIZE_UNIT(TREE_TYPE(part));
  const tree pointer = make_ssa_name(build_pointer_type(TREE_TYPE(part)));
  gimple* const address = gimple_build_assign(pointer, build_fold_addr_expr(unshare_expr(part)));
  gcall* const check = gimple_build_call_internal(
      IFN_ASAN_CHECK, 4, build_int_cst(integer_type_node, flags), pointer,
      fold_convert(ssizetype, bytes),
      build_int_cst(integer_type_node, get_object_alignment(part) / BITS_PER_UNIT));
  auto at = gsi_for_stmt(stmt);
  for (gimple* each : {address, static_cast<gimple*>(check)}) {
    gimple_set_location(each, gimple_location(stmt));
    gsi_insert_before(&at, each, GSI_SAME_STMT);
  }
}

}  // namespace

bool check_complex_parts() {
  bool has_changed = false;
  for (gimple* stmt : statements_that([](gimple* each) { return gimple_assign_single_p(each); })) {
    for (const bool is_store : {false, true}) {
      const tree place = is_store ? gimple_assign_lhs(stmt) : gimple_assign_rhs1(stmt);
      if (!is_part(place) || !is_in_memory(place)) continue;
      add_check(stmt, place, is_store);
      has_changed = true;
    }
  }
  return has_changed;
}

}  // namespace tandem::loop_checks
