// SPDX-License-Identifier: Apache-2.0
//
// One pass over the lines; metadata is resolved at the end, since it follows the functions.
#include "bitstreams/compiler/timing/ir_text.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

#include "common/text_parts.h"

namespace tandem::timing {
namespace {

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '$' || c == '.' ||
         c == '_';
}

// The name at `at`, without '%', '@' or '!' and without quotes.
std::string name_at(std::string_view text, size_t at, size_t* end) {
  if (at < text.size() && text[at] == '"') {
    const size_t close = std::min(text.find('"', at + 1), text.size());
    *end = std::min(close + 1, text.size());
    return std::string(text.substr(at + 1, close - at - 1));
  }
  size_t last = at;
  while (last < text.size() && is_name_character(text[last])) ++last;
  *end = last;
  return std::string(text.substr(at, last - at));
}

int number_after(std::string_view text, std::string_view key) {
  const size_t found = text.find(key);
  if (found == std::string_view::npos) return -1;
  int value = 0;
  bool any = false;
  for (size_t at = found + key.size(); at < text.size() && std::isdigit(text[at]) != 0; ++at) {
    value = value * 10 + (text[at] - '0');
    any = true;
  }
  return any ? value : -1;
}

std::string quoted_after(std::string_view text, std::string_view key) {
  const size_t found = text.find(key);
  if (found == std::string_view::npos) return {};
  const size_t begin = found + key.size();
  return std::string(text.substr(begin, text.find('"', begin) - begin));
}

// Where the parameters end that follow a blank at `at` and make a pointer to a function of a type:
// "i1 (i8*)*". npos: none follow.
size_t end_of_parameters(std::string_view text, size_t at) {
  if (at + 1 >= text.size() || text[at] != ' ' || text[at + 1] != '(') return std::string::npos;
  int depth = 0;
  for (++at; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) break;
  }
  return at + 1 < text.size() && text[at + 1] == '*' ? at + 1 : std::string::npos;
}

// The first type in `text`: to a blank or comma outside of brackets, with its stars.
std::string first_type(std::string_view text) {
  int depth = 0;
  size_t end = 0;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (c == '(' || c == '[' || c == '{' || c == '<') ++depth;
    if (c == ')' || c == ']' || c == '}' || c == '>') --depth;
    const size_t parameters = depth == 0 ? end_of_parameters(text, end) : std::string::npos;
    if (parameters != std::string::npos) {
      end = parameters;
    } else if (depth < 0 || (depth == 0 && (c == ' ' || c == ','))) {
      break;
    }
  }
  return std::string(text.substr(0, end));
}

const std::set<std::string_view> kFlags = {
    "nuw",  "nsw",      "exact",    "fast",     "nnan",     "ninf",    "nsz",     "arcp",
    "afn",  "contract", "reassoc",  "inbounds", "volatile", "atomic",  "noundef", "zeroext",
    "tail", "musttail", "notail",   "fastcc",   "ccc",      "signext", "nonnull", "noalias",
    "nneg", "disjoint", "samesign", "inreg",    "weak",     "nusw"};
