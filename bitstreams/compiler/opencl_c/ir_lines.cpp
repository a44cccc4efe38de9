// SPDX-License-Identifier: Apache-2.0
//
// Brackets are counted; strings in quotes are skipped.
#include "bitstreams/compiler/opencl_c/ir_lines.h"

#include <algorithm>
#include <cctype>

namespace tandem::opencl_c {
namespace {

bool in_ir_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$' ||
         c == '-';
}

// After the name or number that begins with the sign at `at`.
size_t end_of_name(std::string_view text, size_t at) {
  if (at + 1 < text.size() && text[at + 1] == '"') {
    const size_t end = text.find('"', at + 2);
    return end == std::string_view::npos ? text.size() : end + 1;
  }
  size_t end = at + 1;
  while (end < text.size() && in_ir_name(text[end])) ++end;
  return end;
}

// After the bracket that closes the one at `open`.
size_t end_of_brackets(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '<' || c == '[' || c == '{' || c == '(') ++depth;
    if ((c == '>' || c == ']' || c == '}' || c == ')') && --depth == 0) return at + 1;
  }
  return text.size();
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

IrLine parse_line(std::string_view line) {
  IrLine parsed;
  std::string_view text = trimmed(line);
  if (text.starts_with('%')) {
    const size_t end = end_of_name(text, 0);
    if (text.substr(end, 3) != " = ") return parsed;
    parsed.result = text.substr(0, end);
    text.remove_prefix(end + 3);
  }
  for (const std::string_view before : {"tail ", "musttail ", "notail "}) {
    if (text.starts_with(before)) text.remove_prefix(before.size());
  }
  const size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return parsed;
  parsed.opcode = text.substr(0, blank);
  parsed.rest = trimmed(text.substr(blank));
  return parsed;
}

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      at = text.find('"', at + 1);
      if (at == std::string_view::npos) break;
    } else if (c == '<' || c == '[' || c == '{' || c == '(') {
      at = end_of_brackets(text, at) - 1;
    } else if (c == ',') {
      parts.push_back(trimmed(text.substr(begin, at - begin)));
      begin = at + 1;
    }
  }
  parts.push_back(trimmed(text.substr(std::min(begin, text.size()))));
  return parts;
}

std::string_view type_before(std::string_view text) {
  if (text.empty()) return text;
  size_t end = 0;
  const char c = text[0];
  if (c == '<' || c == '[' || c == '{') {
    end = end_of_brackets(text, 0);
  } else {
    end = c == '%' ? end_of_name(text, 0) : text.find_first_of(" *");
    if (end == std::string_view::npos) end = text.size();
  }
  while (end < text.size() && text[end] == '*') ++end;
  return text.substr(0, end);
}

std::vector<std::string_view> names_in(std::string_view text) {
  std::vector<std::string_view> names;
  for (size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at)) {
    const size_t end = end_of_name(text, at);
    names.push_back(text.substr(at, end - at));
    at = end;
  }
  return names;
}

bool has_opaque_pointers(std::string_view ir) {
  return ir.find(", ptr %") != std::string_view::npos ||
         ir.find(", ptr @") != std::string_view::npos;
}

std::string pointer_to(std::string_view type, bool opaque) {
  return opaque ? "ptr" : std::string(type) + "*";
}

std::string global_as(const std::string& name, const std::string& of, std::string_view type,
                      bool opaque) {
  if (opaque || of == type) return name;
  return "bitcast (" + of + "* " + name + " to " + std::string(type) + "*)";
}

}  // namespace tandem::opencl_c
