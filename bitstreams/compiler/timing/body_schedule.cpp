// SPDX-License-Identifier: Apache-2.0
//
// Blocks in an order in which operands come before their users; one pass gives all instants.
#include "bitstreams/compiler/timing/body_schedule.h"

#include <algorithm>

#include "bitstreams/compiler/timing/operators.h"

namespace tandem::timing {
namespace {

bool is_later(const Instant& a, const Instant& b) {
  return a.cycle != b.cycle ? a.cycle > b.cycle : a.ns > b.ns;
}

}  // namespace

BodySchedule::BodySchedule(const IrFunction& function, const std::vector<IrLoop>& loops, int loop,
                           double clock_mhz, const std::map<std::string, double>& calls)
    : function_(function), clock_mhz_(clock_mhz), calls_(calls) {
  order_blocks(loops, loop);
  schedule();
}

void BodySchedule::order_blocks(const std::vector<IrLoop>& loops, int loop) {
  if (loop >= 0) header_ = loops[static_cast<size_t>(loop)].header;
  for (const int block : blocks_in_order(function_)) {
    if (innermost_loop(loops, block) == loop) blocks_.push_back(block);
  }
}

Instant BodySchedule::after(const Instant& start, const IrInstruction& instruction) const {
  const auto call = calls_.find(instruction.callee);
  if (call != calls_.end()) return {start.cycle + call->second, 0};
  const OperatorTime time = operator_time(instruction, clock_mhz_);
  if (!time.known) {
    unknown_.insert(instruction.callee.empty() ? instruction.opcode : instruction.callee);
  }
  if (time.cycles > 0) return {start.cycle + time.cycles, time.ns};
  if (start.ns + time.ns > usable_ns(clock_mhz_)) return {start.cycle + 1, time.ns};
  return {start.cycle, start.ns + time.ns};
}

std::vector<std::string> BodySchedule::inputs(const IrInstruction& instruction, int block) const {
  std::vector<std::string> values = instruction.operands;
  if (instruction.opcode != "phi") return values;
  const auto add_condition = [&](int from) {
    const IrBlock& each = function_.blocks[static_cast<size_t>(from)];
    if (each.successors.size() < 2 || each.instructions.empty()) return false;
    const IrInstruction& branch = each.instructions.back();
    if (!branch.operands.empty()) values.push_back(branch.operands.front());
    return true;
  };
  for (const int from : function_.blocks[static_cast<size_t>(block)].predecessors) {
    if (add_condition(from)) continue;
    for (const int before : function_.blocks[static_cast<size_t>(from)].predecessors) {
      add_condition(before);
    }
  }
  return values;
}

void BodySchedule::schedule() {
  for (const int block : blocks_) {
    for (const IrInstruction& each : function_.blocks[static_cast<size_t>(block)].instructions) {
      Instant start;
      const bool is_carried = each.opcode == "phi" && block == header_;
      for (const std::string& operand : inputs(each, block)) {
        const auto found = values_.find(operand);
        if (!is_carried && found != values_.end() && is_later(found->second, start)) {
          start = found->second;
        }
      }
      const Instant end = after(start, each);
      starts_[each.line] = start.cycle;
      if (!each.result.empty()) values_[each.result] = end;
      depth_ = std::max(depth_, end.cycle + 1);
    }
  }
}

double BodySchedule::cycle_of(const IrInstruction& instruction) const {
  const auto found = starts_.find(instruction.line);
  return found == starts_.end() ? 0 : found->second;
}

BodySchedule::Reached BodySchedule::next(const Reached& before,
                                         const IrInstruction& instruction) const {
  Reached reached = before;
  reached.at = after(before.at, instruction);
  const double cost = reached.at.cycle - before.at.cycle;
  if (cost > reached.slowest) {
    reached.slowest = cost;
    reached.path.slowest = instruction.opcode == "call" ? instruction.callee : instruction.opcode;
    reached.path.location = instruction.location;
  }
  if (cost != 0 || reached.at.ns != before.at.ns) reached.path.operations += 1;
  if (instruction.opcode == "load") reached.path.loads.push_back(&instruction);
  return reached;
}

std::optional<Path> BodySchedule::path(const std::string& from, const std::string& to) const {
  std::map<std::string, Reached> reached = {{from, {}}};
  for (const int block : blocks_) {
    for (const IrInstruction& each : function_.blocks[static_cast<size_t>(block)].instructions) {
      if (each.result.empty() || reached.contains(each.result)) continue;
      if (each.opcode == "phi" && block == header_) continue;
      const Reached* latest = nullptr;
      for (const std::string& operand : inputs(each, block)) {
        const auto found = reached.find(operand);
        if (found == reached.end()) continue;
        if (latest == nullptr || is_later(found->second.at, latest->at)) latest = &found->second;
      }
      if (latest != nullptr) reached.emplace(each.result, next(*latest, each));
    }
  }
  const auto end = reached.find(to);
  if (end == reached.end()) return std::nullopt;
  Path path = end->second.path;
  const Instant& at = end->second.at;
  path.cycles = at.cycle + (at.ns > 0 ? 1 : 0);
  path.length = at.cycle + at.ns / usable_ns(clock_mhz_);
  return path;
}

}  // namespace tandem::timing
