// SPDX-License-Identifier: Apache-2.0
//
// A function's lines are those from its head to the last instruction that it has.
#include "bitstreams/compiler/timing/inlined_functions.h"

#include <algorithm>
#include <map>

#include "bitstreams/compiler/timing/loop_pipelining.h"

namespace tandem::timing {
namespace {

struct FunctionLines {
  std::string name;
  SourceLine first;
  int last = 0;
};

std::vector<FunctionLines> lines_of_functions(const IrModule& module) {
  std::vector<FunctionLines> all;
  for (const IrFunction& function : module.functions) {
    const auto head = module.places.find(function.location);
    if (head == module.places.end()) continue;
    FunctionLines lines{function.name, head->second, head->second.line};
    for (const IrBlock& block : function.blocks) {
      for (const IrInstruction& each : block.instructions) {
        const auto place = module.places.find(each.location);
        if (place != module.places.end()) lines.last = std::max(lines.last, place->second.line);
      }
    }
    all.push_back(std::move(lines));
  }
  return all;
}

void add_callees(const std::map<std::string, const FunctionModel*>& functions,
                 const std::string& name, std::set<std::string>& found) {
  const auto function = functions.find(name);
  if (function == functions.end() || !found.insert(name).second) return;
  for (const CallModel& each : function->second->calls) add_callees(functions, each.callee, found);
}

}  // namespace

std::set<std::string> inlined_by_pragma(const IrModule& module, const KernelPragmas& pragmas) {
  const std::vector<FunctionLines> all = lines_of_functions(module);
  std::set<std::string> names;
  for (const SourceLine& at : pragmas.inlined) {
    int head = -1;  // of the innermost function around it, and of all its instances
    for (const FunctionLines& each : all) {
      if (in_same_file(each.first, at) && each.first.line <= at.line && at.line <= each.last) {
        head = std::max(head, each.first.line);
      }
    }
    for (const FunctionLines& each : all) {
      if (in_same_file(each.first, at) && each.first.line == head) names.insert(each.name);
    }
  }
  return names;
}

std::set<std::string> inlined_into_pipelines(const KernelModel& model) {
  std::map<std::string, const FunctionModel*> functions;
  for (const FunctionModel& each : model.functions) functions[each.name] = &each;
  std::set<std::string> names;
  for (const FunctionModel& function : model.functions) {
    for (const CallModel& call : function.calls) {
      if (pipelined_around(function.loops, call.loop) >= 0) {
        add_callees(functions, call.callee, names);
      }
    }
  }
  return names;
}

}  // namespace tandem::timing
