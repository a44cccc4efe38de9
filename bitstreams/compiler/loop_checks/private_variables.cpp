// SPDX-License-Identifier: Apache-2.0
//
// A variable's scope begins again in each iteration around it, so a store that comes before a load
// on all paths is one of the same scope.
#include "bitstreams/compiler/loop_checks/private_variables.h"

#include "bitstreams/compiler/loop_checks/access_range.h"
#include "bitstreams/compiler/loop_checks/statements.h"

namespace tandem::loop_checks {
namespace {

struct Reference {
  gimple* stmt = nullptr;
  HOST_WIDE_INT begin = 0, end = 0;  // bits
};

struct Variable {
  tree declaration = NULL_TREE;
  bool is_shared = false;  // others may access it, or an access may lie outside of it
  std::vector<Reference> loads, stores;
  std::vector<gimple*> checks;
};

bool is_check(gimple* stmt) {
  return gimple_call_internal_p(stmt, IFN_ASAN_CHECK) ||
         gimple_call_internal_p(stmt, IFN_ASAN_MARK) ||
         gimple_call_internal_p(stmt, IFN_UBSAN_NULL);
}

unsigned pointer_index(gimple* check) {
  return gimple_call_internal_p(check, IFN_UBSAN_NULL) ? 0 : 1;
}

// `_7 = &variable.member`
bool takes_address(gimple* stmt) {
  return gimple_assign_single_p(stmt) && TREE_CODE(gimple_assign_rhs1(stmt)) == ADDR_EXPR &&
         TREE_CODE(gimple_assign_lhs(stmt)) == SSA_NAME;
}

// Checks of atomic and copied values of 1 to 16 bytes become those of numbers, which v++ makes
// inline. They do not reach more words of the card's map if the value is aligned.
void check_as_number(gimple* stmt) {
  const tree flags = gimple_call_arg(stmt, 0);
  const tree size = gimple_call_arg(stmt, 2);
  if ((tree_to_shwi(flags) & ASAN_CHECK_SCALAR_ACCESS) != 0 || !tree_fits_shwi_p(size)) return;
  const HOST_WIDE_INT bytes = tree_to_shwi(size);
  if (bytes < 1 || bytes > 16 || (bytes & (bytes - 1)) != 0) return;
  const tree pointer = gimple_call_arg(stmt, 1);
  const tree element = pointed_element(pointer);
  const unsigned known = element != NULL_TREE ? get_object_alignment(element) : 0;
  const unsigned bits = std::max(known, get_pointer_alignment(pointer));
  const auto wanted = static_cast<unsigned>(std::min<HOST_WIDE_INT>(bytes, 8) * BITS_PER_UNIT);
  if (bits < wanted) return;
  gimple_call_set_arg(
      stmt, 0,
      build_int_cst(integer_type_node,
                    tree_to_shwi(flags) | ASAN_CHECK_SCALAR_ACCESS | ASAN_CHECK_NON_ZERO_LEN));
  gimple_call_set_arg(stmt, 3, build_int_cst(integer_type_node, bits / BITS_PER_UNIT));
}

class PrivateVariables {
 public:
  bool run() {
    basic_block block;
    FOR_EACH_BB_FN(block, cfun) {
      for (auto at = gsi_start_phis(block); !gsi_end_p(at); gsi_next(&at)) visit_phi(at.phi());
      for (auto at = gsi_start_bb(block); !gsi_end_p(at); gsi_next(&at)) visit(gsi_stmt(at));
    }
    bool changed = false;
    for (Variable& variable : variables_) changed |= !variable.checks.empty() && drop(variable);
    return changed;
  }

 private:
  Variable* find(tree declaration) {
    if (declaration == NULL_TREE || !VAR_P(declaration)) return nullptr;
    if (!auto_var_in_fn_p(declaration, current_function_decl)) return nullptr;
    for (Variable& each : variables_) {
      if (each.declaration == declaration) return &each;
    }
    variables_.emplace_back();
    variables_.back().declaration = declaration;
    return &variables_.back();
  }
  Variable* pointed_by(tree pointer) {
    if (TREE_CODE(pointer) == SSA_NAME) {
      gimple* const made = SSA_NAME_DEF_STMT(pointer);
      if (!takes_address(made)) return nullptr;
      pointer = gimple_assign_rhs1(made);
    }
    if (TREE_CODE(pointer) != ADDR_EXPR) return nullptr;
    return find(get_base_address(TREE_OPERAND(pointer, 0)));
  }

  void visit_phi(gphi* phi) {
    for (unsigned index = 0; index < gimple_phi_num_args(phi); ++index) {
      const tree value = gimple_phi_arg_def(phi, index);
      if (TREE_CODE(value) != ADDR_EXPR) continue;
      if (Variable* const variable = find(get_base_address(TREE_OPERAND(value, 0)))) {
        variable->is_shared = true;
      }
    }
  }

