// SPDX-License-Identifier: Apache-2.0
//
// A check is matched with its load by the address, in the ways that g++ writes it.
#include "bitstreams/compiler/loop_checks/access_checks.h"

#include "bitstreams/compiler/loop_checks/access_range.h"
#include "bitstreams/compiler/loop_checks/stored_values.h"

namespace tandem::loop_checks {
namespace {

constexpr HOST_WIDE_INT kMostBytes = 16;

bool loads(gimple* stmt, tree pointer) {
  return gimple_assign_load_p(stmt) && points_to(pointer, gimple_assign_rhs1(stmt));
}

// Whether a load is of another variable: g++ may have removed the load of the check.
bool is_elsewhere(tree place, tree pointer) {
  const tree root = root_of(place), checked = pointed_root(pointer);
  return DECL_P(root) && DECL_P(checked) && root != checked;
}

// The next load or store behind a check if it is a load of as many bytes: g++ may have written its
// address in another way. Behind another check it must have the same address: g++ may have removed
// the load, and the other check has the next one. Null: it is not.
gimple* next_load(gimple* check) {
  const tree pointer = gimple_call_arg(check, 1);
  bool is_behind_other = false;
  for (auto at = gsi_for_stmt(check); !gsi_end_p(at); gsi_next(&at)) {
    gimple* const stmt = gsi_stmt(at);
    is_behind_other = is_behind_other || (stmt != check && is_access_check(stmt, false));
    if (is_gimple_debug(stmt) || gimple_call_internal_p(stmt) || gimple_vuse(stmt) == NULL_TREE) {
      continue;
    }
    if (!gimple_assign_load_p(stmt)) return nullptr;
    if (is_behind_other && !loads(stmt, pointer)) return nullptr;
    if (is_elsewhere(gimple_assign_rhs1(stmt), pointer)) return nullptr;
    const tree size = TYPE_SIZE_UNIT(TREE_TYPE(gimple_assign_rhs1(stmt)));
    return tree_int_cst_equal(size, gimple_call_arg(check, 2)) ? stmt : nullptr;
  }
  return nullptr;
}

}  // namespace

bool is_access_check(gimple* stmt, bool is_store) {
  if (!gimple_call_internal_p(stmt, IFN_ASAN_CHECK)) return false;
  return ((tree_to_shwi(gimple_call_arg(stmt, 0)) & ASAN_CHECK_STORE) != 0) == is_store;
}

HOST_WIDE_INT bytes_of_check(gimple* stmt) {
  const HOST_WIDE_INT flags = tree_to_shwi(gimple_call_arg(stmt, 0));
  const tree size = gimple_call_arg(stmt, 2);
  if ((flags & ASAN_CHECK_SCALAR_ACCESS) == 0 || !tree_fits_shwi_p(size)) return 0;
  const HOST_WIDE_INT bytes = tree_to_shwi(size);
  return bytes <= kMostBytes ? bytes : 0;
}

bool points_to(tree pointer, tree element) {
  if (TREE_CODE(element) == MEM_REF && integer_zerop(TREE_OPERAND(element, 1)) &&
      operand_equal_p(TREE_OPERAND(element, 0), pointer, 0)) {
    return true;
  }
  const tree other = pointed_element(pointer);
  return other != NULL_TREE && operand_equal_p(other, element, 0);
}

gimple* load_of(gimple* check) {
  const tree pointer = gimple_call_arg(check, 1);
  const basic_block own = gimple_bb(check);
  gimple* const next = next_load(check);
  if (next != nullptr) return next;
  const auto is_its = [&](gimple* stmt) {
    return loads(stmt, pointer) && reads_state_at(stmt, check);
  };
  for (auto at = gsi_for_stmt(check); !gsi_end_p(at); gsi_next(&at)) {
    if (is_its(gsi_stmt(at))) return gsi_stmt(at);
  }
  basic_block block;
  FOR_EACH_BB_FN(block, cfun) {
    if (block == own || !dominated_by_p(CDI_DOMINATORS, block, own)) continue;
    for (auto at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
      if (is_its(gsi_stmt(at))) return gsi_stmt(at);
    }
  }
  return nullptr;
}

void replace_check(gimple* check, gcall* call) {
  gimple_set_location(call, gimple_location(check));
  auto at = gsi_for_stmt(check);
  gsi_insert_before(&at, call, GSI_SAME_STMT);
  unlink_stmt_vdef(check);
  gsi_remove(&at, true);
  release_defs(check);
}

}  // namespace tandem::loop_checks
