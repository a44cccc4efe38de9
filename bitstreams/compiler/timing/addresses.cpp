// SPDX-License-Identifier: Apache-2.0
//
// Steps from a pointer back to its variable, and from an index back to the values that it adds up.
#include "bitstreams/compiler/timing/addresses.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace tandem::timing {
namespace {

constexpr int kMostSteps = 64;
constexpr int kMostIndexSteps = 256;  // sums of sums would take as many as they have terms
constexpr std::string_view kConstant = "__const.";

// Of a static variable; not the byte that guards its initialisation.
bool is_mangled(const std::string& name) {
  return name.starts_with("_Z") && !name.starts_with("_ZGV");
}

// The last word of "i64 %x" or "i32 4".
std::string last_word(const std::string& text) {
  const size_t end = text.find_last_not_of(' ');
  const size_t blank = text.find_last_of(' ', end);
  return text.substr(blank + 1, end - blank);
}

// The parts of an instruction between commas outside of brackets, before its metadata.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text.substr(0, text.find(", !"))) {
    if (c == '(' || c == '[' || c == '{' || c == '<') ++depth;
    if (c == ')' || c == ']' || c == '}' || c == '>') --depth;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool is_number(const std::string& word) {
  return !word.empty() && (std::isdigit(word[0]) != 0 || (word[0] == '-' && word.size() > 1));
}

// The type that stands before `end`: "[8 x i32]" of "inbounds [8 x i32]".
std::string type_before(const std::string& text, size_t end) {
  int depth = 0;
  size_t begin = end;
  for (; begin > 0; --begin) {
    const char c = text[begin - 1];
    if (c == ']' || c == '}' || c == '>') ++depth;
    if (c == '[' || c == '{' || c == '<') --depth;
    if (depth == 0 && (c == ' ' || c == '(')) break;
  }
  return text.substr(begin, end - begin);
}

// That of a global variable, by a text with "[8 x i32]* @a" or, where pointers have no types,
// "getelementptr inbounds [8 x i32], ptr @a". Empty: not known.
std::string type_of_global(const std::string& text, const std::string& name) {
  const size_t at = text.find(" " + name);
  if (at == std::string::npos || at == 0) return {};
  if (text[at - 1] == '*') return type_before(text, at - 1);
  const bool is_step = text.rfind("getelementptr", at) != std::string::npos;
  const size_t comma = text.rfind(',', at);
  return is_step && comma != std::string::npos ? type_before(text, comma) : "";
}

LinearIndex scaled(LinearIndex index, long factor) {
  index.constant *= factor;
  for (auto& [name, each] : index.terms) each *= factor;
  return index;
}

LinearIndex sum(LinearIndex a, const LinearIndex& b) {
  a.constant += b.constant;
  for (const auto& [name, factor] : b.terms) {
    if ((a.terms[name] += factor) == 0) a.terms.erase(name);
  }
  return a;
}

}  // namespace

Addresses::Addresses(const IrFunction& function) {
  for (size_t block = 0; block < function.blocks.size(); ++block) {
    for (const IrInstruction& each : function.blocks[block].instructions) {
      if (!each.result.empty()) definitions_[each.result] = {&each, static_cast<int>(block)};
      const std::string to = each.opcode == "store" ? pointer_of(each) : "";
      if (!to.empty()) stored_[to].push_back(each.operands.empty() ? "" : each.operands[0]);
    }
  }
}

std::string Addresses::only_value(const std::string& pointer) const {
  const IrInstruction* const variable = definition(pointer);
  const auto found = stored_.find(pointer);
  if (variable == nullptr || variable->opcode != "alloca" || found == stored_.end() ||
      found->second.size() != 1 || found->second[0] == pointer) {
    return {};
  }
  return found->second[0];
}

std::string Addresses::pointer_of(const IrInstruction& access) {
  const std::vector<std::string> parts = parts_of(access.text);
  const std::string word = parts.size() > 1 ? last_word(parts[1]) : "";
  return word.starts_with("%") ? word : "";
}

int Addresses::block_of(const std::string& value) const {
  const auto found = definitions_.find(value);
  return found == definitions_.end() ? -1 : found->second.block;
}

const IrInstruction* Addresses::definition(const std::string& value) const {
  const auto found = definitions_.find(value);
  return found == definitions_.end() ? nullptr : found->second.instruction;
}

// One of what it gets is itself and a constant.
long Addresses::step_of(const std::string& phi) const {
  const IrInstruction* const by = definition(phi);
  if (by == nullptr || by->opcode != "phi") return 0;
  for (const std::string& incoming : by->operands) {
    const LinearIndex next = linear(incoming);
    const auto own = next.terms.find(phi);
    if (incoming != phi && next.terms.size() == 1 && own != next.terms.end() && own->second == 1) {
      return next.constant;
    }
  }
  return 0;
}

