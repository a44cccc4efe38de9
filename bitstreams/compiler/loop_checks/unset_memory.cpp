// SPDX-License-Identifier: Apache-2.0
//
// The check of an access stands before its statement, mostly right before.
#include "bitstreams/compiler/loop_checks/unset_memory.h"

#include "bitstreams/compiler/loop_checks/access_checks.h"
#include "bitstreams/compiler/loop_checks/missing_values.h"
#include "bitstreams/compiler/loop_checks/statements.h"
#include "bitstreams/compiler/loop_checks/store_checks.h"
#include "bitstreams/compiler/loop_checks/stored_values.h"
#include "bitstreams/compiler/loop_checks/tokens.h"

namespace tandem::loop_checks {
namespace {

constexpr size_t kMostOfOneLoad = 512;

// `tandem_take4`
gcall* call_with_bytes(const char* name, HOST_WIDE_INT bytes, tree result, tree pointer) {
  const tree type = build_function_type_list(result, ptr_type_node, NULL_TREE);
  return gimple_build_call(card_function((name + std::to_string(bytes)).c_str(), type), 1, pointer);
}

class UnsetLoads {
 public:
  bool run() {
    const std::vector<gimple*> checks =
        statements_that([](gimple* stmt) { return is_access_check(stmt, false); });
    for (gimple* check : checks) look_at(check);
    missing_.spread(~size_t{0});
    missing_.make_tokens();
    for (const MissingValues::End& end : missing_.ends()) tell(end);
    for (const ChosenStore& store : missing_.chosen_stores()) tell_choice(store);
    for (gimple* copy : copies_) tell_copy(copy);
    for (const auto& [copy, token] : marked_) tell_store(copy, whole_of(copy), token);
    missing_.set_indices();
    return !checks.empty();
  }

 private:
  void look_at(gimple* check) {
    gimple* const load = load_of(check);
    const bool is_copy = load != nullptr && TREE_CODE(gimple_assign_lhs(load)) != SSA_NAME;
    const HOST_WIDE_INT bytes = bytes_of_check(check);
    if (is_copy) copies_.push_back(load);
    if (bytes == 0) return;
    if (load != nullptr && !is_copy && is_used_at_once(load)) return;
    const tree token = make_ssa_name(token_type());
    gcall* const take =
        call_with_bytes("tandem_take", bytes, token_type(), gimple_call_arg(check, 1));
    gimple_call_set_lhs(take, token);
    replace_check(check, take);
    if (load == nullptr || sets_bits(load)) return;
    is_copy ? follow_copy(load, token, 0) : missing_.add(gimple_assign_lhs(load), token, NULL_TREE);
  }

  // To a variable that the card does not know.
  void follow_copy(gimple* copy, tree token, int depth) {
    constexpr int kMostInRow = 8;
    for (gimple* load : loads_behind(copy)) {
      const tree result = gimple_assign_lhs(load);
      if (TREE_CODE(result) == SSA_NAME) {
        missing_.add(result, token, NULL_TREE);
      } else if (has_marks(result)) {
        marked_.push_back({load, token});
      } else if (depth < kMostInRow) {
        follow_copy(load, token, depth + 1);
      }
    }
  }

  // Or the way of its value is too long to be followed.
  static bool is_used_at_once(gimple* load) {
    if (sets_bits(load)) return false;
    MissingValues values(true);
    values.add(gimple_assign_lhs(load), null_token(), NULL_TREE);
    if (!values.spread(kMostOfOneLoad)) return true;
    return std::any_of(values.ends().begin(), values.ends().end(),
                       [&](const MissingValues::End& end) {
                         return values.is_certain(end) && gimple_bb(end.stmt) == gimple_bb(load);
                       });
  }

  void tell(const MissingValues::End& end) {
    const tree token = missing_.token_at(end);
    if (end.is_store && !is_returned(gimple_assign_lhs(end.stmt))) {
      return tell_store(end.stmt, end.part, token);
    }
    gcall* const call = gimple_build_call(used_, 1, token);
    gimple_set_location(call, gimple_location(end.stmt));
    auto at = gsi_for_stmt(end.stmt);
    gsi_insert_before(&at, call, GSI_SAME_STMT);
  }

  void tell_store(gimple* store, const Part& part, tree token) {
    const tree target = gimple_assign_lhs(store);
    if (part.bytes <= 0 || !has_marks(target)) return;
    if (TREE_CODE(target) == COMPONENT_REF && DECL_BIT_FIELD(TREE_OPERAND(target, 1))) return;
    auto at = gsi_for_stmt(store);
    const tree pointer = force_gimple_operand_gsi(&at, address_of(target, part), true, NULL_TREE,
                                                  true, GSI_SAME_STMT);
    const tree function = part.bytes == whole_of(store).bytes ? stored_ : part_stored_;
    gcall* const call =
        gimple_build_call(function, 3, token, pointer, build_int_cst(sizetype, part.bytes));
    gimple_set_location(call, gimple_location(store));
    gsi_insert_before(&at, call, GSI_SAME_STMT);
  }

  void tell_choice(const ChosenStore& store) {
    gimple_seq code = nullptr;
    gcall* const call = call_of_choice(store, &code);
    gimple_set_location(call, gimple_location(store.at));
    gimple_seq_add_stmt(&code, call);
    auto at = gsi_for_stmt(store.at);
    store.is_before ? gsi_insert_seq_before(&at, code, GSI_SAME_STMT)
                    : gsi_insert_seq_after(&at, code, GSI_SAME_STMT);
  }

  void tell_copy(gimple* copy) {
    const tree to = gimple_assign_lhs(copy), from = gimple_assign_rhs1(copy);
    const HOST_WIDE_INT bytes = int_size_in_bytes(TREE_TYPE(to));
    if (bytes <= 0 || !has_marks(to) || !has_marks(from)) return;
    auto at = gsi_for_stmt(copy);
    tree pointers[2];
    for (const int each : {0, 1}) {
      pointers[each] =
          force_gimple_operand_gsi(&at, build_fold_addr_expr(unshare_expr(each == 0 ? from : to)),
                                   true, NULL_TREE, true, GSI_SAME_STMT);
    }
    gcall* const call =
        gimple_build_call(copied_, 3, pointers[0], pointers[1], build_int_cst(sizetype, bytes));
    gimple_set_location(call, gimple_location(copy));
    gsi_insert_before(&at, call, GSI_SAME_STMT);
  }

  const tree used_ = card_function(
      "tandem_used", build_function_type_list(void_type_node, token_type(), NULL_TREE));
  const tree store_type_ =
      build_function_type_list(void_type_node, token_type(), ptr_type_node, sizetype, NULL_TREE);
  const tree stored_ = card_function("tandem_unset_store", store_type_);
  const tree part_stored_ = card_function("tandem_unset_part", store_type_);
  const tree copied_ = card_function(
      "tandem_unset_copy",
      build_function_type_list(void_type_node, ptr_type_node, ptr_type_node, sizetype, NULL_TREE));
  MissingValues missing_{true};
  std::vector<gimple*> copies_;
  std::vector<std::pair<gimple*, tree>> marked_;  // copies to variables that the card knows
};

}  // namespace

bool follow_unset_loads() {
  calculate_dominance_info(CDI_DOMINATORS);
  const bool changed = UnsetLoads().run();
  if (changed) keep_store_checks();
  return changed;
}

}  // namespace tandem::loop_checks
