// SPDX-License-Identifier: Apache-2.0
//
// Looked at once per function: g++ drops the statements of a callee before it compiles the callers.
#include "bitstreams/compiler/loop_checks/pure_calls.h"

#include "bitstreams/compiler/loop_checks/place_text.h"
#include "bitstreams/compiler/loop_checks/statements.h"

namespace tandem::loop_checks {
namespace {

constexpr int kMostCallsInEachOther = 8;

bool computes_only(tree function, int depth);

// Of the card, or one that computes too.
bool is_harmless_call(gimple* call, int depth) {
  if (gimple_call_internal_p(call)) return true;
  const tree function = gimple_call_fndecl(call);
  if (function == NULL_TREE || DECL_NAME(function) == NULL_TREE) return false;
  const char* const name = IDENTIFIER_POINTER(DECL_NAME(function));
  for (const char* begin : {"tandem_", "__asan_", "__ubsan_", "__builtin___asan_"}) {
    if (starts_with(name, begin)) return true;
  }
  return (gimple_call_flags(call) & ECF_CONST) != 0 || computes_only(function, depth + 1);
}

bool is_harmless(gimple* stmt, tree function, int depth) {
  if (is_gimple_debug(stmt) || gimple_clobber_p(stmt)) return true;
  if (gimple_has_volatile_ops(stmt) || gimple_code(stmt) == GIMPLE_ASM) return false;
  if (is_gimple_call(stmt) && !is_harmless_call(stmt, depth)) return false;
  const tree result = gimple_get_lhs(stmt);
  if (result == NULL_TREE || TREE_CODE(result) == SSA_NAME) return true;
  const tree base = get_base_address(result);
  return base != NULL_TREE && VAR_P(base) && auto_var_in_fn_p(base, function);
}

bool looks_harmless(tree function, int depth) {
  struct function* const body = DECL_STRUCT_FUNCTION(function);
  if (!gimple_has_body_p(function) || body == nullptr || body->cfg == nullptr) return false;
  return find_statement(body, [&](gimple* stmt) { return !is_harmless(stmt, function, depth); }) ==
         nullptr;
}

// Of a function that calls itself, the calls inside count as harmless while it is looked at.
bool computes_only(tree function, int depth) {
  static std::map<unsigned, bool> known;
  if (depth > kMostCallsInEachOther) return false;
  const unsigned number = DECL_UID(DECL_ORIGIN(function));
  const auto [at, is_new] = known.emplace(number, true);
  if (!is_new) return at->second;
  const bool is_harmless = looks_harmless(function, depth);
  known[number] = is_harmless;
  return is_harmless;
}

}  // namespace

void note_function() { computes_only(current_function_decl, 0); }

bool only_computes_result(gimple* call) {
  const tree function = gimple_call_fndecl(call);
  if (function == NULL_TREE || stmt_ends_bb_p(call)) return false;
  return computes_only(function, 0);
}

}  // namespace tandem::loop_checks