LinearIndex Addresses::linear(const std::string& text) const {
  int steps = kMostIndexSteps;
  return linear_within(text, steps);
}

// The sum's parts behind the first are added to the result; the walk goes on with the first.
LinearIndex Addresses::linear_within(const std::string& text, int& steps) const {
  Walk walk{text};
  for (; steps > 0; --steps) {
    if (is_number(walk.word)) {
      walk.result.constant += walk.factor * std::atol(walk.word.c_str());
      return walk.finished();
    }
    if (!step_back(walk, steps)) break;
  }
  walk.result = sum(walk.result, LinearIndex{{{walk.word, walk.factor}}, 0});
  return walk.finished();
}

LinearIndex Addresses::Walk::finished() const {
  LinearIndex index = result;
  if (is_low_word && index.constant > INT32_MAX) index.constant -= 1L << 32;
  return index;
}

bool Addresses::step_back(Walk& walk, int& steps) const {
  const IrInstruction* const by = definition(walk.word);
  if (by == nullptr) return false;
  const std::string& op = by->opcode;
  const std::vector<std::string> parts = parts_of(by->text);
  const std::string second = parts.size() > 1 ? last_word(parts[1]) : "";
  if (op == "sext" || op == "zext" || op == "trunc") {
    if (by->operands.empty()) return false;
    walk.word = by->operands[0];
    return true;
  }
  if (op == "and" && second == "4294967295") {  // an index of 32 bits that may be negative
    walk.is_low_word = true;
  } else if ((op == "add" || op == "sub" || (op == "or" && is_number(second))) &&
             parts.size() > 1) {
    const long factor = op == "sub" ? -walk.factor : walk.factor;
    walk.result = sum(walk.result, scaled(linear_within(second, --steps), factor));
  } else if ((op == "mul" || op == "shl") && is_number(second)) {
    const long by_number = std::atol(second.c_str());
    walk.factor *= op == "mul" ? by_number : 1L << std::min(by_number, 40L);
  } else {
    return false;
  }
  walk.word = last_word(parts[0]);
  return true;
}

void Addresses::add_indices(const IrInstruction& element, MemoryAddress& address) const {
  const std::vector<std::string> parts = parts_of(element.text);
  std::vector<LinearIndex> indices;
  for (size_t index = 2; index < parts.size(); ++index) {
    indices.push_back(linear(last_word(parts[index])));
  }
  address.indices.insert(address.indices.begin(), indices.begin(), indices.end());
}

MemoryAddress Addresses::address_of(const IrInstruction& access) const {
  const std::string pointer = pointer_of(access);
  if (!pointer.empty()) return address_of_value(pointer);
  MemoryAddress address;
  address.local = true;
  if (access.globals.empty()) return address;
  address.root = access.globals.back().substr(1);
  address.type = type_of_global(access.text, access.globals.back());
  return address;
}

MemoryAddress Addresses::address_of_value(const std::string& pointer) const {
  MemoryAddress address;
  std::string value = pointer;
  for (int step = 0; step < kMostSteps; ++step) {
    address.root = value.substr(1);
    const auto found = definitions_.find(value);
    if (found == definitions_.end()) return address;  // a parameter
    const IrInstruction& by = *found->second.instruction;
    if (by.opcode == "alloca") {
      address.local = true;
      address.type = by.type;
      return address;
    }
    const bool is_step = by.opcode == "getelementptr" || by.opcode == "bitcast";
    if (by.opcode == "getelementptr") add_indices(by, address);
    if (is_step && !by.globals.empty()) {
      address.local = true;
      address.root = by.globals[0].substr(1);
      address.type = type_of_global(by.text, by.globals[0]);
      return address;
    }
    const std::string kept = by.opcode == "load" ? only_value(pointer_of(by)) : "";
    if (!kept.empty()) {
      value = kept;
      continue;
    }
    if (!is_step || by.operands.empty()) return address;  // loaded, chosen or computed
    value = by.operands[0];
  }
  return address;
}

// "@__const.k.taps" is what a constant array of `k` begins with. The name of a static variable has
// that of its function or namespace: "_ZZ1kE4taps".
std::string source_name(const std::string& ir_name) {
  const size_t begin = ir_name.starts_with(kConstant) ? ir_name.find('.', kConstant.size()) + 1 : 0;
  const std::string name = ir_name.substr(begin, ir_name.find('.', begin) - begin);
  if (!is_mangled(name)) return name;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr), &std::free);
  if (plain == nullptr) return name;
  const std::string whole = plain.get();
  const size_t scope = whole.rfind("::");
  return scope == std::string::npos ? whole : whole.substr(scope + 2);
}

std::string array_name(const std::string& ir_name) {
  return is_mangled(ir_name) || ir_name.starts_with(kConstant) ? ir_name : source_name(ir_name);
}

}  // namespace tandem::timing
