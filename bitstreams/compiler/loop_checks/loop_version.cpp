// SPDX-License-Identifier: Apache-2.0
//
// The looks are calls of tandem_range_ok(), tandem_range_stored() notes the stores of the version
// without checks; see drivers/emulation/card/checks/range_checks.cpp.
#include "bitstreams/compiler/loop_checks/loop_version.h"

#include "bitstreams/compiler/loop_checks/access_range.h"
#include "bitstreams/compiler/loop_checks/loop_conditions.h"
#include "bitstreams/compiler/loop_checks/tokens.h"

namespace tandem::loop_checks {
namespace {

constexpr unsigned kMostStatements = 800;
constexpr size_t kMostRanges = 24;
// A known number of iterations from which the looks are worth their time.
constexpr HOST_WIDE_INT kFewIterations = 12;

// Whether the bytes may be read, or written.
tree look_function() {
  const tree type = build_function_type_list(integer_type_node, sizetype, sizetype, sizetype,
                                             sizetype, sizetype, NULL_TREE);
  return card_function("tandem_range_ok", type);
}
tree note_function() {
  const tree type =
      build_function_type_list(void_type_node, sizetype, sizetype, sizetype, sizetype, NULL_TREE);
  return card_function("tandem_range_stored", type);
}

const char* called_name(gimple* stmt) {
  if (!is_gimple_call(stmt) || gimple_call_internal_p(stmt)) return "";
  const tree function = gimple_call_fndecl(stmt);
  if (function == NULL_TREE || DECL_NAME(function) == NULL_TREE) return "";
  return IDENTIFIER_POINTER(DECL_NAME(function));
}

// Beside such a call the time of checks does not matter.
bool is_long_call(gimple* stmt) {
  if (!is_gimple_call(stmt) || gimple_call_internal_p(stmt)) return false;
  if ((gimple_call_flags(stmt) & (ECF_CONST | ECF_PURE | ECF_NORETURN)) != 0) return false;
  if (gimple_call_builtin_p(stmt)) return false;
  const char* const name = called_name(stmt);
  for (const char* short_call :
       {"tandem_stored", "tandem_used", "tandem_unset_store", "tandem_unset_part"}) {
    if (std::strcmp(name, short_call) == 0) return false;
  }
  return std::strncmp(name, "__ubsan_", 8) != 0;
}

bool is_address_of_local(tree pointer) {
  if (TREE_CODE(pointer) != ADDR_EXPR) return false;
  const tree base = get_base_address(TREE_OPERAND(pointer, 0));
  return base != NULL_TREE && auto_var_in_fn_p(base, current_function_decl);
}

// The checks of a loop with those of the loops inside.
class LoopChecks {
 public:
  // `keeps_partial`: the version without checks keeps those of stores that only some iterations
  // make to variables of this function, because they note which bytes have a value.
  LoopChecks(Loop* outer, bool keeps_partial) : outer_(outer), keeps_partial_(keeps_partial) {}
  // Whether a second version is possible and worth it.
  bool find();
  bool has_partial_stores() const { return has_partial_stores_; }
  // The version with the checks.
  Loop* make_versions();

 private:
  bool is_wanted() const;
  bool visit(gimple* stmt);
  bool add_access(gimple* stmt, tree pointer, tree bytes, bool is_store);
  bool add_guards(gimple* stmt, tree element);
  bool add_condition(tree condition);
  void tell(const char* what, gimple* stmt) const;
  tree look_at_ranges();
  void note_stores();
  tree computed(tree value, gimple_seq* code) const;
  void insert_before(Loop* at, gimple_seq code) const;

