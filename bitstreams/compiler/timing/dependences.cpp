// SPDX-License-Identifier: Apache-2.0
//
// Two addresses of one iteration distance are equal when their indices differ by as many steps.
#include "bitstreams/compiler/timing/dependences.h"

#include <algorithm>
#include <cstdlib>

namespace tandem::timing {
namespace {

// The value that a phi receives from a block: "[ %x, %label ]".
std::string incoming(const IrInstruction& phi, const std::string& label) {
  for (const std::string& name : {"%" + label, "%\"" + label + "\""}) {
    const size_t at = phi.text.find(", " + name + " ]");
    if (at == std::string::npos) continue;
    const size_t open = phi.text.rfind("[ ", at);
    return phi.text.substr(open + 2, at - open - 2);
  }
  return {};
}

// Of a struct's member the IR has no name: a pragma for one holds for the struct.
template <typename Claims>
auto claim_for(const Claims& claims, const std::string& variable) {
  const auto exact = claims.find(variable);
  if (exact != claims.end()) return exact;
  const auto member = claims.lower_bound(variable + ".");
  if (member == claims.end()) return member;
  const std::string* name = nullptr;
  if constexpr (requires { member->first; }) {
    name = &member->first;
  } else {
    name = &*member;
  }
  return name->starts_with(variable + ".") ? member : claims.end();
}

// The compiler's flags allow sums of floating-point values in any order.
bool may_reorder(const IrInstruction& operation) {
  return operation.text.find(" fast ") != std::string::npos ||
         operation.text.find(" reassoc ") != std::string::npos;
}

}  // namespace

std::vector<Recurrence> DependenceFinder::find() const {
  std::vector<Recurrence> found;
  add_values(found);
  add_memory(found);
  return found;
}

void DependenceFinder::add_values(std::vector<Recurrence>& found) const {
  const IrLoop& loop = loops_[static_cast<size_t>(loop_)];
  for (const IrInstruction& phi : function_.blocks[static_cast<size_t>(loop.header)].instructions) {
    if (phi.opcode != "phi") break;
    for (const int latch : loop.latches) {
      const std::string next = incoming(phi, function_.blocks[static_cast<size_t>(latch)].label);
      const int block = addresses_.block_of(next);
      if (block < 0 || next == phi.result) continue;
      const int home = innermost_loop(loops_, block);
      if (home != loop_ && loop.blocks[static_cast<size_t>(block)]) {
        found.push_back({0, 1, home, true, "", phi.location});
        continue;
      }
      const auto path = body_.path(phi.result, next);
      const double reads = path ? device_reads(*path) : 0;
      if (path && (path->cycles > 1 || reads > 0)) {
        found.push_back({path->cycles, 1, -1, true, path->slowest, path->location, reads});
      }
    }
  }
}

// Of the loads on a path, those that are not of local memory.
double DependenceFinder::device_reads(const Path& path) const {
  return static_cast<double>(
      std::count_if(path.loads.begin(), path.loads.end(), [this](const IrInstruction* load) {
        return !addresses_.address_of(*load).local && !Addresses::pointer_of(*load).empty();
      }));
}

double DependenceFinder::chain(bool& balanced) const {
  const IrLoop& loop = loops_[static_cast<size_t>(loop_)];
  double longest = 0;
  balanced = false;
  for (const IrInstruction& phi : function_.blocks[static_cast<size_t>(loop.header)].instructions) {
    if (phi.opcode != "phi") break;
    if (step_of(phi.result) != 0) continue;
    for (const int latch : loop.latches) {
      const std::string next = incoming(phi, function_.blocks[static_cast<size_t>(latch)].label);
      const auto path = body_.path(phi.result, next);
      if (!path || path->length <= longest) continue;
      longest = path->length;
      const IrInstruction* const by = addresses_.definition(next);
      balanced = path->operations <= 1 && by != nullptr &&
                 (!path->slowest.starts_with("f") || may_reorder(*by));
    }
  }
  return longest;
}

std::vector<DependenceFinder::Update> DependenceFinder::updates_in(const BodySchedule& body) const {
  std::vector<const IrInstruction*> loads, stores;
  for (const int block : body.blocks()) {
    for (const IrInstruction& each : function_.blocks[static_cast<size_t>(block)].instructions) {
      if (each.opcode == "load") loads.push_back(&each);
      if (each.opcode == "store" && !each.operands.empty()) stores.push_back(&each);
    }
  }
  std::vector<Update> updates;
  for (const IrInstruction* const load : loads) {
    const MemoryAddress from = addresses_.address_of(*load);
    if (claim_for(memory_.independent, source_name(from.root)) != memory_.independent.end() ||
        begins_here(from.root)) {
      continue;
    }
    for (const IrInstruction* const store : stores) {
      const MemoryAddress to = addresses_.address_of(*store);
      if (to.root != from.root || to.local != from.local) continue;
      const auto path = body.path(load->result, store->operands[0]);
      if (path) updates.push_back({from, to, store->location, *path});
    }
  }
  return updates;
}

// The variable is declared in the loop, so each iteration has a new one.
bool DependenceFinder::begins_here(const std::string& variable) const {
  const IrLoop& loop = loops_[static_cast<size_t>(loop_)];
  for (size_t block = 0; block < function_.blocks.size(); ++block) {
    if (!loop.blocks[block]) continue;
    for (const IrInstruction& each : function_.blocks[block].instructions) {
      if (each.callee.starts_with("llvm.lifetime.start") && !each.operands.empty() &&
          addresses_.address_of_value(each.operands.back()).root == variable) {
        return true;
      }
    }
  }
  return false;
}

// A load of memory takes one cycle; the store ends in the cycle in which its value is ready.
double DependenceFinder::cycles_of(const Update& update) const {
  if (update.from.local && memory_.is_registers(update.from)) return update.path.cycles;
  return std::max(update.path.cycles, 1.0) + 1;
}

void DependenceFinder::add_memory(std::vector<Recurrence>& found) const {
  for (const Update& each : updates_in(body_)) {
    const Carried by = claimed(each.from, each.to);
    const double cycles = cycles_of(each);
    const double reads = device_reads(each.path) + (each.from.local ? 0 : 1);
    if (by.distance <= 0 || (cycles <= 1 && reads == 0)) continue;
    found.push_back({cycles, by.distance, -1, by.certain,
                     each.path.slowest.empty() ? "memory" : each.path.slowest, each.store, reads});
  }
  for (size_t inner = 0; inner < loops_.size(); ++inner) {
    const bool is_inside =
        loops_[static_cast<size_t>(loop_)].blocks[static_cast<size_t>(loops_[inner].header)];
    if (is_inside && static_cast<int>(inner) != loop_) {
      add_copies(static_cast<int>(inner), found);
    }
  }
}

// Of an index that steps inside, each copy has its own place; without one all copies use one place,
// one after the other.
void DependenceFinder::add_copies(int inner, std::vector<Recurrence>& found) const {
  for (const Update& each : updates_in(bodies_[static_cast<size_t>(inner)])) {
    if (!each.from.local || each.from.indices != each.to.indices) continue;
    bool stays = true, is_own = false;
    for (const LinearIndex& index : each.from.indices) {
      for (const auto& [value, factor] : index.terms) {
        if (!changes(value)) continue;
        stays = stays && step_of(value) == 0 && is_index(value);
        is_own = true;
      }
    }
    const double cycles = cycles_of(each);
    if (!stays || (is_own && cycles <= 1)) continue;
    const std::string what = each.path.slowest.empty() ? "memory" : each.path.slowest;
    if (is_own) {
      found.push_back({cycles, 1, -1, true, what, each.store});
    } else {
      const bool registers = memory_.is_registers(each.from);
      found.push_back({registers ? each.path.length : cycles, 1, inner, true, what, each.store});
    }
  }
}

// Of a loop in this one.
bool DependenceFinder::is_index(const std::string& value) const {
  const int block = addresses_.block_of(value);
  return addresses_.step_of(value) != 0 &&
         std::any_of(loops_.begin(), loops_.end(),
                     [block](const IrLoop& each) { return each.header == block; });
}

long DependenceFinder::step_of(const std::string& phi) const {
  const IrLoop& loop = loops_[static_cast<size_t>(loop_)];
  for (const IrInstruction& each :
       function_.blocks[static_cast<size_t>(loop.header)].instructions) {
    if (each.result != phi || each.opcode != "phi") continue;
    const std::string next =
        incoming(each, function_.blocks[static_cast<size_t>(loop.latches[0])].label);
    const LinearIndex step = addresses_.linear(next);
    const auto own = step.terms.find(phi);
    return step.terms.size() == 1 && own != step.terms.end() && own->second == 1 ? step.constant
                                                                                 : 0;
  }
  return 0;
}

bool DependenceFinder::changes(const std::string& value) const {
  const int block = addresses_.block_of(value);
  return block >= 0 && loops_[static_cast<size_t>(loop_)].blocks[static_cast<size_t>(block)];
}

DependenceFinder::Carried DependenceFinder::claimed(const MemoryAddress& load,
                                                    const MemoryAddress& store) const {
  const Carried found = carried(load, store);
  const auto claim = claim_for(memory_.distances, source_name(load.root));
  if (claim == memory_.distances.end() || found.distance <= 0) return found;
  return {std::max(found.distance, claim->second), true};
}

// The load of iteration i reads the store of iteration i - distance.
DependenceFinder::Carried DependenceFinder::carried(const MemoryAddress& load,
                                                    const MemoryAddress& store) const {
  if (load.indices.size() != store.indices.size()) return {1, false};
  bool moves = false;
  double distance = 0;
  for (size_t index = 0; index < load.indices.size(); ++index) {
    const LinearIndex& from = load.indices[index];
    const LinearIndex& to = store.indices[index];
    if (from.terms != to.terms) return {1, false};
    long step = 0;
    for (const auto& [value, factor] : from.terms) {
      const long own = step_of(value);
      if (own != 0) step += own * factor;
      if (own == 0 && changes(value)) return {1, true};  // it depends on data
    }
    const long ahead = to.constant - from.constant;
    if (step == 0 && ahead != 0) return {0, true};
    if (step == 0) continue;
    const double iterations = static_cast<double>(ahead) / static_cast<double>(step);
    if (moves && iterations != distance) return {0, true};
    moves = true;
    distance = iterations;
  }
  return {moves ? distance : 1, true};
}

}  // namespace tandem::timing
