// SPDX-License-Identifier: Apache-2.0
//
// The looks are calls of tandem_range_ok(), tandem_range_stored() notes the stores of the version
// without checks; see drivers/emulation/card/checks/range_checks.cpp.
#include "bitstreams/compiler/loop_checks/loop_version.h"

#include "bitstreams/compiler/loop_checks/access_range.h"

namespace tandem::loop_checks {
namespace {

constexpr unsigned kMostStatements = 800;
constexpr size_t kMostRanges = 24;
// A known number of iterations from which the looks are worth their time.
constexpr HOST_WIDE_INT kFewIterations = 12;

tree function_named(const char* name, tree type) {
  const tree function = build_fn_decl(name, type);
  SET_DECL_ASSEMBLER_NAME(function, get_identifier(name));
  TREE_NOTHROW(function) = 1;
  DECL_ATTRIBUTES(function) =
      tree_cons(get_identifier("leaf"), NULL_TREE, DECL_ATTRIBUTES(function));
  return function;
}

// Whether the bytes may be read, or written.
tree look_function() {
  const tree type = build_function_type_list(integer_type_node, sizetype, sizetype, sizetype,
                                             sizetype, sizetype, NULL_TREE);
  return function_named("tandem_range_ok", type);
}
tree note_function() {
  const tree type =
      build_function_type_list(void_type_node, sizetype, sizetype, sizetype, sizetype, NULL_TREE);
  return function_named("tandem_range_stored", type);
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
  return std::strncmp(name, "__ubsan_", 8) != 0 && std::strcmp(name, "tandem_stored") != 0;
}

// The checks of a loop with those of the loops inside.
class LoopChecks {
 public:
  explicit LoopChecks(Loop* outer) : outer_(outer) {}
  // Whether a second version is possible and worth it.
  bool find();
  // The version with the checks.
  Loop* make_versions();

 private:
  bool is_wanted() const;
  bool visit(gimple* stmt);
  bool add_access(gimple* stmt, tree pointer, tree bytes, bool is_store);
  bool add_guards(gimple* stmt, tree element);
  bool add_index(gimple* stmt);
  bool add_alignment(gimple* stmt);
  void add_condition(tree condition);
  void tell(const char* what, gimple* stmt) const;
  tree look_at_ranges();
  void note_stores();
  tree computed(tree value, gimple_seq* code) const;
  void insert_before(Loop* at, gimple_seq code) const;

  Loop* const outer_;
  unsigned num_statements_ = 0;
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
  if (std::strcmp(called_name(stmt), "tandem_stored") == 0) {
    is_known = add_access(stmt, gimple_call_arg(stmt, 0), gimple_call_arg(stmt, 1), true);
  } else if (gimple_call_internal_p(stmt, IFN_ASAN_CHECK)) {
    const bool is_store = (tree_to_shwi(gimple_call_arg(stmt, 0)) & ASAN_CHECK_STORE) != 0;
    is_known = add_access(stmt, gimple_call_arg(stmt, 1), gimple_call_arg(stmt, 2), is_store);
  } else if (gimple_call_internal_p(stmt, IFN_UBSAN_BOUNDS)) {
    is_known = add_index(stmt);
  } else if (gimple_call_internal_p(stmt, IFN_UBSAN_NULL)) {
    is_known = add_alignment(stmt);
  } else {
    return true;
  }
  if (is_known) checks_.push_back(stmt);
  if (!is_known) tell("this is not known before it", stmt);
  has_others_ = has_others_ || !is_known;
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

void LoopChecks::add_condition(tree condition) {
  condition_ = fold_build2(TRUTH_AND_EXPR, boolean_type_node, condition_, condition);
}

// `.UBSAN_BOUNDS (0B, index, bound)`: index > bound is a finding.
bool LoopChecks::add_index(gimple* stmt) {
  Steps steps;
  const tree bound = gimple_call_arg(stmt, 2);
  if (TREE_CODE(bound) != INTEGER_CST) return false;
  if (!find_steps(outer_, stmt, gimple_call_arg(stmt, 1), steps)) return false;
  const tree zero = build_int_cst(ssizetype, 0);
  tree low = fold_convert(ssizetype, steps.base), high = low;
  for (const Steps::Level& level : steps.levels) {
    const tree rounds = fold_build2(MINUS_EXPR, ssizetype, fold_convert(ssizetype, level.count),
                                    build_int_cst(ssizetype, 1));
    const tree way = fold_build2(MULT_EXPR, ssizetype, level.step, rounds);
    low = fold_build2(PLUS_EXPR, ssizetype, low, fold_build2(MIN_EXPR, ssizetype, way, zero));
    high = fold_build2(PLUS_EXPR, ssizetype, high, fold_build2(MAX_EXPR, ssizetype, way, zero));
  }
  add_condition(fold_build2(GE_EXPR, boolean_type_node, low, zero));
  add_condition(fold_build2(LE_EXPR, boolean_type_node, high, fold_convert(ssizetype, bound)));
  return true;
}

// `.UBSAN_NULL (pointer, kind, alignment)`.
bool LoopChecks::add_alignment(gimple* stmt) {
  const tree pointer = gimple_call_arg(stmt, 0);
  const tree alignment = gimple_call_arg(stmt, 2);
  if (!tree_fits_shwi_p(alignment)) return false;
  const tree element = pointed_element(pointer);
  if (element != NULL_TREE) {
    const auto known = static_cast<HOST_WIDE_INT>(get_object_alignment(element));
    if (known >= tree_to_shwi(alignment) * BITS_PER_UNIT) return true;
  }
  Steps steps;
  if (!find_steps(outer_, stmt, pointer, steps)) return false;
  tree bits = steps.base;
  for (const Steps::Level& level : steps.levels) {
    bits = fold_build2(BIT_IOR_EXPR, sizetype, bits, fold_convert(sizetype, level.step));
  }
  const tree mask = build_int_cst(sizetype, tree_to_shwi(alignment) - 1);
  add_condition(fold_build2(EQ_EXPR, boolean_type_node,
                            fold_build2(BIT_AND_EXPR, sizetype, bits, mask),
                            build_int_cst(sizetype, 0)));
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

// Calls before the loop; returns the condition for the version without checks.
tree LoopChecks::look_at_ranges() {
  gimple_seq code = nullptr;
  const tree function = look_function();
  tree all = computed(fold_convert(integer_type_node, condition_), &code);
  for (const AccessRange& range : ranges_) {
    const Pieces pieces = pieces_of(range);
    // Stores are noted before the loop makes them, so a check of a load must not see them.
    const bool is_noted = !range.is_store || !keeps_loads_;
    const bool is_whole = range.is_whole && pieces.is_exact && is_noted;
    const int flags = (range.is_store ? 1 : 0) | (is_whole ? 2 : 0);
    gcall* const call =
        gimple_build_call(function, 5, computed(pieces.low, &code), computed(pieces.piece, &code),
                          computed(pieces.step, &code), computed(pieces.count, &code),
                          build_int_cst(sizetype, flags));
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

bool version_in(Loop* at) {
  LoopChecks checks(at);
  bool changed = false;
  if (checks.find()) {
    Loop* const checked = checks.make_versions();
    if (checked != nullptr) {
      changed = true;
      at = checked;
    }
  }
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