const std::set<std::string_view> kPredicates = {
    "eq",  "ne",  "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle",  "oeq",
    "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "une", "uno", "true", "false"};

class IrReader {
 public:
  explicit IrReader(std::string_view text) {
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      module_.lines.emplace_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  IrModule run() {
    for (line_ = 0; line_ < module_.lines.size(); ++line_) {
      const std::string& line = module_.lines[line_];
      if (line.starts_with("define ")) {
        read_function(line);
      } else if (line.starts_with("@") && line.find(" constant ") != std::string::npos) {
        size_t end = 0;
        module_.constants.insert(name_at(line, 1, &end));
      } else if (line.starts_with("!")) {
        read_metadata(line);
      }
    }
    resolve_places();
    return std::move(module_);
  }

 private:
  void read_function(const std::string& line) {
    IrFunction function;
    size_t end = 0;
    function.name = name_at(line, line.find('@') + 1, &end);
    function.location = number_after(line, "!dbg !");
    for (size_t at = end; at < line.size(); ++at) {
      if (line[at] != '%') continue;
      size_t after = 0;
      const std::string name = name_at(line, at + 1, &after);
      const size_t next = line.find_first_not_of(' ', after);
      if (next != std::string::npos && (line[next] == ',' || line[next] == ')')) {
        function.parameters.push_back("%" + name);
      }
      at = after - 1;
    }
    for (++line_; line_ < module_.lines.size() && module_.lines[line_] != "}"; ++line_) {
      read_body_line(function);
    }
    link(function);
    module_.functions.push_back(std::move(function));
  }

  void read_body_line(IrFunction& function) {
    const std::string& line = module_.lines[line_];
    if (line.empty() || line[0] == ';') return;
    if (line[0] != ' ') {
      size_t end = 0;
      IrBlock block;
      block.label = name_at(line, 0, &end);
      function.blocks.push_back(std::move(block));
      return;
    }
    if (function.blocks.empty()) function.blocks.emplace_back();
    IrInstruction instruction;
    instruction.line = line_;
    instruction.text = std::string(trimmed(line, " "));
    const bool is_invoke = instruction.text.find("invoke ") != std::string::npos;
    const bool is_switch = instruction.text.starts_with("switch ");
    while ((is_invoke && instruction.text.find("unwind label") == std::string::npos) ||
           (is_switch && instruction.text.find(']') == std::string::npos)) {
      if (++line_ >= module_.lines.size()) return;
      instruction.text += " " + std::string(trimmed(module_.lines[line_], " "));
    }
    parse(instruction);
    IrBlock& block = function.blocks.back();
    if (instruction.opcode == "landingpad") block.unwinds = true;
    const int loop = number_after(instruction.text, "!llvm.loop !");
    if (loop >= 0) block.loop = loop;
    block.instructions.push_back(std::move(instruction));
  }

  static void parse(IrInstruction& instruction) {
    std::string_view rest = instruction.text;
    if (rest.starts_with("%")) {
      size_t end = 0;
      instruction.result = "%" + name_at(rest, 1, &end);
      rest = trimmed(rest.substr(std::min(rest.find('=', end) + 1, rest.size())), " ");
    }
    instruction.location = number_after(rest, "!dbg !");
    const size_t metadata = rest.find(", !");
    if (metadata != std::string_view::npos) rest = rest.substr(0, metadata);
    const auto take_word = [&rest] {
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest = trimmed(rest.substr(word.size()), " ");
      return word;
    };
    instruction.opcode = std::string(take_word());
    while (kFlags.contains(instruction.opcode)) instruction.opcode = std::string(take_word());
    while (true) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      if (!kFlags.contains(word) && !kPredicates.contains(word)) break;
      take_word();
    }
    instruction.type = first_type(rest);
    read_operands(rest, instruction);
  }

  static void read_operands(std::string_view rest, IrInstruction& instruction) {
    for (size_t at = 0; at < rest.size(); ++at) {
      if (rest[at] == '"') {
        at = std::min(rest.find('"', at + 1), rest.size());
      } else if (rest[at] == '%' || rest[at] == '@') {
        size_t end = 0;
        const std::string name = rest[at] + name_at(rest, at + 1, &end);
        const bool called =
            instruction.callee.empty() && rest[at] == '@' && end < rest.size() && rest[end] == '(';
        if (called) instruction.callee = name.substr(1);
        if (rest[at] == '%') instruction.operands.push_back(name);
        if (rest[at] == '@' && !called) instruction.globals.push_back(name);
        at = end - 1;
      }
    }
  }

  // Successors by label, operands that are values of the function.
  static void link(IrFunction& function) {
    std::map<std::string, int> by_label;
    std::set<std::string> values(function.parameters.begin(), function.parameters.end());
    for (size_t index = 0; index < function.blocks.size(); ++index) {
      by_label["%" + function.blocks[index].label] = static_cast<int>(index);
      for (const IrInstruction& each : function.blocks[index].instructions) {
        if (!each.result.empty()) values.insert(each.result);
      }
    }
    for (size_t index = 0; index < function.blocks.size(); ++index) {
      IrBlock& block = function.blocks[index];
      if (!block.instructions.empty()) {
        const IrInstruction& last = block.instructions.back();
        for (const std::string& name : last.operands) {
          const auto found = by_label.find(name);
          const bool is_unwind = last.text.find("unwind label " + name) != std::string::npos;
          if (found == by_label.end() || last.opcode == "phi" || is_unwind) continue;
          if (std::find(block.successors.begin(), block.successors.end(), found->second) ==
              block.successors.end()) {
            block.successors.push_back(found->second);
            function.blocks[static_cast<size_t>(found->second)].predecessors.push_back(
                static_cast<int>(index));
          }
        }
      }
      for (IrInstruction& each : block.instructions) {
        if (each.opcode == "phi") continue;  // its labels are looked for
        std::erase_if(each.operands, [&](const std::string& name) {
          return !values.contains(name) || (by_label.contains(name) && each.result.empty());
        });
      }
    }
  }

  void read_metadata(const std::string& line) {
    const int number = number_after(line, "!");
    const size_t equals = line.find(" = ");
    if (number < 0 || equals == std::string::npos) return;
    const std::string_view value = std::string_view(line).substr(equals + 3);
    if (value.find("!DILocation(") != std::string_view::npos) {
      locations_[number] = {number_after(value, "line: "), number_after(value, "scope: !")};
    } else if (value.find("!DIFile(") != std::string_view::npos) {
      files_[number] = quoted_after(value, "filename: \"");
    } else if (value.starts_with("distinct !{!" + std::to_string(number) + ", ")) {
      std::string_view rest = value.substr(value.find(", ") + 2);
      const int first = number_after(rest, "!");
      const size_t comma = rest.find(", !");
      const int last =
          comma == std::string_view::npos ? -1 : number_after(rest.substr(comma + 2), "!");
      loops_[number] = {first, last};
    } else if (value.find("file: !") != std::string_view::npos) {
      scopes_[number] = number_after(value, "file: !");
      const bool is_function = value.find("!DISubprogram(") != std::string_view::npos;
      if (is_function) locations_[number] = {number_after(value, "line: "), number};
      if (!is_function) parents_[number] = number_after(value, "scope: !");
    }
  }

  // The function that a scope is, or is a block of.
  int owner_of(int scope) const {
    for (auto found = parents_.find(scope); found != parents_.end();) {
      scope = found->second;
      found = parents_.find(scope);
    }
    return scope;
  }

  void resolve_places() {
    for (const auto& [number, location] : locations_) {
      const auto scope = scopes_.find(location.second);
      const auto file = scope == scopes_.end() ? files_.end() : files_.find(scope->second);
      module_.places[number] = {file == files_.end() ? "" : file->second,
                                std::max(location.first, 0)};
      module_.owners[number] = owner_of(location.second);
    }
    for (const auto& [number, ends] : loops_) {
      const auto first = module_.places.find(ends.first);
      const auto last = module_.places.find(ends.second);
      if (first == module_.places.end()) continue;
      module_.loop_ends[number] = {first->second,
                                   last == module_.places.end() ? first->second : last->second};
    }
  }

  IrModule module_;
  size_t line_ = 0;
  std::map<int, std::pair<int, int>> locations_;  // line, scope
  std::map<int, int> scopes_;                     // file
  std::map<int, int> parents_;                    // of a block: the scope around it
  std::map<int, std::string> files_;
  std::map<int, std::pair<int, int>> loops_;  // locations of begin and end
};

}  // namespace

