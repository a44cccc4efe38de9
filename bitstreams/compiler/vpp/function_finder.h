// SPDX-License-Identifier: Apache-2.0
//
// Finds the functions that a C++ source defines.
//
// The input is the compiler's -E output: no comments, no macros, line markers, "#pragma" lines
// unchanged. Functions are found at namespace scope, through namespaces and extern "C" blocks.
// Bodies are skipped, so the cost is linear in the text. Errors: none. Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem::vpp {

struct FunctionDefinition {
  std::string name;
  std::string file;  // from the line marker before the definition
  bool in_system_header = false;
  bool linkable = false;        // at global scope or extern "C", no template, no member
  std::string_view parameters;  // between the parentheses
  std::string_view body;        // between the braces
  std::string specifiers;       // before the name: storage and type of the result
};

// The functions that `text` defines; the views are into it.
std::vector<FunctionDefinition> find_functions(std::string_view text);

bool word_char(char c);
bool blank_char(char c);

// `head` with attributes, alignments and literals blanked; the length stays.
std::string plain_head(std::string_view head);

// Empty when `text` begins with no word.
std::string first_word(const std::string& text);

}  // namespace tandem::vpp
