// SPDX-License-Identifier: Apache-2.0
//
// Functions are visited callees first, so that a call without loops has a latency.
#include "bitstreams/compiler/timing/analysis.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "bitstreams/compiler/timing/addresses.h"
#include "bitstreams/compiler/timing/array_uses.h"
#include "bitstreams/compiler/timing/body_schedule.h"
#include "bitstreams/compiler/timing/dependences.h"
#include "bitstreams/compiler/timing/loop_pipelining.h"
#include "bitstreams/compiler/timing/loop_places.h"
#include "bitstreams/compiler/timing/loop_tree.h"
#include "bitstreams/compiler/timing/operators.h"
#include "bitstreams/compiler/timing/phases.h"
#include "bitstreams/compiler/timing/stream_points.h"

namespace tandem::timing {
namespace {

constexpr double kMostWordBytes = 512;  // of an hls::vector

class Analyser {
 public:
  Analyser(const IrModule& module, const KernelPragmas& pragmas, double clock_mhz)
      : module_(module), pragmas_(pragmas) {
    result_.model.clock_mhz = clock_mhz;
    for (const IrFunction& each : module.functions) by_name_[each.name] = &each;
  }

  Analysis run(const std::string& kernel) {
    for (const IrFunction& each : module_.functions) {
      if (result_.model.kernel.empty() && is_function(each.name, kernel)) {
        result_.model.kernel = each.name;
      }
    }
    visit(result_.model.kernel);
    add_operations(visited_, result_.model);
    for (const std::string& each : unknown_) {  // others are steps with times of their own
      if (!by_name_.contains(each)) result_.model.unknown.push_back(each);
    }
    result_.ports = pragmas_.ports;
    return std::move(result_);
  }

 private:
  void visit(const std::string& name) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end() || !seen_.insert(name).second) return;
    for (const IrBlock& block : found->second->blocks) {
      for (const IrInstruction& each : block.instructions) {
        if (!is_call(each)) continue;
        for (const auto& [callee, is_process] : callees(each)) visit(callee);
      }
    }
    add(*found->second);
  }

  void add(const IrFunction& function) {
    function_ = &function;
    loops_ = find_loops(function);
    local_bodies_.clear();
    note_bodies();
    FunctionModel model;
    model.name = function.name;
    first_counter_ = result_.model.num_counters;
    model.entry = first_counter_;
    visited_.emplace_back(&function, first_counter_);
    count_blocks();
    note_globals();
    const Addresses addresses(function);
    for (size_t index = 0; index < loops_.size(); ++index) {
      model.loops.push_back(loop_model(static_cast<int>(index), addresses));
    }
    apply_pragmas(model.loops, pragmas_.loops, last_lines_, loops_that_call_loops());
    join_nests(model.loops, local_bodies_);
    add_array_uses(model, addresses);
    const BodySchedule top(function, loops_, -1, result_.model.clock_mhz, latencies_);
    model.depth = top.depth();
    unknown_.insert(top.unknown().begin(), top.unknown().end());
    add_accesses(model, addresses);
    const PhaseFinder phases(function, loops_, addresses, [this](const std::string& callee) {
      const auto found = globals_.find(callee);
      return found == globals_.end() ? std::set<std::string>() : found->second;
    });
    model.phases = phases.find(model, call_lines_, copy_lines_);
    add_stream_points(function, loops_, static_cast<int>(result_.model.functions.size()),
                      first_counter_, latencies_, result_);
    if (loops_.empty() && model.sites.empty()) latencies_[function.name] = model.depth;
    result_.model.functions.push_back(std::move(model));
  }

  void note_bodies() {
    bodies_.clear();
    for (size_t index = 0; index < loops_.size(); ++index) {
      bodies_.emplace_back(*function_, loops_, static_cast<int>(index), result_.model.clock_mhz,
                           latencies_);
    }
  }

  // Also notes whether the function has loops itself.
  std::set<int> loops_that_call_loops() {
    std::set<int> found;
    if (!loops_.empty()) with_loops_.insert(function_->name);
    for (size_t block = 0; block < function_->blocks.size(); ++block) {
      for (const IrInstruction& each : function_->blocks[block].instructions) {
        if (!is_call(each)) continue;
        for (const auto& [callee, is_process] : callees(each)) {
          if (!with_loops_.contains(callee)) continue;
          with_loops_.insert(function_->name);
          found.insert(innermost_loop(loops_, static_cast<int>(block)));
        }
      }
    }
    return found;
  }

