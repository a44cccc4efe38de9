// SPDX-License-Identifier: Apache-2.0
//
// What is added stands before the call, as the checks of other stores do.
#include "bitstreams/compiler/loop_checks/library_stores.h"

#include "bitstreams/compiler/loop_checks/gcc_headers.h"
#include "bitstreams/compiler/loop_checks/place_text.h"
#include "bitstreams/compiler/loop_checks/statements.h"
#include "bitstreams/compiler/loop_checks/stored_values.h"
#include "bitstreams/compiler/loop_checks/tokens.h"

namespace tandem::loop_checks {
namespace {

// The arguments of a call that point to results which it always stores.
std::vector<unsigned> result_arguments(gimple* call) {
  if (!gimple_call_builtin_p(call, BUILT_IN_NORMAL)) return {};
  // clang-format off
  switch (DECL_FUNCTION_CODE(gimple_call_fndecl(call))) {
    CASE_FLT_FN(BUILT_IN_FREXP):
    CASE_FLT_FN_REENT(BUILT_IN_LGAMMA):
    CASE_FLT_FN(BUILT_IN_MODF):
      return {1};
    CASE_FLT_FN(BUILT_IN_REMQUO):
      return {2};
    CASE_FLT_FN(BUILT_IN_SINCOS):
      return {1, 2};
    default:
      return {};
  }
  // clang-format on
}

// The type that the parameter `index` points to; null: it is no pointer.
tree pointed_type(gimple* call, unsigned index) {
  tree parameter = TYPE_ARG_TYPES(gimple_call_fntype(call));
  for (; index > 0 && parameter != NULL_TREE; --index) parameter = TREE_CHAIN(parameter);
  if (parameter == NULL_TREE || !POINTER_TYPE_P(TREE_VALUE(parameter))) return NULL_TREE;
  return TREE_TYPE(TREE_VALUE(parameter));
}

bool is_call_of(gimple* call, const char* name) {
  const tree function = gimple_call_fndecl(call);
  return function != NULL_TREE && DECL_NAME(function) != NULL_TREE &&
         std::strcmp(IDENTIFIER_POINTER(DECL_NAME(function)), name) == 0;
}

// Of integers and floating-point numbers; structures may have bytes between their members.
bool holds_numbers(tree variable) {
  const tree element = strip_array_types(TREE_TYPE(variable));
  return INTEGRAL_TYPE_P(element) || SCALAR_FLOAT_TYPE_P(element);
}

bool add_copied(gimple* call) {
  if (!is_call_of(call, "memcpy") || gimple_call_num_args(call) != 3) return false;
  const tree root = pointed_root(gimple_call_arg(call, 1));
  if (!VAR_P(root) || !holds_numbers(root)) return false;
  const tree type =
      build_function_type_list(void_type_node, ptr_type_node, ptr_type_node, sizetype, NULL_TREE);
  gcall* const copied = gimple_build_call(
      card_function("tandem_copied_array", type), 3, unshare_expr(gimple_call_arg(call, 1)),
      unshare_expr(gimple_call_arg(call, 0)), unshare_expr(gimple_call_arg(call, 2)));
  gimple_set_location(copied, gimple_location(call));
  auto at = gsi_for_stmt(call);
  gsi_insert_before(&at, copied, GSI_SAME_STMT);
  return true;
}

// Whether it calls a function of a library. Those of the kernel's other files have checks.
bool calls_library(gimple* call) {
  const tree function = gimple_call_fndecl(call);
  if (function == NULL_TREE || !DECL_EXTERNAL(function) || DECL_NAME(function) == NULL_TREE ||
      !DECL_IN_SYSTEM_HEADER(function)) {
    return false;
  }
  const char* const name = IDENTIFIER_POINTER(DECL_NAME(function));
  for (const char* begin : {"tandem_", "__asan_", "__ubsan_", "__atomic_", "__sync_", "__builtin_",
                            "memcpy", "memmove", "memset"}) {
    if (starts_with(name, begin)) return false;
  }
  return result_arguments(call).empty() && (gimple_call_flags(call) & (ECF_CONST | ECF_PURE)) == 0;
}

// What the function may store behind this argument; null: nothing.
tree stored_type(gimple* call, unsigned index) {
  const tree argument = gimple_call_arg(call, index);
  if (!POINTER_TYPE_P(TREE_TYPE(argument)) || integer_zerop(argument)) return NULL_TREE;
  const tree stated = pointed_type(call, index);
  const tree type = stated != NULL_TREE ? stated : TREE_TYPE(TREE_TYPE(argument));
  return TYPE_READONLY(type) || TREE_CODE(type) == FUNCTION_TYPE ? NULL_TREE : type;
}

void tell_written(gimple* call, tree pointer, tree bytes) {
  const tree type = build_function_type_list(void_type_node, ptr_type_node, sizetype, NULL_TREE);
  gcall* const written =
      gimple_build_call(card_function("tandem_written", type), 2, pointer, bytes);
  gimple_set_location(written, gimple_location(call));
  auto at = gsi_for_stmt(call);
  gsi_insert_before(&at, written, GSI_SAME_STMT);
}

// A pointer to single bytes is often one to many.
bool add_written(gimple* call, unsigned index) {
  const tree type = stored_type(call, index);
  if (type == NULL_TREE) return false;
  const tree argument = gimple_call_arg(call, index), root = pointed_root(argument);
  if (VAR_P(root)) {
    if (!auto_var_in_fn_p(root, current_function_decl)) return false;
    tell_written(call, build_fold_addr_expr(root), DECL_SIZE_UNIT(root));
    return true;
  }
  const HOST_WIDE_INT bytes = int_size_in_bytes(type);
  tell_written(call, unshare_expr(argument), build_int_cst(sizetype, bytes > 1 ? bytes : 0));
  return true;
}

bool add_check(gimple* call, unsigned index) {
  const tree type = pointed_type(call, index);
  if (type == NULL_TREE || TYPE_SIZE_UNIT(type) == NULL_TREE) return false;
  auto at = gsi_for_stmt(call);
  const tree argument = gimple_call_arg(call, index);
  const tree pointer = make_ssa_name(TREE_TYPE(argument));
  gimple* const address = gimple_build_assign(pointer, unshare_expr(argument));
  gcall* const check = gimple_build_call_internal(
      IFN_ASAN_CHECK, 4,
      build_int_cst(integer_type_node,
                    ASAN_CHECK_STORE | ASAN_CHECK_SCALAR_ACCESS | ASAN_CHECK_NON_ZERO_LEN),
      pointer, TYPE_SIZE_UNIT(type), build_int_cst(integer_type_node, TYPE_ALIGN_UNIT(type)));
  for (gimple* each : {address, static_cast<gimple*>(check)}) {
    gimple_set_location(each, gimple_location(call));
    gsi_insert_before(&at, each, GSI_SAME_STMT);
  }
  return true;
}

}  // namespace

bool check_library_stores() {
  bool has_changed = false;
  for (gimple* call : statements_that([](gimple* each) { return is_gimple_call(each); })) {
    for (const unsigned index : result_arguments(call)) has_changed |= add_check(call, index);
    has_changed |= add_copied(call);
    if (!calls_library(call)) continue;
    for (unsigned index = 0; index < gimple_call_num_args(call); ++index) {
      has_changed |= add_written(call, index);
    }
  }
  return has_changed;
}

}  // namespace tandem::loop_checks
