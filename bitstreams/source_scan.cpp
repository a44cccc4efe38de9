// SPDX-License-Identifier: Apache-2.0
//
// A scanner for one C++ function definition: enough for argument names, which types cannot give.
#include "bitstreams/source_scan.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "common/error.h"

namespace tandem::xclbin {
namespace {

bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Replaces comments and the contents of literals by blanks; the length stays.
std::string strip_comments(const std::string& text) {
  std::string out = text;
  for (size_t at = 0; at < out.size(); ++at) {
    size_t end = at;
    if (out.compare(at, 2, "//") == 0) {
      end = std::min(out.find('\n', at), out.size());
    } else if (out.compare(at, 2, "/*") == 0) {
      const size_t close = out.find("*/", at + 2);
      end = close == std::string::npos ? out.size() : close + 2;
    } else if (out[at] == '"') {
      end = at + 1;
      while (end < out.size() && out[end] != '"' && out[end] != '\n')
        end += out[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, out.size());
    } else {
      continue;
    }
    for (size_t blank = at; blank < end; ++blank) {
      if (out[blank] != '\n') out[blank] = ' ';
    }
    at = end - 1;
  }
  return out;
}

// Index behind the parenthesis that closes the one at `open`; npos when unbalanced.
size_t closing(const std::string& text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at + 1;
  }
  return std::string::npos;
}

std::vector<std::string> split_arguments(const std::string& list) {
  std::vector<std::string> arguments;
  std::string current;
  int depth = 0;
  for (char c : list) {
    if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == '>' || c == ']' || c == '}') --depth;
    if (c == ',' && depth == 0) {
      arguments.push_back(current);
      current.clear();
    } else {
      current += c;
    }
  }
  const bool blank = current.find_first_not_of(" \t\r\n") == std::string::npos;
  if (!arguments.empty() || !blank) arguments.push_back(current);
  return arguments;
}

// The last identifier of a declarator, array bounds and default value aside.
std::string declared_name(std::string declaration) {
  declaration = declaration.substr(0, declaration.find('='));
  const size_t template_end = declaration.rfind('>');
  const size_t bracket =
      declaration.find('[', template_end == std::string::npos ? 0 : template_end);
  declaration = declaration.substr(0, bracket);
  size_t end = declaration.size();
  while (end > 0 && !word_char(declaration[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && word_char(declaration[begin - 1])) --begin;
  return declaration.substr(begin, end - begin);
}

bool contains_word(const std::string& line, const std::string& word) {
  return line.find(word) != std::string::npos;
}

// From "#pragma HLS interface [mode=]ap_ctrl_none port=return" and the like.
Control control_of(const std::string& body) {
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) {
    if (!contains_word(line, "#pragma") || !contains_word(line, "HLS")) continue;
    if (contains_word(line, "ap_ctrl_none")) return Control::kNone;
    if (contains_word(line, "ap_ctrl_hs")) return Control::kHandshake;
  }
  return Control::kChain;
}

}  // namespace

KernelSource scan_kernel_source(const std::string& text, const std::string& kernel,
                                const std::string& path) {
  const std::string code = strip_comments(text);
  for (size_t at = code.find(kernel); at != std::string::npos; at = code.find(kernel, at + 1)) {
    const size_t after = at + kernel.size();
    if (at > 0 && word_char(code[at - 1])) continue;
    const size_t open = code.find_first_not_of(" \t\r\n", after);
    if (open == std::string::npos || code[open] != '(') continue;
    const size_t close = closing(code, open);
    if (close == std::string::npos) break;
    const size_t brace = code.find_first_not_of(" \t\r\n", close);
    if (brace == std::string::npos || code[brace] != '{') continue;
    KernelSource source;
    for (const std::string& argument : split_arguments(code.substr(open + 1, close - open - 2))) {
      source.argument_names.push_back(declared_name(argument));
    }
    source.control = control_of(code.substr(brace, code.find("\n}", brace) - brace));
    return source;
  }
  throw Error("xclbin", path + ": no definition of kernel '" + kernel +
                            "' found; if a macro makes it, list its arguments in the recipe");
}

}  // namespace tandem::xclbin