  // The variables that it and the functions that it calls use.
  void note_globals() {
    call_lines_.clear();
    copy_lines_.clear();
    std::set<std::string>& names = globals_[function_->name];
    for (const IrBlock& block : function_->blocks) {
      for (const IrInstruction& each : block.instructions) {
        for (const std::string& name : each.globals) names.insert(name.substr(1));
        const auto called = globals_.find(each.callee);
        if (called != globals_.end()) names.insert(called->second.begin(), called->second.end());
      }
    }
    for (const std::string& name : module_.constants) names.erase(name);
  }

  void add_array_uses(FunctionModel& model, const Addresses& addresses) const {
    const ArrayUses uses(*function_, loops_, addresses,
                         [this](const MemoryAddress& address) { return banks(address); });
    for (size_t index = 0; index < model.loops.size(); ++index) {
      const int loop = static_cast<int>(index);
      model.loops[index].arrays = uses.of_loop(loop, pipelined_around(model.loops, loop));
    }
  }

  void count_blocks() {
    for (const IrBlock& block : function_->blocks) {
      const int counter = result_.model.num_counters++;
      if (block.unwinds) continue;
      for (const IrInstruction& each : block.instructions) {
        if (each.opcode == "phi") continue;
        result_.blocks.push_back({each.line, counter});
        break;
      }
    }
  }

  LoopModel loop_model(int index, const Addresses& addresses) {
    const IrLoop& loop = loops_[static_cast<size_t>(index)];
    LoopModel model;
    model.parent = loop.parent;
    model.header = first_counter_ + loop.header;
    for (const int latch : loop.latches) model.latches.push_back(first_counter_ + latch);
    const IrBlock& header = block_at(loop.header);
    const bool exits =
        std::any_of(header.successors.begin(), header.successors.end(),
                    [&loop](int next) { return !loop.blocks[static_cast<size_t>(next)]; });
    const bool is_latch =
        std::find(loop.latches.begin(), loop.latches.end(), loop.header) != loop.latches.end();
    model.tests_first = exits && !is_latch;
    place(loop, model);
    count_entries(loop, model);
    const BodySchedule& body = bodies_[static_cast<size_t>(index)];
    model.depth = body.depth();
    if (only_makes_streams(*function_, loop)) model.unroll = 0;
    const LocalMemory memory{pragmas_.independent, pragmas_.distances,
                             [this](const MemoryAddress& address) { return banks(address) == 0; }};
    const DependenceFinder finder(*function_, loops_, index, addresses, bodies_, memory);
    model.recurrences = finder.find();
    for (Recurrence& each : model.recurrences) each.line = line_of(each.line);
    model.chain = finder.chain(model.balanced);
    unknown_.insert(body.unknown().begin(), body.unknown().end());
    model.fixed_trips = fixed_trips(*function_, loop, addresses);
    model.perfect = is_perfect(body);
    if (!model.perfect && is_local(body, addresses)) local_bodies_.insert(index);
    return model;
  }

  const IrBlock& block_at(int block) const { return function_->blocks[static_cast<size_t>(block)]; }

  int line_of(int location) const {
    const auto found = module_.places.find(location);
    return found == module_.places.end() ? 0 : found->second.line;
  }

  void place(const IrLoop& loop, LoopModel& model) {
    const LoopPlace found = loop_place(module_, *function_, loop);
    model.file = found.first.file;
    model.line = found.first.line;
    last_lines_[model.header] = found.last;
  }

  // The counter adds a value that is 1 when the loop is entered.
  void count_entries(const IrLoop& loop, LoopModel& model) {
    model.entries = result_.model.num_counters++;
    const IrBlock& header = block_at(loop.header);
    EntryCounter counter;
    counter.counter = model.entries;
    counter.phi_line = header.instructions[0].line;
    for (const IrInstruction& each : header.instructions) {
      counter.line = each.line;
      if (each.opcode != "phi") break;
    }
    for (const int before : header.predecessors) {
      auto& labels = loop.blocks[static_cast<size_t>(before)] ? counter.back : counter.entering;
      labels.push_back(block_at(before).label);
    }
    result_.entries.push_back(std::move(counter));
  }

