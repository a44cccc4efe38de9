// SPDX-License-Identifier: Apache-2.0
//
// Steps in the order of the program; each is compared with those before it.
#include "bitstreams/compiler/timing/phases.h"

#include <algorithm>

#include "bitstreams/compiler/timing/loop_pipelining.h"
#include "bitstreams/compiler/timing/operators.h"

namespace tandem::timing {
namespace {

constexpr const char* kAnything = "*";

bool meet(const std::set<std::string>& a, const std::set<std::string>& b) {
  if (a.empty() || b.empty()) return false;
  if (a.contains(kAnything) || b.contains(kAnything)) return true;
  return std::any_of(a.begin(), a.end(),
                     [&b](const std::string& each) { return b.contains(each); });
}

// The values that a call passes as pointers: "i8* nonnull %x" or "ptr %x".
std::vector<std::string> pointer_arguments(const IrInstruction& call) {
  std::vector<std::string> found;
  const size_t open = call.text.find('(', call.text.find("@" + call.callee));
  if (open == std::string::npos) return found;
  std::string argument;
  int depth = 0;
  for (size_t at = open; at < call.text.size(); ++at) {
    const char c = call.text[at];
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (depth > 1 || (c != ',' && depth > 0)) {
      if (at > open) argument += c;
      continue;
    }
    const size_t value = argument.rfind('%');
    const bool is_pointer = argument.find("* ") != std::string::npos || argument.find("ptr ") < 2;
    if (is_pointer && value != std::string::npos &&
        argument.find(' ', value) == std::string::npos) {
      found.push_back(argument.substr(value));
    }
    argument.clear();
    if (depth == 0) break;
  }
  return found;
}

}  // namespace

std::string PhaseFinder::variable(const MemoryAddress& address) const {
  const bool is_parameter = std::find(function_.parameters.begin(), function_.parameters.end(),
                                      "%" + address.root) != function_.parameters.end();
  return address.local || is_parameter ? address.root : kAnything;
}

std::vector<PhaseFinder::Step> PhaseFinder::steps_of(
    int home, const FunctionModel& model, const std::map<std::size_t, int>& calls,
    const std::map<std::size_t, int>& copies) const {
  std::vector<Step> steps;
  std::map<int, size_t> by_loop;
  for (const int block : blocks_in_order(function_)) {
    int loop = innermost_loop(loops_, block);
    while (loop >= 0 && loop != home && loops_[static_cast<size_t>(loop)].parent != home) {
      loop = loops_[static_cast<size_t>(loop)].parent;
    }
    if (loop < 0 && home >= 0) continue;  // elsewhere
    for (const IrInstruction& each : function_.blocks[static_cast<size_t>(block)].instructions) {
      if (loop != home) {
        if (!by_loop.contains(loop)) {
          by_loop[loop] = steps.size();
          Step step;
          step.phase.home = home;
          step.phase.loop = loop;
          step.is_module = flattened(model.loops, loop) >= 0;
          steps.push_back(std::move(step));
        }
        steps[by_loop[loop]].instructions.push_back(&each);
        continue;
      }
      const auto call = calls.find(each.line), copy = copies.find(each.line);
      if (call == calls.end() && copy == copies.end()) continue;
      Step step;
      step.phase.home = home;
      step.phase.call = call == calls.end() ? -1 : call->second;
      step.phase.site = copy == copies.end() ? -1 : copy->second;
      step.instructions = {&each};
      steps.push_back(std::move(step));
    }
  }
  return steps;
}

// It is no array and no pointer, and is written once.
bool PhaseFinder::is_constant_scalar(const std::string& name) const {
  const IrInstruction* const variable = addresses_.definition("%" + name);
  if (variable == nullptr || variable->opcode != "alloca") return false;
  if (variable->type.starts_with('[') || variable->type.ends_with('*') || variable->type == "ptr") {
    return false;
  }
  int stores = 0;
  for (const IrBlock& block : function_.blocks) {
    for (const IrInstruction& each : block.instructions) {
      if (each.opcode == "store" && addresses_.address_of(each).root == name) ++stores;
    }
  }
  return stores <= 1;
}

// A process gets the addresses of its call's variables in an object.
void PhaseFinder::add_captured(const IrInstruction& start, Use& use) const {
  for (const std::string& pointer : pointer_arguments(start)) {
    const std::string object = addresses_.address_of_value(pointer).root;
    for (const IrBlock& block : function_.blocks) {
      for (const IrInstruction& each : block.instructions) {
        const bool is_address = each.type.ends_with('*') || each.type == "ptr";
        if (each.opcode != "store" || each.operands.empty() || !is_address ||
            addresses_.address_of(each).root != object) {
          continue;
        }
        const MemoryAddress captured = addresses_.address_of_value(each.operands[0]);
        if (captured.root == object || is_constant_scalar(captured.root)) continue;
        use.writes.insert(variable(captured));
      }
    }
  }
}

void PhaseFinder::add_memory(const IrInstruction& each, Use& use) const {
  if (each.opcode == "load") use.reads.insert(variable(addresses_.address_of(each)));
  if (each.opcode == "store") use.writes.insert(variable(addresses_.address_of(each)));
  if (each.opcode != "call" && each.opcode != "invoke") return;
  const Library library = library_function(each.callee);
  if (each.callee.starts_with("tandem_region_start")) return add_captured(each, use);
  if (library == Library::kIgnored) return;
  bool first = true;
  for (const std::string& pointer : pointer_arguments(each)) {
    const std::string name = variable(addresses_.address_of_value(pointer));
    if (library != Library::kCopy || !first) use.reads.insert(name);
    if (library != Library::kCopy || first) use.writes.insert(name);
    first = false;
  }
  for (const std::string& name : each.globals) use.writes.insert(name.substr(1));
  for (const std::string& name : globals_of_(each.callee)) use.writes.insert(name);
}

// Walks from the operands back to the steps that make them.
void PhaseFinder::add_operands(const IrInstruction& each, const std::map<std::string, int>& makers,
                               std::set<std::string>& seen, Use& use) const {
  for (const std::string& operand : each.operands) {
    if (!seen.insert(operand).second) continue;
    const auto maker = makers.find(operand);
    if (maker != makers.end()) {
      use.steps.insert(maker->second);
      continue;
    }
    const IrInstruction* const by = addresses_.definition(operand);
    if (by == nullptr) continue;
    if (by->opcode == "load") use.reads.insert(variable(addresses_.address_of(*by)));
    add_operands(*by, makers, seen, use);
  }
}

PhaseFinder::Use PhaseFinder::use_of(const Step& step,
                                     const std::map<std::string, int>& makers) const {
  Use use;
  std::set<std::string> seen;
  for (const IrInstruction* const each : step.instructions) {
    add_memory(*each, use);
    add_operands(*each, makers, seen, use);
  }
  return use;
}

std::vector<PhaseModel> PhaseFinder::find(const FunctionModel& model,
                                          const std::map<std::size_t, int>& calls,
                                          const std::map<std::size_t, int>& copies) const {
  std::vector<PhaseModel> phases;
  for (int home = -1; home < static_cast<int>(loops_.size()); ++home) {
    const std::vector<Step> steps = steps_of(home, model, calls, copies);
    const int first = static_cast<int>(phases.size());
    std::map<std::string, int> makers;
    for (size_t index = 0; index < steps.size(); ++index) {
      for (const IrInstruction* const each : steps[index].instructions) {
        if (!each->result.empty()) makers[each->result] = static_cast<int>(index);
      }
    }
    std::vector<Use> uses;
    for (size_t index = 0; index < steps.size(); ++index) {
      PhaseModel phase = steps[index].phase;
      uses.push_back(use_of(steps[index], makers));
      const Use& use = uses.back();
      for (size_t before = 0; before < index; ++before) {
        const Use& other = uses[before];
        if (steps[index].is_module && steps[before].is_module &&
            !use.steps.contains(static_cast<int>(before)) && !meet(use.reads, other.writes) &&
            !meet(use.writes, other.reads) && !meet(use.writes, other.writes)) {
          continue;
        }
        phase.after.push_back(first + static_cast<int>(before));
      }
      phases.push_back(std::move(phase));
    }
  }
  return phases;
}

}  // namespace tandem::timing
