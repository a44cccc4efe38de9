// SPDX-License-Identifier: Apache-2.0
//
// A check that is to be kept becomes a call, about which the compiler knows nothing.
#include "bitstreams/compiler/loop_checks/store_checks.h"

#include "bitstreams/compiler/loop_checks/access_checks.h"
#include "bitstreams/compiler/loop_checks/statements.h"
#include "bitstreams/compiler/loop_checks/stored_values.h"
#include "bitstreams/compiler/loop_checks/tokens.h"

namespace tandem::loop_checks {
namespace {

// Whether both are the same bytes, which g++ may write as `line[i]` and `MEM[&line][i]`.
bool are_same_bytes(tree one, tree other) {
  return operand_equal_p(one, other, OEP_ADDRESS_OF) &&
         tree_int_cst_equal(TYPE_SIZE_UNIT(TREE_TYPE(one)), TYPE_SIZE_UNIT(TREE_TYPE(other)));
}

// Whether sanopt would drop the check of a store behind this one of a load. Of a read of a number
// in another block, it may: that has been told if nothing was there. A copy of a structure is not.
bool hides(gimple* load, gimple* store) {
  if (!operand_equal_p(gimple_call_arg(load, 1), gimple_call_arg(store, 1), 0)) return false;
  const basic_block block = gimple_bb(store);
  if (gimple_bb(load) != block) {
    return bytes_of_check(load) == 0 && dominated_by_p(CDI_DOMINATORS, block, gimple_bb(load));
  }
  auto at = gsi_for_stmt(load);
  while (!gsi_end_p(at) && gsi_stmt(at) != store) gsi_next(&at);
  return !gsi_end_p(at);
}

void keep_check(gimple* store) {
  const HOST_WIDE_INT bytes = bytes_of_check(store);
  const tree pointer = gimple_call_arg(store, 1);
  if (bytes == 0) {
    const tree type = build_function_type_list(void_type_node, ptr_type_node, sizetype, NULL_TREE);
    const tree size = fold_convert(sizetype, gimple_call_arg(store, 2));
    return replace_check(
        store, gimple_build_call(card_function("__asan_storeN_noabort", type), 2, pointer, size));
  }
  const std::string name = "__asan_store" + std::to_string(bytes) + "_noabort";
  const tree type = build_function_type_list(void_type_node, ptr_type_node, NULL_TREE);
  replace_check(store, gimple_build_call(card_function(name.c_str(), type), 1, pointer));
}

// `value = a[i]; a[i] = value + 1;`
class UncheckedStores {
 public:
  bool run() {
    basic_block block;
    FOR_EACH_BB_FN(block, cfun) {
      if (!continues(block)) elements_.clear();
      visit(block);
      before_ = block;
    }
    for (const Store& store : stores_) add_check(store);
    return !stores_.empty();
  }

 private:
  struct Store {
    gimple *stmt, *load_check;
  };
  struct Element {
    tree reference;
    gimple* check;
  };

  // As in g++: what was checked in the block before is known in its only successor.
  bool continues(basic_block block) const {
    return single_pred_p(block) && single_pred(block) == before_;
  }

  void visit(basic_block block) {
    tree announced = NULL_TREE;  // where the announced store will be
    for (auto at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) {
      gimple* const stmt = gsi_stmt(at);
      if (is_access_check(stmt, false)) {
        gimple* const load = load_of(stmt);
        if (load != nullptr) elements_.push_back({gimple_assign_rhs1(load), stmt});
      } else if (is_gimple_call(stmt) && !gimple_call_internal_p(stmt)) {
        if (is_announcement(stmt)) announced = pointed_root(gimple_call_arg(stmt, 0));
      } else if (announced != NULL_TREE && is_store_to(stmt, announced)) {
        announced = NULL_TREE;
      } else {
        find_unchecked(stmt);
      }
    }
  }

  // A copy of a structure is not announced.
  static bool is_store_to(gimple* stmt, tree root) {
    return gimple_store_p(stmt) && !is_copy(stmt) && root_of(gimple_get_lhs(stmt)) == root;
  }

  // Of a structure.
  static bool is_copy(gimple* stmt) {
    return gimple_assign_single_p(stmt) && !is_gimple_reg_type(TREE_TYPE(gimple_assign_lhs(stmt)));
  }

  // Of v++ (store_marks.h): the card then expects the store after the read.
  static bool is_announcement(gimple* call) {
    const tree function = gimple_call_fndecl(call);
    if (function == NULL_TREE || DECL_NAME(function) == NULL_TREE) return false;
    return std::strcmp(IDENTIFIER_POINTER(DECL_NAME(function)), "tandem_stored") == 0;
  }

  void find_unchecked(gimple* stmt) {
    if (!gimple_assign_single_p(stmt) || !gimple_store_p(stmt) || gimple_clobber_p(stmt)) return;
    if (is_checked(stmt)) return;
    for (const Element& element : elements_) {
      if (!are_same_bytes(element.reference, gimple_assign_lhs(stmt))) continue;
      return stores_.push_back({stmt, element.check});
    }
  }

  static bool is_checked(gimple* store) {
    auto at = gsi_for_stmt(store);
    for (gsi_prev(&at); !gsi_end_p(at); gsi_prev(&at)) {
      gimple* const stmt = gsi_stmt(at);
      if (is_access_check(stmt, true))
        return points_to(gimple_call_arg(stmt, 1), gimple_assign_lhs(store));
      if (!is_gimple_debug(stmt) && !is_access_check(stmt, false) && gimple_store_p(stmt))
        return false;
    }
    return false;
  }

  static void add_check(const Store& store) {
    auto at = gsi_for_stmt(store.stmt);
    const HOST_WIDE_INT flags = tree_to_shwi(gimple_call_arg(store.load_check, 0));
    gcall* const check = gimple_build_call_internal(
        IFN_ASAN_CHECK, 4, build_int_cst(integer_type_node, flags | ASAN_CHECK_STORE),
        gimple_call_arg(store.load_check, 1), gimple_call_arg(store.load_check, 2),
        gimple_call_arg(store.load_check, 3));
    gimple_set_location(check, gimple_location(store.stmt));
    gsi_insert_before(&at, check, GSI_SAME_STMT);
  }

  std::vector<Store> stores_;
  std::vector<Element> elements_;  // of checked reads
  basic_block before_ = nullptr;
};

}  // namespace

void keep_store_checks() {
  const auto checks_of = [](bool are_stores) {
    return statements_that([&](gimple* stmt) { return is_access_check(stmt, are_stores); });
  };
  const std::vector<gimple*> loads = checks_of(false);
  for (gimple* store : checks_of(true)) {
    if (std::any_of(loads.begin(), loads.end(), [&](gimple* load) { return hides(load, store); })) {
      keep_check(store);
    }
  }
}

bool check_all_stores() {
  calculate_dominance_info(CDI_DOMINATORS);
  return UncheckedStores().run();
}

}  // namespace tandem::loop_checks
