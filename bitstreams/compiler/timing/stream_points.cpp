// SPDX-License-Identifier: Apache-2.0
//
// The schedule of a loop's body is made again, once per loop that has points.
#include "bitstreams/compiler/timing/stream_points.h"

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>

#include "bitstreams/compiler/timing/body_schedule.h"
#include "bitstreams/compiler/timing/operators.h"

namespace tandem::timing {
namespace {

struct StreamArgument {
  std::string type, value;
};

// The argument that begins at `at`, to its comma or the bracket behind the last one.
std::string argument_at(const std::string& call, size_t at) {
  if (at >= call.size()) return {};
  int depth = 0;
  size_t end = at;
  for (; end < call.size(); ++end) {
    const char c = call[end];
    if (depth == 0 && (c == ',' || c == ')')) break;
    if (c == '(') ++depth;
    if (c == ')') --depth;
  }
  return call.substr(at, end - at);
}

// Of "call void @f(%"class.hls::stream"* nonnull align 8 %s, ...": its type and "%s". A struct that
// read() returns through memory comes before it.
StreamArgument stream_argument(const IrInstruction& call) {
  const size_t name = call.text.find("@" + call.callee);
  const size_t open = call.text.find('(', name);
  if (name == std::string::npos || open == std::string::npos) return {};
  std::string argument = argument_at(call.text, open + 1);
  if (argument.find(" sret(") != std::string::npos) {
    argument = argument_at(call.text, open + 1 + argument.size() + 2);
  }
  const size_t value = argument.rfind(' ');
  if (value == std::string::npos) return {};
  StreamArgument found;
  found.value = argument.substr(value + 1);
  if (found.value.empty() || (found.value[0] != '%' && found.value[0] != '@')) return {};
  const size_t star = argument.find("* ");
  found.type = star == std::string::npos ? "ptr" : argument.substr(0, star + 1);
  return found;
}

// What a write passes by reference: the store of it to the variable before, in the same block.
const IrInstruction* store_before(const IrBlock& block, const IrInstruction& call) {
  if (call.operands.size() < 2) return nullptr;
  const IrInstruction* found = nullptr;
  for (const IrInstruction& each : block.instructions) {
    if (each.line >= call.line) break;
    const bool stores = each.opcode == "store" && !each.operands.empty();
    if (stores && each.operands.back() == call.operands[1]) found = &each;
  }
  return found;
}

// The stream is an element of an array, and an index of it is a value of the loop.
bool varies_in(const IrFunction& function, const std::vector<IrLoop>& loops, int loop,
               const std::string& stream) {
  const auto made_in_loop = [&](const std::string& value, const IrInstruction*& by) {
    for (size_t block = 0; block < function.blocks.size(); ++block) {
      for (const IrInstruction& each : function.blocks[block].instructions) {
        if (each.result != value) continue;
        by = &each;
        return innermost_loop(loops, static_cast<int>(block)) == loop;
      }
    }
    return false;
  };
  const IrInstruction* by = nullptr;
  if (loop < 0 || !made_in_loop(stream, by) || by->opcode != "getelementptr") return false;
  const IrInstruction* index = nullptr;
  return std::any_of(by->operands.begin(), by->operands.end(),
                     [&](const std::string& operand) { return made_in_loop(operand, index); });
}

bool is_float_operation(const IrInstruction& each) {
  for (const char* name : {"fadd", "fsub", "fmul", "fdiv"}) {
    if (each.opcode == name) return true;
  }
  return each.opcode == "call" && each.callee.find("sqrt") != std::string::npos;
}

// Sums of indices are left out: they have a constant, or come from other indices.
double integer_operations(const IrBlock& block) {
  std::set<std::string> values;
  double operations = 0;
  for (const IrInstruction& each : block.instructions) {
    const bool comes_from_value =
        std::any_of(each.operands.begin(), each.operands.end(),
                    [&values](const std::string& operand) { return values.contains(operand); });
    const bool is_source = each.opcode == "load" || each.opcode == "mul" || each.opcode == "call";
    if (is_source || comes_from_value) values.insert(each.result);
    const bool sums = each.opcode == "add" || each.opcode == "sub";
    if (each.opcode == "mul" || (sums && comes_from_value)) ++operations;
  }
  return operations;
}

}  // namespace

void add_operations(const std::vector<std::pair<const IrFunction*, int>>& first_counters,
                    KernelModel& model) {
  std::vector<OperationCount> floats, integers;
  for (const auto& [function, first] : first_counters) {
    for (size_t block = 0; block < function->blocks.size(); ++block) {
      const IrBlock& each = function->blocks[block];
      const int counter = first + static_cast<int>(block);
      const auto count =
          std::count_if(each.instructions.begin(), each.instructions.end(), is_float_operation);
      if (count > 0) floats.push_back({counter, static_cast<double>(count)});
      const double whole = integer_operations(each);
      if (whole > 0) integers.push_back({counter, whole});
    }
  }
  model.operations = floats.empty() ? integers : floats;
}

void add_stream_points(const IrFunction& function, const std::vector<IrLoop>& loops, int number,
                       int first_counter, const std::map<std::string, double>& latencies,
                       Analysis& result) {
  std::map<int, std::unique_ptr<BodySchedule>> schedules;
  // The first cycle in which a stream is free again: it passes a value per cycle.
  std::map<std::tuple<int, std::string, bool>, double> free;
  for (size_t block = 0; block < function.blocks.size(); ++block) {
    if (function.blocks[block].unwinds) continue;
    for (const IrInstruction& each : function.blocks[block].instructions) {
      if (each.callee.starts_with("tandem_region_start")) {
        result.streams.push_back({each.line, number, "", ""});
        continue;
      }
      const Library library = library_function(each.callee);
      if (library != Library::kStreamRead && library != Library::kStreamWrite) continue;
      const StreamArgument stream = stream_argument(each);
      if (stream.value.empty()) continue;
      const int loop = innermost_loop(loops, static_cast<int>(block));
      auto& schedule = schedules[loop];
      if (schedule == nullptr) {
        schedule = std::make_unique<BodySchedule>(function, loops, loop, result.model.clock_mhz,
                                                  latencies);
      }
      double offset = schedule->cycle_of(each);
      if (const IrInstruction* const store = store_before(function.blocks[block], each)) {
        offset = std::max(offset, schedule->cycle_of(*store));
      }
      const bool writes = library == Library::kStreamWrite;
      double& next = free[{loop, stream.value, writes}];
      offset = std::max(offset, next);
      next = offset + 1;
      result.streams.push_back(
          {each.line, static_cast<int>(result.model.points.size()), stream.value, stream.type});
      result.model.points.push_back({number, loop, writes, offset,
                                     first_counter + static_cast<int>(block), stream.value,
                                     varies_in(function, loops, loop, stream.value)});
    }
  }
}

}  // namespace tandem::timing