  void visit(gimple* stmt) {
    if (is_gimple_debug(stmt)) return;
    if (is_check(stmt)) {
      Variable* const variable = pointed_by(gimple_call_arg(stmt, pointer_index(stmt)));
      if (variable != nullptr) variable->checks.push_back(stmt);
      return;
    }
    if (gimple_clobber_p(stmt)) return;
    if (takes_address(stmt) && only_checks_use(gimple_assign_lhs(stmt))) return;
    walk_stmt_load_store_addr_ops(stmt, this, on_load, on_store, on_address);
  }

  static bool only_checks_use(tree pointer) {
    imm_use_iterator uses;
    use_operand_p use;
    FOR_EACH_IMM_USE_FAST(use, uses, pointer) {
      gimple* const user = USE_STMT(use);
      if (!is_gimple_debug(user) && !is_check(user)) return false;
    }
    return true;
  }

  static bool on_load(gimple* stmt, tree, tree reference, void* self) {
    return static_cast<PrivateVariables*>(self)->note(stmt, reference, false);
  }
  static bool on_store(gimple* stmt, tree, tree reference, void* self) {
    return static_cast<PrivateVariables*>(self)->note(stmt, reference, true);
  }
  static bool on_address(gimple*, tree base, tree, void* self) {
    Variable* const variable = static_cast<PrivateVariables*>(self)->find(get_base_address(base));
    if (variable != nullptr) variable->is_shared = true;
    return false;
  }

  // The base of `MEM[&variable]` is the variable.
  bool note(gimple* stmt, tree reference, bool is_store) {
    Variable* const variable = find(get_base_address(reference));
    if (variable == nullptr) return false;
    poly_int64 offset, size, most;
    bool is_reverse = false;
    get_ref_base_and_extent(reference, &offset, &size, &most, &is_reverse);
    Reference found{stmt};
    HOST_WIDE_INT bits = 0;
    const tree whole = DECL_SIZE(variable->declaration);
    const bool is_known = known_eq(size, most) && offset.is_constant(&found.begin) &&
                          size.is_constant(&bits) && bits > 0 && tree_fits_shwi_p(whole);
    found.end = found.begin + bits;
    if (!is_known || found.begin < 0 || found.end > tree_to_shwi(whole)) {
      variable->is_shared = true;
    } else {
      (is_store ? variable->stores : variable->loads).push_back(found);
    }
    return false;
  }

  static bool comes_before(gimple* first, gimple* second) {
    if (gimple_bb(first) != gimple_bb(second)) {
      return dominated_by_p(CDI_DOMINATORS, gimple_bb(second), gimple_bb(first));
    }
    for (auto at = gsi_for_stmt(first); !gsi_end_p(at); gsi_next(&at)) {
      if (gsi_stmt(at) == second) return first != second;
    }
    return false;
  }

  // As the card sees it: a load is right if one of its bytes was stored.
  static bool is_stored_before(const Variable& variable, const Reference& load) {
    return std::any_of(variable.stores.begin(), variable.stores.end(), [&](const Reference& each) {
      return each.begin < load.end && load.begin < each.end && comes_before(each.stmt, load.stmt);
    });
  }

  static bool is_part(tree place) {
    return TREE_CODE(place) == REALPART_EXPR || TREE_CODE(place) == IMAGPART_EXPR;
  }

  // Of complex numbers that are set in parts, missing_values.h follows no values from one block to
  // another.
  static bool is_followed(const Variable& variable, const Reference& load) {
    return std::none_of(variable.stores.begin(), variable.stores.end(), [&](const Reference& each) {
      return is_part(gimple_get_lhs(each.stmt)) && gimple_bb(each.stmt) != gimple_bb(load.stmt);
    });
  }

  static bool drop(const Variable& variable) {
    if (variable.is_shared) return false;
    for (const Reference& load : variable.loads) {
      if (!is_stored_before(variable, load) || !is_followed(variable, load)) return false;
    }
    for (gimple* check : variable.checks) remove(check);
    return true;
  }

  // With the statement that takes the address for it: otherwise the variable stays in memory.
  static void remove(gimple* check) {
    const tree pointer = gimple_call_arg(check, pointer_index(check));
    erase(check);
    if (TREE_CODE(pointer) != SSA_NAME || !has_zero_uses(pointer)) return;
    if (gimple* const made = SSA_NAME_DEF_STMT(pointer); takes_address(made)) erase(made);
  }

  static void erase(gimple* stmt) {
    auto at = gsi_for_stmt(stmt);
    unlink_stmt_vdef(stmt);
    gsi_remove(&at, true);
    release_defs(stmt);
  }

  std::deque<Variable> variables_;
};

}  // namespace

bool drop_private_checks() {
  for (gimple* stmt :
       statements_that([](gimple* each) { return gimple_call_internal_p(each, IFN_ASAN_CHECK); })) {
    check_as_number(stmt);
  }
  calculate_dominance_info(CDI_DOMINATORS);
  return PrivateVariables().run();
}

}  // namespace tandem::loop_checks
