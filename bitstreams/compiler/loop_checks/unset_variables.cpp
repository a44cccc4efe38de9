// SPDX-License-Identifier: Apache-2.0
//
// A call of the card stands in a block of its own, which g++ takes for unlikely.
#include "bitstreams/compiler/loop_checks/unset_variables.h"

#include "bitstreams/compiler/loop_checks/missing_values.h"
#include "bitstreams/compiler/loop_checks/place_text.h"
#include "bitstreams/compiler/loop_checks/statements.h"
#include "bitstreams/compiler/loop_checks/stored_values.h"
#include "bitstreams/compiler/loop_checks/tokens.h"

namespace tandem::loop_checks {
namespace {

constexpr size_t kMostUnsetValues = 4096;

// The variable whose member `member` has become a variable of its own; the same if none.
tree whole_variable(tree member) {
  if (!DECL_HAS_DEBUG_EXPR_P(member)) return member;
  const tree whole = get_base_address(DECL_DEBUG_EXPR(member));
  return whole != NULL_TREE && DECL_P(whole) ? whole : member;
}

// Variables whose values are followed; those of functions that were inlined stand for their copies.
std::set<unsigned>& followed_variables() {
  static std::set<unsigned> variables;
  return variables;
}
unsigned number_of(tree variable) { return DECL_UID(DECL_ORIGIN(variable)); }

class UnsetValues {
 public:
  bool run() {
    for (unsigned index = 1; index < num_ssa_names; ++index) {
      const tree name = ssa_name(index);
      if (name == NULL_TREE || !has_no_value(name)) continue;
      const tree variable = SSA_NAME_VAR(name);
      numbers_.push_back(number_of(variable));
      missing_.add(name, place_text(SSA_NAME_DEF_STMT(name), variable), variable);
    }
    followed_variables().insert(numbers_.begin(), numbers_.end());
    if (numbers_.empty() || !missing_.spread(kMostUnsetValues)) return false;
    missing_.make_tokens();
    for (const MissingValues::End& end : missing_.ends()) {
      end.is_store ? check_store(end) : check_use(end);
    }
    for (const ChosenStore& store : missing_.chosen_stores()) check_choice(store);
    missing_.set_indices();
    return true;
  }

 private:
  bool has_no_value(tree name) const {
    if (!SSA_NAME_IS_DEFAULT_DEF(name) || virtual_operand_p(name)) return false;
    const tree variable = SSA_NAME_VAR(name);
    if (variable == NULL_TREE || !VAR_P(variable) || DECL_NAME(variable) == NULL_TREE) return false;
    if (DECL_HARD_REGISTER(variable)) return false;
    if (followed_variables().count(number_of(variable)) != 0) return false;
    return auto_var_in_fn_p(variable, current_function_decl) && !has_zero_uses(name);
  }

  // The block for a call behind the condition that the token is not null.
  static basic_block branch_at(gimple* stmt, bool before, tree token) {
    auto at = gsi_for_stmt(stmt);
    basic_block then = nullptr, next = nullptr;
    auto branch = create_cond_insert_point(&at, before, false, true, &then, &next);
    gcond* const is_missing = gimple_build_cond(NE_EXPR, token, null_token(), NULL_TREE, NULL_TREE);
    gimple_set_location(is_missing, gimple_location(stmt));
    gsi_insert_after(&branch, is_missing, GSI_NEW_STMT);
    return then;
  }

  static void insert(basic_block block, gcall* call, gimple* stmt) {
    gimple_set_location(call, gimple_location(stmt));
    auto at = gsi_after_labels(block);
    gsi_insert_before(&at, call, GSI_SAME_STMT);
  }

  void check_use(const MissingValues::End& end) {
    const tree token = missing_.token_at(end);
    insert(branch_at(end.stmt, true, token), gimple_build_call(used_, 1, token), end.stmt);
  }

  // Copies of whole structures store members without a value too: such a store is no use.
  bool is_part_of_copy(const MissingValues::End& end) const {
    if (is_own_number(gimple_assign_lhs(end.stmt))) return false;
    std::vector<tree> values = {end.value};
    for (size_t at = 0; at < values.size(); ++at) {
      gimple* const made = SSA_NAME_DEF_STMT(values[at]);
      if (SSA_NAME_IS_DEFAULT_DEF(values[at])) {
        if (is_member(SSA_NAME_VAR(values[at]))) return true;
      } else if (gimple_code(made) == GIMPLE_PHI || gimple_assign_ssa_name_copy_p(made)) {
        add_operands(made, &values);
      }
    }
    return false;
  }