  // Only indices and branches beside the loop inside.
  bool is_perfect(const BodySchedule& body) const {
    for (const int block : body.blocks()) {
      for (const IrInstruction& each : block_at(block).instructions) {
        if (each.opcode == "load" || each.opcode == "store") return false;
        if (is_call(each) && library_function(each.callee) != Library::kIgnored) return false;
        if (each.opcode.starts_with("f") && each.opcode != "freeze") return false;
      }
    }
    return true;
  }

  // Arithmetic on local memory, which can be part of an inner loop's first and last iterations.
  bool is_local(const BodySchedule& body, const Addresses& addresses) const {
    for (const int block : body.blocks()) {
      for (const IrInstruction& each : block_at(block).instructions) {
        const bool moves = each.opcode == "load" || each.opcode == "store";
        if (moves && !addresses.address_of(each).local) return false;
        if (is_call(each) && library_function(each.callee) != Library::kIgnored) return false;
      }
    }
    return true;
  }

  double banks(const MemoryAddress& address) const {
    const bool is_array = address.type.starts_with("[") || address.type.empty();
    if (!is_array) return 0;  // a scalar or a struct: registers
    // So is what an argument points to, where no index moves.
    const bool moves = std::any_of(address.indices.begin(), address.indices.end(),
                                   [](const LinearIndex& each) { return !each.terms.empty(); });
    if (address.type.empty() && !address.local && !moves) return 0;
    const std::vector<Partition>* const found = partition_of(pragmas_, source_name(address.root));
    return found == nullptr ? 1 : banks_of(*found, address.type);
  }

  void add_accesses(FunctionModel& model, const Addresses& addresses) {
    for (size_t block = 0; block < function_->blocks.size(); ++block) {
      const int loop = innermost_loop(loops_, static_cast<int>(block));
      for (const IrInstruction& each : function_->blocks[block].instructions) {
        const int counter = first_counter_ + static_cast<int>(block);
        if (each.opcode == "load" || each.opcode == "store") {
          add_access(model, addresses, each, counter, loop);
        } else if (is_call(each)) {
          add_call(model, addresses, each, counter, loop);
        }
      }
    }
  }

  void add_access(FunctionModel& model, const Addresses& addresses, const IrInstruction& each,
                  int block, int loop) {
    const MemoryAddress address = addresses.address_of(each);
    const bool writes = each.opcode == "store";
    const std::string pointer = Addresses::pointer_of(each);
    // What a process captured, such as its streams, is no memory.
    const bool is_pointer = each.type.ends_with('*') || each.type == "ptr";
    if (address.local || pointer.empty() || is_pointer) return;
    const unsigned bytes = bytes_of_type(each.type);
    const bool opaque = each.text.find("ptr " + pointer) != std::string::npos;
    add_site(model, {block, loop, writes, -1, static_cast<double>(bytes), source_name(address.root),
                     banks(address), line_of(each.location)});
    result_.sites.push_back(
        {each.line, last_site(), pointer, opaque ? "ptr" : each.type + "*", std::to_string(bytes)});
  }

  int last_site() const { return static_cast<int>(result_.model.sites.size()) - 1; }

  void add_site(FunctionModel& model, const SiteModel& site) {
    result_.model.sites.push_back(site);
    model.sites.push_back(last_site());
  }

  void add_call(FunctionModel& model, const Addresses& addresses, const IrInstruction& each,
                int block, int loop) {
    const Library library = library_function(each.callee);
    if (library == Library::kStreamRead || library == Library::kStreamWrite) model.streams = true;
    if (library == Library::kCopy) add_copy(model, addresses, each, block, loop);
    if (library == Library::kStreamRead || library == Library::kStreamWrite) {
      add_reference(model, addresses, each, block, loop);
    }
    for (const auto& [callee, is_process] : callees(each)) {
      if (!by_name_.contains(callee)) continue;
      model.calls.push_back({callee, block, loop, is_process});
      call_lines_[each.line] = static_cast<int>(model.calls.size()) - 1;
    }
  }