IrModule read_ir(std::string_view text) { return IrReader(text).run(); }

unsigned bytes_of_type(const std::string& type) {
  if (type.ends_with('*') || type.starts_with("ptr")) return 8;
  if (type == "half" || type == "bfloat") return 2;
  if (type == "float") return 4;
  if (type == "double") return 8;
  if (type.size() > 1 && type[0] == 'i' && std::isdigit(type[1]) != 0) {
    const unsigned bits = static_cast<unsigned>(number_after(type, "i"));
    unsigned bytes = 1;
    while (bytes * 8 < bits && bytes < 4096) bytes *= 2;
    return bytes;
  }
  if (type.size() > 2 && (type[0] == '<' || type[0] == '[')) {
    const size_t by = type.find(" x ");
    if (by == std::string::npos) return 8;
    const int count = number_after(type, type.substr(0, 1));
    const std::string element = type.substr(by + 3, type.size() - by - 4);
    return static_cast<unsigned>(std::max(count, 1)) * bytes_of_type(element);
  }
  return 8;
}

double copied_bytes(const std::string& type, const std::string& size) {
  double elements = 1;
  for (size_t at = 0; at < type.size() && type[at] == '['; at = type.find('[', at)) {
    elements *= std::max(1.0, std::atof(type.c_str() + at + 1));
    at = type.find(" x ", at) + 2;
    if (at + 1 >= type.size() || type[at + 1] != '[') break;
  }
  const double bytes = std::atof(size.c_str());
  const double each = bytes / elements;
  if (each >= 1 && each == static_cast<double>(static_cast<long>(each))) return each;
  const size_t inner = type.rfind(" x ");
  if (inner == std::string::npos) return bytes_of_type(type);
  return bytes_of_type(type.substr(inner + 3, type.find(']', inner) - inner - 3));
}

}  // namespace tandem::timing
