// SPDX-License-Identifier: Apache-2.0
//
// A scanner over braces. At namespace scope, the text between ';', '{' and '}' is the head of a
// declaration.
#include "bitstreams/compiler/vpp/kernel_scan.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>

#include "bitstreams/compiler/dataflow/hls_pragma.h"
#include "common/error.h"
#include "common/lower_case.h"

namespace tandem::vpp {
namespace {

constexpr size_t kNone = std::string_view::npos;

bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool blank_char(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// The index after the literal that starts at `at` ('"' or '\''); raw strings included.
size_t skip_literal(std::string_view text, size_t at) {
  const char quote = text[at];
  if (quote == '"' && at > 0 && text[at - 1] == 'R') {
    const size_t open = text.find('(', at);
    if (open == kNone) return text.size();
    const std::string close = ")" + std::string(text.substr(at + 1, open - at - 1)) + "\"";
    const size_t end = text.find(close, open);
    return end == kNone ? text.size() : end + close.size();
  }
  for (++at; at < text.size() && text[at] != quote && text[at] != '\n'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

// 1'000 is no character literal.
bool starts_literal(std::string_view text, size_t at) {
  return text[at] == '"' || (text[at] == '\'' && (at == 0 || !word_char(text[at - 1])));
}

size_t line_end(std::string_view text, size_t at) {
  return std::min(text.find('\n', at), text.size());
}

// The index after the bracket that closes the one at `open`; the text's size without one. Braces
// inside directives (#pragma lines) do not count.
size_t closing(std::string_view text, size_t open) {
  const char left = text[open];
  const char right = left == '(' ? ')' : (left == '[' ? ']' : '}');
  int depth = 0;
  bool line_start = false;
  for (size_t at = open; at < text.size();) {
    const char c = text[at];
    if (c == '#' && line_start) {
      at = line_end(text, at);
      continue;
    }
    if (starts_literal(text, at)) {
      at = skip_literal(text, at);
      continue;
    }
    if (c == left) ++depth;
    if (c == right && --depth == 0) return at + 1;
    line_start = c == '\n' || (line_start && blank_char(c));
    ++at;
  }
  return text.size();
}

// `head` with attributes, alignments and literals blanked; the length stays.
std::string plain_head(std::string_view head) {
  std::string out(head);
  const auto blank = [&](size_t begin, size_t end) {
    std::fill(out.begin() + static_cast<ptrdiff_t>(begin),
              out.begin() + static_cast<ptrdiff_t>(end), ' ');
  };
  for (size_t at = 0; at < out.size(); ++at) {
    if (starts_literal(out, at)) {
      const size_t end = skip_literal(out, at);
      blank(at, end);
      at = end - 1;
    } else if (out.compare(at, 2, "[[") == 0) {
      blank(at, closing(out, at));
    }
  }
  for (const char* word : {"__attribute__", "__attribute", "__declspec", "alignas", "_Alignas"}) {
    for (size_t at = out.find(word); at != std::string::npos; at = out.find(word, at + 1)) {
      const size_t open = out.find('(', at);
      if (open != std::string::npos) blank(at, closing(out, open));
    }
  }
  return out;
}

std::string first_word(const std::string& text) {
  size_t begin = 0;
  while (begin < text.size() && blank_char(text[begin])) ++begin;
  size_t end = begin;
  while (end < text.size() && word_char(text[end])) ++end;
  return text.substr(begin, end - begin);
}

enum class Scope : uint8_t { kNamespace, kLinkage };

class FunctionFinder {
 public:
  explicit FunctionFinder(std::string_view text) : text_(text) {}

  std::vector<FunctionDefinition> run() {
    bool line_start = true;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#' && line_start) {
        read_directive();
        continue;
      }
      line_start = c == '\n' || (line_start && blank_char(c));
      step(c);
    }
    return std::move(result_);
  }

 private:
  void step(char c) {
    if (starts_literal(text_, at_)) {
      at_ = skip_literal(text_, at_);
    } else if (c == '(') {
      at_ = closing(text_, at_);
    } else if (c == ';' || c == '}') {
      if (c == '}' && !scopes_.empty()) scopes_.pop_back();
      head_ = ++at_;
    } else if (c == '{') {
      open_brace();
    } else {
      ++at_;
    }
  }

  // A line marker (# 12 "file" flags) or a pragma.
  void read_directive() {
    const size_t end = line_end(text_, at_);
    const std::string_view line = text_.substr(at_, end - at_);
    const size_t quote = line.find('"');
    const size_t close = line.rfind('"');
    if (line.size() > 2 && line[1] == ' ' && std::isdigit(static_cast<unsigned char>(line[2])) &&
        quote != kNone && close > quote) {
      file_ = std::string(line.substr(quote + 1, close - quote - 1));
      system_ = line.find('3', close) != kNone;
    }
    // A directive between two declarations belongs to no head.
    const std::string_view before = text_.substr(head_, at_ - head_);
    if (std::all_of(before.begin(), before.end(), blank_char)) head_ = end;
    at_ = end;
  }

  void open_brace() {
    const std::string_view raw = text_.substr(head_, at_ - head_);
    const std::string head = plain_head(raw);
    const std::string word = first_word(head);
    const size_t open = at_;
    const bool linkage = word == "extern" && head.find('(') == std::string::npos;
    if (word == "namespace" || (word == "inline" && head.find("namespace") != std::string::npos) ||
        linkage) {
      scopes_.push_back(linkage ? Scope::kLinkage : Scope::kNamespace);
      head_ = ++at_;
      return;
    }
    at_ = closing(text_, open);
    add_function(raw, head, text_.substr(open + 1, std::max(at_, open + 2) - open - 2));
    // The text after the brace of a class or an initialiser still belongs to its declaration.
    head_ = at_;
  }

  void add_function(std::string_view raw, const std::string& head, std::string_view body) {
    const size_t open = parameter_list(head);
    if (open == std::string::npos || open == 0) return;
    size_t end = open;
    while (end > 0 && blank_char(head[end - 1])) --end;
    size_t begin = end;
    while (begin > 0 && word_char(head[begin - 1])) --begin;
    if (begin == end) return;
    const size_t close = closing(head, open);
    if (close <= open + 1) return;
    result_.push_back({head.substr(begin, end - begin), file_, system_, is_linkable(head, begin),
                       raw.substr(open + 1, close - open - 2), body, head.substr(0, begin)});
  }

  // `name`: the position of the function's name in its head.
  bool is_linkable(const std::string& head, size_t name) const {
    const size_t before = head.find_last_not_of(" \t\r\n", name - 1);
    const bool qualified = name > 0 && before != std::string::npos && head[before] == ':';
    const std::string word = first_word(head);
    const bool linkage =
        word == "extern" || std::count(scopes_.begin(), scopes_.end(), Scope::kLinkage) > 0;
    const bool global = std::count(scopes_.begin(), scopes_.end(), Scope::kNamespace) == 0;
    return !qualified && word != "template" && (linkage || global);
  }

  // The first parenthesis outside angle brackets; npos if the head is not that of a function.
  static size_t parameter_list(const std::string& head) {
    int angles = 0;
    for (size_t at = 0; at < head.size(); ++at) {
      if (head[at] == '<') ++angles;
      if (head[at] == '>' && angles > 0) --angles;
      if (angles > 0) continue;
      if (head[at] == '=') return std::string::npos;
      if (head[at] == '(') return at;
    }
    return std::string::npos;
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t head_ = 0;
  std::vector<Scope> scopes_;  // open ones
  std::string file_;
  bool system_ = false;
  std::vector<FunctionDefinition> result_;
};

std::vector<std::string> split_parameters(std::string_view list) {
  std::vector<std::string> parameters;
  std::string current;
  int depth = 0;
  for (char c : list) {
    if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == '>' || c == ']' || c == '}') --depth;
    if (c == ',' && depth == 0) {
      parameters.push_back(current);
      current.clear();
    } else {
      current += c == '\n' ? ' ' : c;
    }
  }
  if (!parameters.empty() || !std::all_of(current.begin(), current.end(), blank_char)) {
    parameters.push_back(current);
  }
  if (parameters.size() == 1 && parameters[0].find_first_not_of(" \t\rvoid") == std::string::npos &&
      first_word(parameters[0]) == "void") {
    parameters.clear();
  }
  return parameters;
}

struct Declarator {
  std::string name;      // empty when the parameter has none
  bool pointer = false;  // a pointer or an array
  std::string bound;     // bound of the first dimension; empty for a pointer
};

bool is_type_word(const std::string& word) {
  static const std::set<std::string> kWords = {
      "int",   "char",   "short",  "long",       "unsigned", "signed",
      "float", "double", "bool",   "void",       "const",    "volatile",
      "half",  "auto",   "size_t", "__restrict", "restrict", "__restrict__"};
  return kWords.count(word) > 0;
}

// `declaration` with blanks for the text in angle brackets; the length stays.
std::string without_templates(std::string declaration) {
  int depth = 0;
  for (char& c : declaration) {
    const bool opens = c == '<';
    const bool closes = c == '>' && depth > 0;
    if (opens) ++depth;
    if (closes) --depth;
    if (depth > 0 || closes) c = opens ? ' ' : '@';
  }
  return declaration;
}

Declarator read_declarator(const std::string& parameter) {
  const std::string head = plain_head(parameter);
  std::string text = without_templates(head);
  text = text.substr(0, text.find('='));
  Declarator result;
  const size_t bracket = text.find('[');
  if (bracket != std::string::npos) {
    const size_t close = text.find(']', bracket);
    result.pointer = true;
    result.bound = parameter.substr(bracket + 1, close - bracket - 1);
    text = text.substr(0, bracket);
  }
  result.pointer |= text.find('*') != std::string::npos;
  size_t end = text.size();
  while (end > 0 && !word_char(text[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && word_char(text[begin - 1])) --begin;
  const std::string name = text.substr(begin, end - begin);
  const bool alone = text.substr(0, begin).find_first_not_of(" \t\r\n:") == std::string::npos;
  if (!alone && !is_type_word(name) && text.find('@', end) == std::string::npos) result.name = name;
  return result;
}

struct Interface {
  std::set<std::string> modes;
  std::string bundle;
};

// The interface pragmas of a body, by port. The mode is written alone, or as mode=...
std::map<std::string, Interface> read_interfaces(std::string_view body) {
  std::map<std::string, Interface> ports;
  std::istringstream lines{std::string(body)};
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos || line[begin] != '#') continue;
    const xclbin::HlsPragma pragma = xclbin::parse_hls_pragma(line.substr(begin));
    if (pragma.kind != "interface") continue;
    std::string mode = lower_case(pragma.value("mode"));
    for (const auto& [key, value] : pragma.options) {
      if (mode.empty() && value.empty()) mode = key;
    }
    Interface& interface = ports[pragma.value("port")];
    interface.modes.insert(mode);
    const std::string bundle = pragma.value("bundle");
    if (mode == "m_axi" && !bundle.empty()) interface.bundle = bundle;
  }
  return ports;
}

xclbin::Control control_of(const std::map<std::string, Interface>& ports) {
  for (const auto& [port, interface] : ports) {
    if (port != "return" && !port.empty()) continue;
    if (interface.modes.count("ap_ctrl_none") > 0) return xclbin::Control::kNone;
    if (interface.modes.count("ap_ctrl_hs") > 0) return xclbin::Control::kHandshake;
  }
  return xclbin::Control::kChain;
}

ScannedArgument scan_argument(const std::string& parameter, size_t index,
                              const std::map<std::string, Interface>& ports) {
  const Declarator declarator = read_declarator(parameter);
  ScannedArgument argument;
  argument.name = declarator.name.empty() ? "arg" + std::to_string(index) : declarator.name;
  argument.global = declarator.pointer || parameter.find("burst_maxi") != std::string::npos;
  const auto found = ports.find(argument.name);
  if (found == ports.end()) return argument;
  const Interface& interface = found->second;
  argument.bundle = interface.bundle;
  if (declarator.pointer && interface.modes == std::set<std::string>{"s_axilite"}) {
    argument.register_elements = declarator.bound.empty() ? "1" : declarator.bound;
  }
  return argument;
}

[[noreturn]] void fail_unknown(const std::vector<FunctionDefinition>& functions,
                               const std::string& kernel, const std::string& file_name) {
  std::set<std::string> names;
  for (const FunctionDefinition& function : functions) {
    if (!function.in_system_header && function.name == kernel) {
      throw Error("v++", file_name + ": kernel '" + kernel +
                             "' is a template, a member or in a namespace; define it outside of "
                             "them, as extern \"C\"");
    }
    if (!function.in_system_header && function.linkable && names.size() < 20)
      names.insert(function.name);
  }
  std::string found;
  for (const std::string& name : names) found += (found.empty() ? "" : ", ") + name;
  throw Error("v++", file_name + ": no function '" + kernel +
                         "' is defined outside of namespaces; " +
                         (found.empty() ? "the source defines none" : "found: " + found));
}

// Refuses functions that compile but cannot be started as kernels.
void check_kernel(const FunctionDefinition& function, const std::string& file_name) {
  const auto fail = [&](const std::string& what) {
    throw Error("v++", file_name + ": kernel '" + function.name + "' " + what);
  };
  std::istringstream words(function.specifiers);
  bool is_void = false;
  for (std::string word; words >> word;) {
    if (word == "static") fail("is static; remove the word");
    is_void |= word == "void";
  }
  if (!is_void || function.specifiers.find('*') != std::string::npos) {
    fail("returns a value; a kernel returns void and writes results through its arguments");
  }
  for (const std::string& parameter : split_parameters(function.parameters)) {
    const std::string text = without_templates(plain_head(parameter));
    if (std::count(text.begin(), text.end(), '*') > 1) {
      fail("has the argument '" + parameter + "': no pointer to pointers can be an argument");
    }
  }
}

}  // namespace

std::vector<FunctionDefinition> find_functions(std::string_view text) {
  return FunctionFinder(text).run();
}

bool defines_kernel(const FunctionDefinition& function, const std::string& kernel) {
  return function.name == kernel && function.linkable && !function.in_system_header;
}

ScannedKernel scan_kernel(std::string_view text, const std::string& kernel,
                          const std::string& file_name) {
  const std::vector<FunctionDefinition> functions = find_functions(text);
  const auto found = std::find_if(
      functions.rbegin(), functions.rend(),
      [&](const FunctionDefinition& function) { return defines_kernel(function, kernel); });
  if (found == functions.rend()) fail_unknown(functions, kernel, file_name);
  for (const FunctionDefinition& other : functions) {
    if (defines_kernel(other, kernel) && other.parameters != found->parameters) {
      throw Error("v++", file_name + ": kernel '" + kernel +
                             "' is overloaded; give the functions different names");
    }
  }
  check_kernel(*found, file_name);
  const std::map<std::string, Interface> ports = read_interfaces(found->body);
  ScannedKernel result;
  result.control = control_of(ports);
  for (const std::string& parameter : split_parameters(found->parameters)) {
    result.arguments.push_back(scan_argument(parameter, result.arguments.size(), ports));
  }
  return result;
}

}  // namespace tandem::vpp
