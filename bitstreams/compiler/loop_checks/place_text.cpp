// SPDX-License-Identifier: Apache-2.0
//
// Names the places of findings as the card expects them.
#include "bitstreams/compiler/loop_checks/place_text.h"

namespace tandem::loop_checks {
namespace {

// `pixel.red` of a member that has become a variable of its own.
std::string name_of(tree variable) {
  std::string member;
  if (DECL_HAS_DEBUG_EXPR_P(variable)) {
    const tree part = DECL_DEBUG_EXPR(variable), whole = get_base_address(part);
    if (TREE_CODE(part) == COMPONENT_REF && DECL_NAME(TREE_OPERAND(part, 1)) != NULL_TREE) {
      member = std::string(".") + IDENTIFIER_POINTER(DECL_NAME(TREE_OPERAND(part, 1)));
    }
    if (whole != NULL_TREE && DECL_P(whole) && DECL_NAME(whole) != NULL_TREE) variable = whole;
  }
  return IDENTIFIER_POINTER(DECL_NAME(variable)) + member;
}

tree text_of(const std::string& text) {
  return build_string_literal(static_cast<unsigned>(text.size()) + 1, text.c_str());
}

// Files that the card skips when it looks for the user's line.
bool is_header(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  for (const char* begin : {"ap_", "hls_", "tandem_", "kernel_glue", "x_hls_"}) {
    if (starts_with(name, begin) && std::strstr(name, ".h") != nullptr) return true;
  }
  return std::strcmp(name, "tandem-glue") == 0 || starts_with(path, "/usr/");
}

}  // namespace

bool starts_with(const char* text, const char* begin) {
  return std::strncmp(text, begin, std::strlen(begin)) == 0;
}

tree inlined_scope(tree block) {
  while (block != NULL_TREE && TREE_CODE(block) == BLOCK) {
    if (inlined_function_outer_scope_p(block)) return block;
    block = BLOCK_SUPERCONTEXT(block);
  }
  return NULL_TREE;
}

tree place_text(gimple* stmt, tree variable) {
  location_t place = gimple_location(stmt);
  tree block = inlined_scope(gimple_block(stmt));
  expanded_location where = expand_location(place);
  while (where.file != nullptr && is_header(where.file) && block != NULL_TREE) {
    where = expand_location(BLOCK_SOURCE_LOCATION(block));
    block = inlined_scope(BLOCK_SUPERCONTEXT(block));
  }
  const bool is_known = where.file != nullptr && !is_header(where.file);
  const std::string name = std::to_string(DECL_SOURCE_LINE(variable)) + ":" + name_of(variable);
  if (!is_known) return text_of(":0:" + name);
  return text_of(std::string(where.file) + ":" + std::to_string(where.line) + ":" + name);
}

}  // namespace tandem::loop_checks
