// SPDX-License-Identifier: Apache-2.0
//
// Paths are those of the loop's blocks without its branches back.
#include "bitstreams/compiler/timing/array_uses.h"

#include <algorithm>
#include <map>

#include "bitstreams/compiler/timing/operators.h"

namespace tandem::timing {
namespace {

// How many indices find an element of an array of structs of LLVM type `type`; 0: of others. Its
// members lie side by side in one word, as those of hls::vector.
size_t indices_of_struct(const std::string& type) {
  const size_t element = type.find("x %");
  if (!type.starts_with('[') || element == std::string::npos) return 0;
  const auto end = type.begin() + static_cast<std::ptrdiff_t>(element);
  return 1 + static_cast<size_t>(std::count(type.begin(), end, '['));
}

bool holds_block(const IrLoop& loop, int block) { return loop.blocks[static_cast<size_t>(block)]; }

}  // namespace

// The loop of whose iterations an access to a word is one: copies of inner loops that take other
// members of the same word share it.
int ArrayUses::home_of(const MemoryAddress& address, int loop, int pipelined) const {
  while (loop >= 0 && loop != pipelined) {
    for (const LinearIndex& index : address.indices) {
      for (const auto& [value, factor] : index.terms) {
        const int block = addresses_.block_of(value);
        if (block >= 0 && holds_block(loops_[static_cast<size_t>(loop)], block)) return loop;
      }
    }
    loop = loops_[static_cast<size_t>(loop)].parent;
  }
  return loop;
}

std::vector<ArrayUses::Access> ArrayUses::accesses_of(int loop, int pipelined) const {
  std::vector<Access> found;
  for (size_t block = 0; block < function_.blocks.size(); ++block) {
    const int inner = innermost_loop(loops_, static_cast<int>(block));
    if (inner < 0 ||
        (loop >= 0 && !holds_block(loops_[static_cast<size_t>(loop)], static_cast<int>(block)))) {
      continue;
    }
    for (const IrInstruction& each : function_.blocks[block].instructions) {
      if (each.opcode != "load" && each.opcode != "store") continue;
      MemoryAddress address = addresses_.address_of(each);
      if (!address.local && !Addresses::pointer_of(each).empty()) continue;
      const bool writes = each.opcode == "store";
      const size_t kept = indices_of_struct(address.type);
      const bool is_member = kept > 0 && address.indices.size() > kept;
      if (is_member) address.indices.resize(kept);
      const int home = is_member && pipelined >= 0 ? home_of(address, inner, pipelined) : inner;
      if (home != loop) continue;
      if (is_member) {
        const bool is_known = std::any_of(found.begin(), found.end(), [&](const Access& other) {
          return other.writes == writes && other.address.root == address.root &&
                 other.address.indices == address.indices;
        });
        if (is_known) continue;
      }
      found.push_back({static_cast<int>(block), writes, std::move(address)});
    }
  }
  return found;
}

bool ArrayUses::is_written_in(const std::string& array, int loop) const {
  const IrLoop& outer = loops_[static_cast<size_t>(loop)];
  for (size_t block = 0; block < function_.blocks.size(); ++block) {
    if (!outer.blocks[block]) continue;
    for (const IrInstruction& each : function_.blocks[block].instructions) {
      const bool is_call = each.opcode == "call" || each.opcode == "invoke";
      if (is_call && library_function(each.callee) == Library::kIgnored) continue;
      if (each.opcode == "store" && addresses_.address_of(each).root == array) return true;
      if (is_call &&
          std::any_of(each.operands.begin(), each.operands.end(), [&](const std::string& operand) {
            return addresses_.address_of_value(operand).root == array;
          })) {
        return true;
      }
    }
  }
  return false;
}

// Its indices change only with loops inside `pipelined`, which are unrolled.
bool ArrayUses::is_invariant(const Access& access, int loop, int pipelined) const {
  if (access.writes || pipelined < 0 || loop == pipelined) return false;
  if (is_written_in(access.address.root, pipelined)) return false;
  for (const LinearIndex& index : access.address.indices) {
    for (const auto& [value, factor] : index.terms) {
      const int block = addresses_.block_of(value);
      if (block < 0 || !holds_block(loops_[static_cast<size_t>(pipelined)], block)) continue;
      const bool is_index = std::any_of(loops_.begin(), loops_.end(), [&](const IrLoop& each) {
        return each.header == block && each.header != loops_[static_cast<size_t>(pipelined)].header;
      });
      if (!is_index || addresses_.step_of(value) == 0) return false;
    }
  }
  return true;
}

// Loads of one array whose indices differ by whole iterations are one.
void ArrayUses::drop_repeated_loads(std::vector<Access>& accesses, int loop) const {
  std::vector<Access> kept;
  for (const Access& each : accesses) {
    const bool is_repeated =
        !each.writes && !is_written_in(each.address.root, loop) &&
        std::any_of(kept.begin(), kept.end(), [&](const Access& other) {
          if (other.address.root != each.address.root ||
              other.address.indices.size() != each.address.indices.size()) {
            return false;
          }
          for (size_t index = 0; index < each.address.indices.size(); ++index) {
            const LinearIndex& a = each.address.indices[index];
            const LinearIndex& b = other.address.indices[index];
            long step = 0;
            for (const auto& [value, factor] : a.terms) {
              if (addresses_.block_of(value) != loops_[static_cast<size_t>(loop)].header) continue;
              step += factor * addresses_.step_of(value);
            }
            const long apart = a.constant - b.constant;
            if (a.terms != b.terms || (step == 0 ? apart != 0 : apart % step != 0)) return false;
          }
          return true;
        });
    if (!is_repeated) kept.push_back(each);
  }
  accesses = std::move(kept);
}

ArrayUse ArrayUses::along_busiest_path(const std::vector<Access>& accesses, int loop) const {
  const IrLoop& own = loops_[static_cast<size_t>(loop)];
  std::map<int, ArrayUse> best;  // up to the end of a block
  ArrayUse most;
  for (const int block : blocks_in_order(function_)) {
    if (!holds_block(own, block)) continue;
    ArrayUse here;
    for (const int before : function_.blocks[static_cast<size_t>(block)].predecessors) {
      const auto found = best.find(before);
      if (block == own.header || found == best.end()) continue;
      if (found->second.reads + found->second.writes > here.reads + here.writes) {
        here = found->second;
      }
    }
    for (const Access& each : accesses) {
      if (each.block == block) (each.writes ? here.writes : here.reads) += 1;
    }
    best[block] = here;
    if (here.reads + here.writes > most.reads + most.writes) most = here;
  }
  return most;
}

std::vector<ArrayUse> ArrayUses::of_loop(int loop, int pipelined) const {
  std::map<std::string, std::vector<Access>> by_array;
  std::map<std::string, ArrayUse> uses;
  for (Access& each : accesses_of(loop, pipelined)) {
    const std::string name = array_name(each.address.root);
    ArrayUse& use = uses[name];
    use.array = name;
    use.banks = banks_(each.address);
    if (is_invariant(each, loop, pipelined)) {
      use.invariant += 1;
    } else {
      by_array[name].push_back(std::move(each));
    }
  }
  std::vector<ArrayUse> result;
  for (auto& [name, use] : uses) {
    std::vector<Access>& accesses = by_array[name];
    drop_repeated_loads(accesses, loop);
    const ArrayUse path = along_busiest_path(accesses, loop);
    use.reads = path.reads;
    use.writes = path.writes;
    result.push_back(use);
  }
  return result;
}

}  // namespace tandem::timing