  // A number to which the program has a pointer; a member of what is copied keeps the structure's
  // type.
  static bool is_own_number(tree target) {
    if (TREE_CODE(target) != MEM_REF) return false;
    const tree pointer = TREE_TYPE(TREE_OPERAND(target, 1));
    const tree type = TREE_TYPE(pointer);
    return !TYPE_REF_CAN_ALIAS_ALL(pointer) && !AGGREGATE_TYPE_P(type) &&
           tree_int_cst_equal(TYPE_SIZE(type), TYPE_SIZE(TREE_TYPE(target)));
  }

  // Whether it is part of a structure, which has become a variable of its own.
  static bool is_member(tree variable) {
    return variable != NULL_TREE &&
           !tree_int_cst_equal(DECL_SIZE(whole_variable(variable)), DECL_SIZE(variable));
  }

  static void add_operands(gimple* stmt, std::vector<tree>* values) {
    const unsigned first = gimple_code(stmt) == GIMPLE_PHI ? 0 : 1;
    const unsigned count =
        first == 0 ? gimple_phi_num_args(as_a<gphi*>(stmt)) : gimple_num_ops(stmt);
    for (unsigned index = first; index < count; ++index) {
      const tree value = first == 0 ? gimple_phi_arg_def(stmt, index) : gimple_op(stmt, index);
      if (TREE_CODE(value) != SSA_NAME) continue;
      if (std::find(values->begin(), values->end(), value) == values->end()) {
        values->push_back(value);
      }
    }
  }

  void check_choice(const ChosenStore& store) {
    gimple_seq code = nullptr;
    gcall* const call = call_of_choice(store, &code);
    const basic_block block = branch_at(store.at, store.is_before, store.token);
    insert(block, call, store.at);
    auto at = gsi_after_labels(block);
    if (code != nullptr) gsi_insert_seq_before(&at, code, GSI_SAME_STMT);
  }

  void check_store(const MissingValues::End& end) {
    const tree target = gimple_assign_lhs(end.stmt);
    if (end.part.bytes <= 0 || stmt_ends_bb_p(end.stmt)) return;
    if (TREE_CODE(target) == COMPONENT_REF && DECL_BIT_FIELD(TREE_OPERAND(target, 1))) return;
    const bool is_part = is_part_of_copy(end) || end.part.bytes != whole_of(end.stmt).bytes;
    if (is_returned(target) && !is_part) return check_use(end);
    if (!has_marks(target)) return;
    const tree token = missing_.token_at(end);
    gimple_seq code = nullptr;
    const tree pointer = force_gimple_operand(address_of(target, end.part), &code, true, NULL_TREE);
    const basic_block block = branch_at(end.stmt, false, token);
    insert(block,
           gimple_build_call(is_part ? part_stored_ : stored_, 3, token, pointer,
                             build_int_cst(sizetype, end.part.bytes)),
           end.stmt);
    auto at = gsi_after_labels(block);
    if (code != nullptr) gsi_insert_seq_before(&at, code, GSI_SAME_STMT);
  }

  std::vector<unsigned> numbers_;
  const tree used_ = card_function(
      "tandem_used", build_function_type_list(void_type_node, token_type(), NULL_TREE));
  const tree store_type_ =
      build_function_type_list(void_type_node, token_type(), ptr_type_node, sizetype, NULL_TREE);
  const tree stored_ = card_function("tandem_unset_store", store_type_);
  const tree part_stored_ = card_function("tandem_unset_part", store_type_);
  MissingValues missing_{false};
};

// The statements that mark a scope's begin, one per variable, if any access of the function has a
// check: without one g++ drops the mark of its end, and would leave that of its begin.
std::vector<gimple*> begins_of_scopes() {
  const auto is_check = [](gimple* stmt) { return gimple_call_internal_p(stmt, IFN_ASAN_CHECK); };
  if (!has_statement(is_check)) return {};
  std::vector<gimple*> begins;
  for (gimple* stmt :
       statements_that([](gimple* each) { return asan_mark_p(each, ASAN_MARK_UNPOISON); })) {
    const bool is_noted = std::any_of(begins.begin(), begins.end(), [&](gimple* each) {
      return operand_equal_p(gimple_call_arg(each, 1), gimple_call_arg(stmt, 1), 0);
    });
    if (!is_noted) begins.push_back(stmt);
  }
  return begins;
}

}  // namespace

bool check_unset_values() { return UnsetValues().run(); }

bool mark_scopes_from_entry() {
  const std::vector<gimple*> begins = begins_of_scopes();
  for (gimple* begin : begins) {
    auto at = gsi_after_labels(single_succ(ENTRY_BLOCK_PTR_FOR_FN(cfun)));
    gcall* const end = gimple_build_call_internal(
        IFN_ASAN_MARK, 3, build_int_cst(integer_type_node, ASAN_MARK_POISON),
        unshare_expr(gimple_call_arg(begin, 1)), gimple_call_arg(begin, 2));
    gsi_insert_before(&at, end, GSI_SAME_STMT);
  }
  return !begins.empty();
}

}  // namespace tandem::loop_checks