  // write(in[i]) loads through its second argument, and read(out[i]) stores. What is no device
  // memory there is a variable, in registers.
  void add_reference(FunctionModel& model, const Addresses& addresses, const IrInstruction& each,
                     int block, int loop) {
    const std::string_view key = "dereferenceable(";
    const size_t stream = each.text.find(key);
    const size_t at = stream == std::string::npos ? stream : each.text.find(key, stream + 1);
    if (at == std::string::npos || each.operands.size() < 2) return;
    const int bytes = std::atoi(each.text.c_str() + at + key.size());
    const std::string& pointer = each.operands[1];
    const MemoryAddress address = addresses.address_of_value(pointer);
    if (address.local || bytes <= 0) return;
    const bool writes = library_function(each.callee) == Library::kStreamRead;
    add_site(model, {block, loop, writes, -1, static_cast<double>(bytes), source_name(address.root),
                     0, line_of(each.location)});
    const size_t comma = each.text.rfind(", ", at);
    const std::string type =
        each.text.substr(comma + 2, each.text.find(' ', comma + 2) - comma - 2);
    result_.sites.push_back({each.line, last_site(), pointer, type, std::to_string(bytes)});
  }

  // A copy between variables that are no arrays: a word passes from registers to registers.
  static bool is_move(const Addresses& addresses, const IrInstruction& copy,
                      const std::string& size) {
    const double bytes = std::atof(size.c_str());
    return bytes > 0 && bytes <= kMostWordBytes &&
           std::all_of(copy.operands.begin(), copy.operands.begin() + 2,
                       [&addresses](const std::string& pointer) {
                         const MemoryAddress address = addresses.address_of_value(pointer);
                         return !address.type.empty() && !address.type.starts_with('[');
                       });
  }

  // Operands of a copy: destination, source, and the size if it is not a constant.
  void add_copy(FunctionModel& model, const Addresses& addresses, const IrInstruction& each,
                int block, int loop) {
    if (each.operands.size() < 2) return;
    const std::string arguments = each.text.substr(each.text.find('(') + 1);
    const size_t last = arguments.rfind("i64 ", arguments.find(')'));
    const size_t second = arguments.find(", i64 ");
    const size_t size_at = second == std::string::npos ? last : second + 2;
    if (size_at == std::string::npos) return;
    std::string size =
        arguments.substr(size_at + 4, arguments.find_first_of(",)", size_at) - size_at - 4);
    size = size.substr(size.rfind(' ') + 1);
    if (is_move(addresses, each, size)) return;
    double element = 0;
    for (int side = 0; side < 2; ++side) {
      const MemoryAddress address =
          addresses.address_of_value(each.operands[static_cast<size_t>(side)]);
      if (address.local && !address.type.empty()) element = copied_bytes(address.type, size);
    }
    copy_lines_[each.line] = last_site() + 1;
    for (int side = 0; side < 2; ++side) {
      const std::string& pointer = each.operands[static_cast<size_t>(side)];
      const MemoryAddress address = addresses.address_of_value(pointer);
      const int other = last_site() + (side == 0 ? 2 : 0);
      add_site(model, {block, loop, side == 0, other, element == 0 ? 4 : element,
                       array_name(address.root), banks(address), line_of(each.location)});
      const bool opaque = each.text.find("ptr") != std::string::npos;
      result_.sites.push_back({each.line, last_site(), pointer, opaque ? "ptr" : "i8*", size});
    }
  }

  const IrModule& module_;
  const KernelPragmas& pragmas_;
  std::map<std::string, const IrFunction*> by_name_;
  Analysis result_;
  std::set<std::string> seen_;
  std::set<std::string> unknown_;
  std::set<std::string> with_loops_;  // functions that have loops or call some
  std::map<std::string, double> latencies_;
  std::vector<BodySchedule> bodies_;                      // of the function's loops
  std::set<int> local_bodies_;                            // loops of the function, by index
  std::map<int, int> last_lines_;                         // of a loop, by its header's counter
  std::map<std::string, std::set<std::string>> globals_;  // by function
  std::map<std::size_t, int> call_lines_, copy_lines_;    // of the function, to indices
  const IrFunction* function_ = nullptr;
  std::vector<IrLoop> loops_;
  int first_counter_ = 0;
  std::vector<std::pair<const IrFunction*, int>> visited_;  // with the counter of the first block
};

}  // namespace

Analysis analyse(const IrModule& module, const KernelPragmas& pragmas, const std::string& kernel,
                 double clock_mhz) {
  return Analyser(module, pragmas, clock_mhz).run(kernel);
}

}  // namespace tandem::timing
