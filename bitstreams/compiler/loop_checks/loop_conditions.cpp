// SPDX-License-Identifier: Apache-2.0
//
// From the first and the last iteration: what steps evenly is between them.
#include "bitstreams/compiler/loop_checks/loop_conditions.h"

#include "bitstreams/compiler/loop_checks/access_range.h"

namespace tandem::loop_checks {

// `.UBSAN_BOUNDS (0B, index, bound)`: index > bound is a finding.
tree index_condition(Loop* outer, gimple* stmt) {
  Steps steps;
  const tree bound = gimple_call_arg(stmt, 2);
  if (TREE_CODE(bound) != INTEGER_CST) return NULL_TREE;
  if (!find_steps(outer, stmt, gimple_call_arg(stmt, 1), steps)) return NULL_TREE;
  const tree zero = build_int_cst(ssizetype, 0);
  tree low = fold_convert(ssizetype, steps.base), high = low;
  for (const Steps::Level& level : steps.levels) {
    const tree rounds = fold_build2(MINUS_EXPR, ssizetype, fold_convert(ssizetype, level.count),
                                    build_int_cst(ssizetype, 1));
    const tree way = fold_build2(MULT_EXPR, ssizetype, level.step, rounds);
    low = fold_build2(PLUS_EXPR, ssizetype, low, fold_build2(MIN_EXPR, ssizetype, way, zero));
    high = fold_build2(PLUS_EXPR, ssizetype, high, fold_build2(MAX_EXPR, ssizetype, way, zero));
  }
  return fold_build2(TRUTH_AND_EXPR, boolean_type_node,
                     fold_build2(GE_EXPR, boolean_type_node, low, zero),
                     fold_build2(LE_EXPR, boolean_type_node, high, fold_convert(ssizetype, bound)));
}

// `.UBSAN_NULL (pointer, kind, alignment)`.
tree alignment_condition(Loop* outer, gimple* stmt) {
  const tree pointer = gimple_call_arg(stmt, 0);
  const tree alignment = gimple_call_arg(stmt, 2);
  if (!tree_fits_shwi_p(alignment)) return NULL_TREE;
  const tree element = pointed_element(pointer);
  if (element != NULL_TREE) {
    const auto known = static_cast<HOST_WIDE_INT>(get_object_alignment(element));
    if (known >= tree_to_shwi(alignment) * BITS_PER_UNIT) return boolean_true_node;
  }
  Steps steps;
  if (!find_steps(outer, stmt, pointer, steps)) return NULL_TREE;
  tree bits = steps.base;
  for (const Steps::Level& level : steps.levels) {
    bits = fold_build2(BIT_IOR_EXPR, sizetype, bits, fold_convert(sizetype, level.step));
  }
  const tree mask = build_int_cst(sizetype, tree_to_shwi(alignment) - 1);
  return fold_build2(EQ_EXPR, boolean_type_node, fold_build2(BIT_AND_EXPR, sizetype, bits, mask),
                     build_int_cst(sizetype, 0));
}

}  // namespace tandem::loop_checks
