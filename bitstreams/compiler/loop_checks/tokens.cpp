// SPDX-License-Identifier: Apache-2.0
//
// Tokens are SSA names of their own, so that g++ removes those that are known to be null.
#include "bitstreams/compiler/loop_checks/tokens.h"

namespace tandem::loop_checks {

tree card_function(const char* name, tree type) {
  const tree function = build_fn_decl(name, type);
  SET_DECL_ASSEMBLER_NAME(function, get_identifier(name));
  TREE_NOTHROW(function) = 1;
  DECL_ATTRIBUTES(function) = tree_cons(get_identifier("leaf"), NULL_TREE, NULL_TREE);
  return function;
}

tree token_type() { return ptr_type_node; }
tree null_token() { return null_pointer_node; }

tree choose_token(tree a, tree b, tree c, tree d, gimple_seq* code) {
  if (c == d) return c;
  const tree is_equal = make_ssa_name(boolean_type_node), result = make_ssa_name(token_type());
  gimple_seq_add_stmt(code, gimple_build_assign(is_equal, EQ_EXPR, a, b));
  gimple_seq_add_stmt(code, gimple_build_assign(result, COND_EXPR, is_equal, c, d));
  return result;
}

tree first_token(tree one, tree other, gimple_seq* code) {
  if (one == null_token()) return other;
  return choose_token(one, null_token(), other, one, code);
}

}  // namespace tandem::loop_checks
