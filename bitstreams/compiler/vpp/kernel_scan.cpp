// SPDX-License-Identifier: Apache-2.0
//
// Arguments are read from the parameter list and the interface pragmas of the body.
#include "bitstreams/compiler/vpp/kernel_scan.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "bitstreams/compiler/dataflow/hls_pragma.h"
#include "common/error.h"
#include "common/lower_case.h"

namespace tandem::vpp {
namespace {

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
