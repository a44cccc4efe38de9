// SPDX-License-Identifier: Apache-2.0
//
// Pieces of the lines of LLVM's IR, for the changes of value_marks.h and access_marks.h.
//
// Typed pointers (LLVM 14) and opaque ones (15 and later). Pure. Source: LLVM Language Reference.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::opencl_c {

// A line of a function's body: `  %x = load i32, i32* %p, align 4`.
struct IrLine {
  std::string_view result;  // "%x"; empty: none
  std::string_view opcode;
  std::string_view rest;  // what follows the opcode
};
IrLine parse_line(std::string_view line);

// Parts between the commas that are in no brackets.
std::vector<std::string_view> parts_of(std::string_view text);
// The type at the beginning of "i32 %x" or "<4 x float>* @g".
std::string_view type_before(std::string_view text);
std::string_view trimmed(std::string_view text);
// The local names in a text: "%x", "%5", "%\"a b\"".
std::vector<std::string_view> names_in(std::string_view text);
bool has_opaque_pointers(std::string_view ir);
// "i32*", or "ptr".
std::string pointer_to(std::string_view type, bool opaque);
// A global of type `of` as a pointer to `type`.
std::string global_as(const std::string& name, const std::string& of, std::string_view type,
                      bool opaque);

// Calls each(line) for every line; its result replaces the line.
template <typename Each>
std::string each_line(std::string_view text, const Each& each) {
  std::string out;
  out.reserve(text.size() + text.size() / 2);
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) end = text.size();
    out += each(text.substr(begin, end - begin));
    out += '\n';
    begin = end + 1;
  }
  return out;
}

}  // namespace tandem::opencl_c