  Loop* const outer_;
  const bool keeps_partial_;
  bool has_partial_stores_ = false;
  bool is_kept_ = false;      // the check that was visited last, on purpose
  bool has_others_ = false;   // checks that stay in the version without checks
  bool keeps_loads_ = false;  // among them loads, maybe of bytes that the loop stores
  std::vector<tree> scopes_;  // variables of the loop's body
  std::vector<gimple*> checks_;
  std::vector<AccessRange> ranges_;
  std::vector<gimple*> guards_;  // checks of indices, each before the check that it replaces
  std::vector<gimple*> guarded_;
  std::vector<Pieces> stores_;
  tree condition_ = boolean_true_node;
};

bool LoopChecks::is_wanted() const {
  if (!single_succ_p(loop_preheader_edge(outer_)->src) || !can_duplicate_loop_p(outer_))
    return false;
  if (outer_->inner != nullptr) return true;
  const tree latches = number_of_latch_executions(outer_);
  return !tree_fits_shwi_p(latches) || tree_to_shwi(latches) >= kFewIterations;
}

bool LoopChecks::find() {
  if (!is_wanted()) return false;
  basic_block* const blocks = get_loop_body(outer_);
  bool is_possible = true;
  std::vector<gimple*> statements;
  for (unsigned index = 0; index < outer_->num_nodes; ++index) {
    for (auto at = gsi_start_bb(blocks[index]); !gsi_end_p(at); gsi_next(&at)) {
      gimple* const stmt = gsi_stmt(at);
      if (is_gimple_debug(stmt)) continue;
      statements.push_back(stmt);
      // Scopes of variables end in the loop: what is known of them before it says nothing.
      if (!gimple_call_internal_p(stmt, IFN_ASAN_MARK)) continue;
      const tree variable = gimple_call_arg(stmt, 1);
      if (TREE_CODE(variable) == ADDR_EXPR) scopes_.push_back(TREE_OPERAND(variable, 0));
    }
  }
  free(blocks);
  is_possible = statements.size() <= kMostStatements;
  if (!is_possible) tell("it has too many statements", nullptr);
  for (gimple* stmt : statements) is_possible = is_possible && visit(stmt);
  if (ranges_.size() > kMostRanges) tell("it has too many ranges", nullptr);
  if (!is_possible || checks_.empty() || ranges_.size() > kMostRanges) return false;
  return outer_->inner == nullptr || !has_others_;
}

// -fdump-tree-all: why a loop has no version without checks, or keeps some there.
void LoopChecks::tell(const char* what, gimple* stmt) const {
  if (dump_file == nullptr) return;
  std::fprintf(dump_file, ";; tandem: loop %d: %s\n", outer_->num, what);
  if (stmt != nullptr) print_gimple_stmt(dump_file, stmt, 2, TDF_LINENO);
}

// False: the loop must keep all its checks.
bool LoopChecks::visit(gimple* stmt) {
  // Marks of pragmas are such calls, too.
  if (is_long_call(stmt)) {
    tell("it has a call", stmt);
    return false;
  }
  bool is_known = true;
  is_kept_ = false;
  if (std::strcmp(called_name(stmt), "tandem_stored") == 0) {
    is_known = add_access(stmt, gimple_call_arg(stmt, 0), gimple_call_arg(stmt, 1), true);
  } else if (gimple_call_internal_p(stmt, IFN_ASAN_CHECK)) {
    const bool is_store = (tree_to_shwi(gimple_call_arg(stmt, 0)) & ASAN_CHECK_STORE) != 0;
    is_known = add_access(stmt, gimple_call_arg(stmt, 1), gimple_call_arg(stmt, 2), is_store);
  } else if (gimple_call_internal_p(stmt, IFN_UBSAN_BOUNDS)) {
    is_known = add_condition(index_condition(outer_, stmt));
  } else if (gimple_call_internal_p(stmt, IFN_UBSAN_NULL)) {
    is_known = add_condition(alignment_condition(outer_, stmt));
  } else {
    return true;
  }
  if (is_known) checks_.push_back(stmt);
  if (!is_known && !is_kept_) tell("this is not known before it", stmt);
  has_others_ = has_others_ || (!is_known && !is_kept_);
  return true;
}

bool LoopChecks::add_access(gimple* stmt, tree pointer, tree bytes, bool is_store) {
  AccessRange range;
  const bool is_known = tree_fits_shwi_p(bytes) &&
                        find_range(outer_, stmt, pointer, tree_to_shwi(bytes), range) &&
                        (!range.is_extent || add_guards(stmt, pointed_element(pointer)));
  if (!is_known) {
    keeps_loads_ = keeps_loads_ || !is_store;
    return false;
  }
  tree base = range.steps.base;
  STRIP_NOPS(base);
  if (is_store && !range.is_whole && is_address_of_local(base)) {
    has_partial_stores_ = true;
    is_kept_ = keeps_partial_;
    if (is_kept_) return false;
  }
  for (tree variable : scopes_) {
    if (TREE_CODE(base) == ADDR_EXPR && get_base_address(TREE_OPERAND(base, 0)) == variable) {
      return false;
    }
  }
  range.is_store = is_store;
  range.place = gimple_location(stmt);
  for (AccessRange& known : ranges_) {
    if (merge_ranges(known, range)) return true;
  }
  ranges_.push_back(range);
  return true;
}

// Of a known array the version without checks of accesses checks the indices that it cannot know.
// -fsanitize=bounds alone lets the element behind the last one pass where a reference is made.
bool LoopChecks::add_guards(gimple* stmt, tree element) {
  for (; handled_component_p(element); element = TREE_OPERAND(element, 0)) {
    if (TREE_CODE(element) != ARRAY_REF) continue;
    const tree index = TREE_OPERAND(element, 1);
    const tree array = TREE_TYPE(TREE_OPERAND(element, 0));
    const tree domain = TYPE_DOMAIN(array);
    const bool is_known = domain != NULL_TREE && TYPE_MAX_VALUE(domain) != NULL_TREE &&
                          TREE_CODE(TYPE_MAX_VALUE(domain)) == INTEGER_CST &&
                          integer_zerop(TYPE_MIN_VALUE(domain));
    if (!is_known) return false;
    const tree bound = fold_convert(TREE_TYPE(index), TYPE_MAX_VALUE(domain));
    if (TREE_CODE(index) == INTEGER_CST) {
      if (!tree_int_cst_le(index, bound)) return false;
      continue;
    }
    gcall* const guard = gimple_build_call_internal(
        IFN_UBSAN_BOUNDS, 3, build_int_cst(build_pointer_type(array), 0), index, bound);
    gimple_set_location(guard, gimple_location(stmt));
    guards_.push_back(guard);
    guarded_.push_back(stmt);
  }
  return true;
}

bool LoopChecks::add_condition(tree condition) {
  if (condition == NULL_TREE) return false;
  condition_ = fold_build2(TRUTH_AND_EXPR, boolean_type_node, condition_, condition);
  return true;
}

tree LoopChecks::computed(tree value, gimple_seq* code) const {
  gimple_seq more = nullptr;
  const tree result = force_gimple_operand(unshare_expr(value), &more, true, NULL_TREE);
  gimple_seq_add_seq(code, more);
  return result;
}

void LoopChecks::insert_before(Loop* at, gimple_seq code) const {
  if (code != nullptr) gsi_insert_seq_on_edge_immediate(loop_preheader_edge(at), code);
}

// Calls before the loop; returns the condition for the version without checks. Those of stores that
// may not be made come first: they fail most. Behind a failure the others do nothing.
tree LoopChecks::look_at_ranges() {
  gimple_seq code = nullptr;
  const tree function = look_function();
  tree all = computed(fold_convert(integer_type_node, condition_), &code);
  std::stable_partition(ranges_.begin(), ranges_.end(),
                        [](const AccessRange& range) { return range.is_store && !range.is_whole; });
  for (const AccessRange& range : ranges_) {
    const Pieces pieces = pieces_of(range);
    // Stores are noted before the loop makes them, so a check of a load must not see them.
    const bool is_noted = !range.is_store || !keeps_loads_;
    const bool is_whole = range.is_whole && pieces.is_exact && is_noted;
    const int flags = (range.is_store ? 1 : 0) | (is_whole ? 2 : 0);
    const tree has_failed =
        fold_build2(LSHIFT_EXPR, sizetype,
                    fold_convert(sizetype, fold_build2(BIT_XOR_EXPR, integer_type_node, all,
                                                       build_int_cst(integer_type_node, 1))),
                    build_int_cst(unsigned_type_node, 2));
    const tree all_flags =
        fold_build2(BIT_IOR_EXPR, sizetype, has_failed, build_int_cst(sizetype, flags));
    gcall* const call = gimple_build_call(
        function, 5, computed(pieces.low, &code), computed(pieces.piece, &code),
        computed(pieces.step, &code), computed(pieces.count, &code), computed(all_flags, &code));
    const tree is_good = make_ssa_name(integer_type_node);
    gimple_call_set_lhs(call, is_good);
    gimple_set_location(call, range.place);
    gimple_seq_add_stmt(&code, call);
    all = computed(fold_build2(BIT_AND_EXPR, integer_type_node, all, is_good), &code);
    if (range.is_store && is_whole) stores_.push_back(pieces);
  }
  insert_before(outer_, code);
  return fold_build2(NE_EXPR, boolean_type_node, all, integer_zero_node);
}

void LoopChecks::note_stores() {
  gimple_seq code = nullptr;
  const tree function = note_function();
  for (const Pieces& pieces : stores_) {
    gimple_seq_add_stmt(
        &code,
        gimple_build_call(function, 4, computed(pieces.low, &code), computed(pieces.piece, &code),
                          computed(pieces.step, &code), computed(pieces.count, &code)));
  }
  insert_before(outer_, code);
}

Loop* LoopChecks::make_versions() {
  const tree condition = look_at_ranges();
  initialize_original_copy_tables();
  basic_block decision = nullptr;
  Loop* const checked = loop_version(outer_, condition, &decision, profile_probability::likely(),
                                     profile_probability::unlikely(), profile_probability::likely(),
                                     profile_probability::unlikely(), true);
  free_original_copy_tables();
  if (checked == nullptr) return nullptr;
  for (size_t index = 0; index < guards_.size(); ++index) {
    auto at = gsi_for_stmt(guarded_[index]);
    gsi_insert_before(&at, guards_[index], GSI_SAME_STMT);
  }
  for (gimple* check : checks_) {
    auto at = gsi_for_stmt(check);
    unlink_stmt_vdef(check);
    gsi_remove(&at, true);
    release_defs(check);
  }
  note_stores();
  rewrite_into_loop_closed_ssa(nullptr, TODO_update_ssa);
  scev_reset();
  return checked;
}

// Makes versions of a loop; `at` becomes that with the checks.
bool make_versions_of(Loop*& at, bool keeps_partial, bool& has_partial_stores) {
  LoopChecks checks(at, keeps_partial);
  if (!checks.find()) return false;
  has_partial_stores = checks.has_partial_stores();
  Loop* const checked = checks.make_versions();
  if (checked != nullptr) at = checked;
  return checked != nullptr;
}

bool version_in(Loop* at) {
  bool has_partial_stores = false;
  bool changed = make_versions_of(at, false, has_partial_stores);
  if (has_partial_stores) changed |= make_versions_of(at, true, has_partial_stores);
  std::vector<Loop*> inner;
  for (Loop* each = at->inner; each != nullptr; each = each->next) inner.push_back(each);
  for (Loop* each : inner) changed |= version_in(each);
  return changed;
}

}  // namespace

bool version_loops() {
  calculate_dominance_info(CDI_DOMINATORS);
  std::vector<Loop*> outermost;
  for (Loop* each = current_loops->tree_root->inner; each != nullptr; each = each->next) {
    outermost.push_back(each);
  }
  bool changed = false;
  for (Loop* each : outermost) changed |= version_in(each);
  return changed;
}

}  // namespace tandem::loop_checks
