// SPDX-License-Identifier: Apache-2.0
//
// Functions come after those that they call, so they are visited from the last one on.
#include "bitstreams/compiler/timing/static_counts.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace tandem::timing {
namespace {

constexpr std::uint64_t kArgumentSpace = std::uint64_t{1} << 32;

class StaticCounter {
 public:
  StaticCounter(const Analysis& analysis, const std::vector<TimedArgument>& ports)
      : analysis_(analysis), model_(analysis.model) {
    result_.arguments = ports;
    for (std::size_t index = 0; index < ports.size(); ++index) {
      result_.arguments[index].address = index * kArgumentSpace;
    }
    result_.counts.counters.resize(static_cast<std::size_t>(model_.num_counters));
    result_.counts.sites.resize(model_.sites.size());
    for (const FunctionModel& each : model_.functions) calls_[each.name] = 0;
  }

  StaticCounts run() {
    if (model_.functions.empty()) return std::move(result_);
    calls_[model_.kernel] = 1;
    for (auto function = model_.functions.rbegin(); function != model_.functions.rend();
         ++function) {
      count(*function);
    }
    return std::move(result_);
  }

 private:
  std::uint64_t& counter(int index) {
    return result_.counts.counters[static_cast<std::size_t>(index)];
  }

  // Blocks that are no part of a loop's head or end are counted by those who use them.
  void count_block(int block, std::uint64_t times) {
    if (counter(block) == 0) counter(block) = times;
  }

  static bool is_region(const FunctionModel& function) {
    return std::any_of(function.calls.begin(), function.calls.end(),
                       [](const CallModel& call) { return call.process; });
  }

  // A region's text also has its calls one after the other, for programs without a runtime. There
  // they are the same loops and calls as in its processes.
  bool is_second(const FunctionModel& region, const LoopModel& loop) const {
    return is_region(region) && elsewhere(region, [&loop](const FunctionModel& other) {
             return std::any_of(other.loops.begin(), other.loops.end(), [&](const LoopModel& each) {
               return each.file == loop.file && each.line == loop.line;
             });
           });
  }
  bool is_second(const FunctionModel& region, const CallModel& call) const {
    return is_region(region) && !call.process && elsewhere(region, [&](const FunctionModel& other) {
             return std::any_of(other.calls.begin(), other.calls.end(),
                                [&](const CallModel& each) { return each.callee == call.callee; });
           });
  }
  template <typename Condition>
  bool elsewhere(const FunctionModel& function, const Condition& condition) const {
    return std::any_of(model_.functions.begin(), model_.functions.end(),
                       [&](const FunctionModel& other) {
                         return other.name != function.name && condition(other);
                       });
  }

  void count(const FunctionModel& function) {
    const std::uint64_t times = calls_[function.name];
    counter(function.entry) = times;
    iterations_.assign(function.loops.size(), 0);
    for (std::size_t index = 0; index < function.loops.size(); ++index) {
      const bool runs = !is_second(function, function.loops[index]);
      count_loop(function.loops[index], index, runs ? times : 0);
    }
    const auto around = [&](int loop) {
      return loop < 0 ? times : iterations_[static_cast<std::size_t>(loop)];
    };
    for (const CallModel& call : function.calls) {
      if (is_second(function, call)) continue;
      count_block(call.block, around(call.loop));
      const auto called = calls_.find(call.callee);
      if (called != calls_.end()) called->second += around(call.loop);
    }
    for (const int site : function.sites) {
      const SiteModel& each = model_.sites[static_cast<std::size_t>(site)];
      count_site(site, around(each.loop), entries_of(function, each.loop, times));
    }
    const auto number = static_cast<int>(&function - model_.functions.data());
    for (const StreamPoint& point : model_.points) {
      if (point.function == number) count_block(point.block, around(point.loop));
    }
  }

  // Loops come after those around them.
  void count_loop(const LoopModel& loop, std::size_t index, std::uint64_t calls) {
    const std::uint64_t entries =
        loop.parent < 0 ? calls : iterations_[static_cast<std::size_t>(loop.parent)];
    const auto trips = static_cast<std::uint64_t>(std::max(1.0, loop.fixed_trips));
    if (loop.fixed_trips == 0 && calls > 0) {
      result_.unbounded.push_back(loop.file.substr(loop.file.rfind('/') + 1) + ":" +
                                  std::to_string(loop.line));
    }
    iterations_[index] = entries * trips;
    counter(loop.entries) = entries;
    if (entries == 0) return;
    if (!loop.latches.empty()) counter(loop.latches.front()) = entries * trips;
    counter(loop.header) = entries * (trips + (loop.tests_first ? 1 : 0));
  }

  std::uint64_t entries_of(const FunctionModel& function, int loop, std::uint64_t calls) const {
    if (loop < 0) return calls;
    const int parent = function.loops[static_cast<std::size_t>(loop)].parent;
    return parent < 0 ? calls : iterations_[static_cast<std::size_t>(parent)];
  }

  void count_site(int index, std::uint64_t times, std::uint64_t entries) {
    const SiteModel& site = model_.sites[static_cast<std::size_t>(index)];
    SiteRecord& record = result_.counts.sites[static_cast<std::size_t>(index)];
    count_block(site.block, times);
    const double told = std::atof(analysis_.sites[static_cast<std::size_t>(index)].size.c_str());
    const std::uint64_t bytes =
        times * static_cast<std::uint64_t>(told > 0 ? told : site.element_bytes);
    const auto port = std::find_if(
        result_.arguments.begin(), result_.arguments.end(),
        [&site](const TimedArgument& argument) { return argument.name == site.array; });
    if (port == result_.arguments.end()) {
      record.others = times;
      record.other_bytes = bytes;
      return;
    }
    record.accesses = times;
    record.bytes = bytes;
    record.runs = entries;
    record.first = port->address + 1;
  }

  const Analysis& analysis_;
  const KernelModel& model_;
  std::map<std::string, std::uint64_t> calls_;  // by function
  std::vector<std::uint64_t> iterations_;       // of the function's loops
  StaticCounts result_;
};

}  // namespace

StaticCounts static_counts(const Analysis& analysis, const std::vector<TimedArgument>& ports) {
  return StaticCounter(analysis, ports).run();
}

}  // namespace tandem::timing
