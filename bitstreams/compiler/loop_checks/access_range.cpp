// SPDX-License-Identifier: Apache-2.0
//
// From g++'s analysis of scalar evolutions.
#include "bitstreams/compiler/loop_checks/access_range.h"

namespace tandem::loop_checks {
namespace {

// Loads that lie farther apart stay two ranges.
constexpr HOST_WIDE_INT kMostGap = 256;

tree size_tree(HOST_WIDE_INT number) { return build_int_cst(sizetype, number); }
tree as_size(tree value) { return fold_convert(sizetype, value); }
tree sum_of(tree a, tree b) { return fold_build2(PLUS_EXPR, sizetype, a, b); }
tree product_of(tree a, tree b) { return fold_build2(MULT_EXPR, sizetype, a, b); }
tree one_less(tree a) { return fold_build2(MINUS_EXPR, sizetype, a, size_tree(1)); }
bool is_same(tree a, tree b) { return operand_equal_p(a, b, 0); }

bool is_known_before(Loop* outer, tree value) {
  return !tree_contains_chrecs(value, nullptr) && expr_invariant_in_loop_p(outer, value);
}

// Without a branch. g++ says nothing of a count of iterations that is zero.
tree zero_if(tree condition, tree count) {
  const tree is_kept = as_size(fold_build1(TRUTH_NOT_EXPR, boolean_type_node, condition));
  return fold_build2(BIT_AND_EXPR, sizetype, count, fold_build1(NEGATE_EXPR, sizetype, is_kept));
}

struct LatchCount {
  tree count = NULL_TREE;  // at most; null: not known before the loop
  edge exit = nullptr;
  bool is_exact = false;
};

LatchCount latch_count(Loop* outer, Loop* inner) {
  auto_vec<edge> exits = get_loop_exit_edges(inner);
  for (edge exit : exits) {
    tree_niter_desc found;
    if (!just_once_each_iteration_p(inner, exit->src)) continue;
    if (!number_of_iterations_exit(inner, exit, &found, false)) continue;
    const bool is_known = integer_nonzerop(found.assumptions) && found.niter != NULL_TREE &&
                          !chrec_contains_undetermined(found.niter) &&
                          is_known_before(outer, found.niter) &&
                          is_known_before(outer, found.may_be_zero);
    if (!is_known) continue;
    const bool always_runs = integer_zerop(found.may_be_zero);
    const bool is_exact = exits.length() == 1 && always_runs;
    const tree count = as_size(found.niter);
    return {always_runs ? count : zero_if(found.may_be_zero, count), exit, is_exact};
  }
  return {};
}

// How often `inner` runs its block `block` at most.
tree run_count(Loop* outer, Loop* inner, basic_block block) {
  const LatchCount latches = latch_count(outer, inner);
  if (latches.count == NULL_TREE) return NULL_TREE;
  const basic_block test = latches.exit->src;
  const bool is_after_test = test != block && dominated_by_p(CDI_DOMINATORS, block, test);
  return is_after_test ? latches.count : sum_of(latches.count, size_tree(1));
}

// Whether each iteration of the loops up to `outer` runs `block`, and their counts are certain.
bool runs_always(Loop* outer, basic_block block) {
  for (Loop* each = block->loop_father;; each = loop_outer(each)) {
    if (!dominated_by_p(CDI_DOMINATORS, each->latch, block)) return false;
    if (!latch_count(outer, each).is_exact) return false;
    if (each == outer) return true;
    block = each->header;
  }
}

// The part of a variable, or behind a pointer, in which an element with an unknown index lies.
// The caller checks the index.
bool find_whole(Loop* outer, tree element, AccessRange& range) {
  poly_int64 offset, size, most;
  bool is_reverse = false;
  const tree base = get_ref_base_and_extent(element, &offset, &size, &most, &is_reverse);
  HOST_WIDE_INT first = 0, extent = 0;
  if (!known_size_p(most) || !offset.is_constant(&first) || !most.is_constant(&extent))
    return false;
  if (first % BITS_PER_UNIT != 0 || extent % BITS_PER_UNIT != 0 || extent <= 0) return false;
  range.offset = first / BITS_PER_UNIT;
  range.bytes = extent / BITS_PER_UNIT;
  if (VAR_P(base)) {
    range.steps.base = as_size(build_fold_addr_expr(base));
  } else {
    if (TREE_CODE(base) != MEM_REF) return false;
    if (!expr_invariant_in_loop_p(outer, TREE_OPERAND(base, 0))) return false;
    range.steps.base = as_size(TREE_OPERAND(base, 0));
    range.offset += tree_to_shwi(TREE_OPERAND(base, 1));
  }
  return true;
}

}  // namespace

tree pointed_element(tree pointer) {
  if (TREE_CODE(pointer) == SSA_NAME) {
    gimple* const made = SSA_NAME_DEF_STMT(pointer);
    if (!gimple_assign_single_p(made)) return NULL_TREE;
    pointer = gimple_assign_rhs1(made);
  }
  return TREE_CODE(pointer) == ADDR_EXPR ? TREE_OPERAND(pointer, 0) : NULL_TREE;
}

bool find_steps(Loop* outer, gimple* stmt, tree value, Steps& steps) {
  basic_block block = gimple_bb(stmt);
  Loop* const inner = block->loop_father;
  tree rest = analyze_scalar_evolution(inner, value);
  if (chrec_contains_undetermined(rest)) return false;
  rest = instantiate_scev(loop_preheader_edge(outer), inner, rest);
  for (Loop* each = inner;; each = loop_outer(each)) {
    if (chrec_contains_undetermined(rest)) return false;
    if (TREE_CODE(rest) == POLYNOMIAL_CHREC && get_chrec_loop(rest) == each) {
      const tree step = CHREC_RIGHT(rest);
      const tree count = run_count(outer, each, block);
      if (count == NULL_TREE || !is_known_before(outer, step)) return false;
      steps.levels.push_back({fold_convert(ssizetype, step), count});
      rest = CHREC_LEFT(rest);
    }
    block = each->header;
    if (each == outer) break;
  }
  if (!is_known_before(outer, rest)) return false;
  steps.base = as_size(INTEGRAL_TYPE_P(TREE_TYPE(rest)) ? fold_convert(ssizetype, rest) : rest);
  return true;
}

bool find_range(Loop* outer, gimple* stmt, tree pointer, HOST_WIDE_INT bytes, AccessRange& range) {
  if (!find_steps(outer, stmt, pointer, range.steps)) {
    range.steps = {};
    range.is_extent = true;
    const tree element = pointed_element(pointer);
    return element != NULL_TREE && find_whole(outer, element, range);
  }
  range.bytes = bytes;
  tree base = NULL_TREE, offset = NULL_TREE;
  split_constant_offset(range.steps.base, &base, &offset);
  if (base != NULL_TREE && offset != NULL_TREE && tree_fits_shwi_p(offset)) {
    range.steps.base = as_size(base);
    range.offset = tree_to_shwi(offset);
  }
  range.is_whole = runs_always(outer, gimple_bb(stmt));
  return true;
}

bool merge_ranges(AccessRange& range, const AccessRange& other) {
  if (range.is_store != other.is_store) return false;
  if (range.is_store && range.is_whole != other.is_whole) return false;
  const auto& levels = range.steps.levels;
  const auto& others = other.steps.levels;
  const bool same = is_same(range.steps.base, other.steps.base) &&
                    std::equal(levels.begin(), levels.end(), others.begin(), others.end(),
                               [](const Steps::Level& a, const Steps::Level& b) {
                                 return is_same(a.step, b.step) && is_same(a.count, b.count);
                               });
  if (!same) return false;
  const HOST_WIDE_INT end = range.offset + range.bytes;
  const HOST_WIDE_INT other_end = other.offset + other.bytes;
  const HOST_WIDE_INT gap = std::max(range.offset, other.offset) - std::min(end, other_end);
  if (gap > (range.is_store ? 0 : kMostGap)) return false;
  range.is_whole = range.is_whole && other.is_whole && gap <= 0;
  range.offset = std::min(range.offset, other.offset);
  range.bytes = std::max(end, other_end) - range.offset;
  return true;
}

Pieces pieces_of(const AccessRange& range) {
  Pieces all;
  all.low = sum_of(range.steps.base, size_tree(range.offset));
  all.piece = all.step = size_tree(range.bytes);
  all.count = size_tree(1);
  for (const Steps::Level& level : range.steps.levels) {
    const tree distance = as_size(fold_build1(ABS_EXPR, ssizetype, level.step));
    const tree way = product_of(as_size(level.step), one_less(level.count));
    const tree back =
        fold_build2(MIN_EXPR, ssizetype, fold_convert(ssizetype, way), build_int_cst(ssizetype, 0));
    all.low = sum_of(all.low, as_size(back));
    const bool is_single = integer_onep(all.count);
    if (is_single && is_same(distance, all.piece)) {
      all.piece = product_of(all.piece, level.count);
    } else if (is_single) {
      all.step = distance;
      all.count = level.count;
    } else if (is_same(distance, product_of(all.step, all.count))) {
      all.count = product_of(all.count, level.count);
    } else {
      const tree before = product_of(all.step, one_less(all.count));
      all.piece = sum_of(sum_of(all.piece, before), product_of(distance, one_less(level.count)));
      all.count = size_tree(1);
      all.is_exact = false;
    }
  }
  return all;
}

}  // namespace tandem::loop_checks
