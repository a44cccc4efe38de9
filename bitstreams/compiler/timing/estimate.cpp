// SPDX-License-Identifier: Apache-2.0
//
// Counts are sums over all entries of a loop, and the formulas are linear in them, so sums are
// enough.
#include "bitstreams/compiler/timing/estimate.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "bitstreams/compiler/timing/port_times.h"

namespace tandem::timing {
namespace {

constexpr double kMemoryPorts = 2;     // of a bank of local memory
constexpr double kUnknownShare = 0.5;  // by which unknown functions may lengthen a run

std::string number(double value) { return std::to_string(std::lround(value)); }

// The II of a loop, and what asks for it.
struct Interval {
  double ii = 1;
  std::string why = "no dependence and enough memory ports";
  void raise(double to, const std::string& reason) {
    if (to <= ii) return;
    ii = to;
    why = reason;
  }
};

struct Total {
  double cycles = 0;
  double fill = 0;  // until its first value
};

class Estimator {
 public:
  Estimator(const KernelModel& model, const RunCounts& counts,
            const std::vector<TimedArgument>& arguments, const TimedCard& card, bool pessimistic)
      : model_(model),
        counts_(counts),
        ports_(model, counts, arguments, card),
        pessimistic_(pessimistic) {
    for (const FunctionModel& each : model.functions) functions_[each.name] = &each;
  }

  double run() {
    const auto found = functions_.find(model_.kernel);
    if (found != functions_.end()) cycles_ = total(*found->second).cycles;
    bound_by_channels();
    return cycles_;
  }

  const std::vector<LoopTime>& loops() const { return loops_; }
  const std::vector<PortUse>& port_uses() const { return all_uses_; }
  const std::string& limit() const { return limit_; }
  const std::string& why() const { return why_; }

 private:
  double count(int counter) const {
    return static_cast<double>(counts_.counters[static_cast<size_t>(counter)]);
  }
  double trips(const LoopModel& loop) const {
    if (!loop.tests_first) return count(loop.header);
    double sum = 0;
    for (const int latch : loop.latches) sum += count(latch);
    return sum;
  }
  static bool is_pipelined(const LoopModel& loop) {
    return loop.pipeline == "pragma" || loop.pipeline == "auto";
  }

  // Of all calls of a function.
  Total total(const FunctionModel& function) {
    const auto known = totals_.find(function.name);
    if (known != totals_.end()) return known->second;
    const double entries = count(function.entry);
    Total result;
    if (entries > 0) {
      result.cycles = entries * function.depth;
      result.fill = function.depth;
      add_loops(function, result);
      result.cycles += outside_of_loops(function);
      add_calls(function, -1, result);
    }
    totals_[function.name] = result;
    return result;
  }

  void add_loops(const FunctionModel& function, Total& result) {
    bool first = true;
    for (size_t index = 0; index < function.loops.size(); ++index) {
      if (function.loops[index].parent >= 0) continue;
      result.cycles += loop_cycles(function, static_cast<int>(index));
      if (first) result.fill += function.loops[index].depth;
      first = false;
    }
  }

  double outside_of_loops(const FunctionModel& function) {
    std::vector<SiteTraffic> sites;
    for (const int site : function.sites) {
      if (model_.sites[static_cast<size_t>(site)].loop < 0) sites.push_back({site, 0});
    }
    return blocking_cycles(sites);
  }

  // Of accesses that nothing overlaps with: copies move an element per cycle, others wait.
  double blocking_cycles(const std::vector<SiteTraffic>& sites) {
    double cycles = 0;
    for (const PortUse& use : ports_.uses(sites)) {
      all_uses_.push_back(use);
      const SiteModel& site = site_of_use(sites, use);
      if (site.copy >= 0) {
        const double times = count(site.block);
        const double moved = std::max(use.bytes / site.element_bytes, use.cycles);
        cycles += moved + times * use.latency;
        note_cycles(moved, use, site.line);
      } else {
        cycles += use.bursts ? use.cycles + use.latency : use.accesses * use.latency;
        note_cycles(use.cycles, use, site.line);
      }
    }
    return cycles;
  }

  const SiteModel& site_of_use(const std::vector<SiteTraffic>& sites, const PortUse& use) const {
    for (const SiteTraffic& each : sites) {
      const SiteRecord& record = counts_.sites[static_cast<size_t>(each.site)];
      const SiteModel& site = model_.sites[static_cast<size_t>(each.site)];
      if (site.writes == use.writes && static_cast<double>(record.bytes) == use.bytes) return site;
    }
    return model_.sites[static_cast<size_t>(sites[0].site)];
  }

  void add_calls(const FunctionModel& function, int loop, Total& result) {
    double longest = 0, fill = 0, longest_fill = 0;
    for (const CallModel& call : function.calls) {
      const auto found = functions_.find(call.callee);
      if (call.loop != loop || found == functions_.end()) continue;
      const FunctionModel& callee = *found->second;
      if (callee.loops.empty() && callee.sites.empty() && callee.calls.empty()) continue;
      const double entries = count(callee.entry);
      if (entries == 0) continue;
      const Total of_callee = total(callee);
      const double share = call.process ? 1 : std::min(1.0, count(call.block) / entries);
      if (!call.process || !uses_streams(callee)) {
        result.cycles += of_callee.cycles * share;
        continue;
      }
      fill += of_callee.fill;
      if (of_callee.cycles > longest) {
        longest = of_callee.cycles;
        longest_fill = of_callee.fill;
      }
    }
    result.cycles += longest + fill - longest_fill;
  }

  bool uses_streams(const FunctionModel& function) const {
    if (function.streams) return true;
    return std::any_of(function.calls.begin(), function.calls.end(), [this](const CallModel& call) {
      const auto found = functions_.find(call.callee);
      return found != functions_.end() && uses_streams(*found->second);
    });
  }

  static bool is_inside(const FunctionModel& function, int loop, int outer) {
    while (loop >= 0 && loop != outer) loop = function.loops[static_cast<size_t>(loop)].parent;
    return loop == outer;
  }

  double loop_cycles(const FunctionModel& function, int index) {
    const LoopModel& loop = function.loops[static_cast<size_t>(index)];
    const double entries = count(loop.entries);
    if (entries == 0) return 0;
    if (is_pipelined(loop)) return pipelined_cycles(function, index, entries);
    double cycles = 0;
    const int inner = only_inner(function, index);
    const bool flat =
        loop.perfect && inner >= 0 && is_pipelined(function.loops[static_cast<size_t>(inner)]);
    if (flat) return pipelined_cycles(function, inner, entries);
    const double iterations = trips(loop) / std::max(1, loop.unroll);
    cycles = iterations * loop.depth + entries;
    if (loop.unroll == 0) cycles = entries * loop.depth;
    for (size_t each = 0; each < function.loops.size(); ++each) {
      if (function.loops[each].parent != index) continue;
      cycles += loop_cycles(function, static_cast<int>(each)) +
                count(function.loops[each].entries);  // a state to enter it
    }
    std::vector<SiteTraffic> sites;
    for (const int site : function.sites) {
      if (model_.sites[static_cast<size_t>(site)].loop == index)
        sites.push_back({site, trips(loop)});
    }
    cycles += blocking_cycles(sites);
    Total calls;
    add_calls(function, index, calls);
    cycles += calls.cycles;
    loops_.push_back(
        {loop.file, loop.line, entries, trips(loop), 0, loop.depth, cycles,
         loop.pipeline == "off" ? "its pipelining is switched off" : "it is not pipelined"});
    return cycles;
  }

  // The one loop directly inside; -1: none or several.
  static int only_inner(const FunctionModel& function, int index) {
    int found = -1;
    for (size_t each = 0; each < function.loops.size(); ++each) {
      if (function.loops[each].parent != index) continue;
      if (found >= 0) return -1;
      found = static_cast<int>(each);
    }
    return found;
  }

  // How often the body of `inner` runs per iteration of `outer`.
  double copies(const LoopModel& inner, const LoopModel& outer) const {
    return std::max(1.0, trips(inner) / std::max(1.0, trips(outer)));
  }

  double longest_recurrence(const LoopModel& loop, std::string* what = nullptr) const {
    double longest = 0;
    for (const Recurrence& each : loop.recurrences) {
      if (each.inner >= 0 || each.cycles <= longest) continue;
      longest = each.cycles;
      if (what != nullptr) *what = each.what;
    }
    return longest;
  }

  void raise_by_dependences(const FunctionModel& function, const LoopModel& loop, double unroll,
                            Interval& interval) const {
    for (const Recurrence& each : loop.recurrences) {
      if (!each.certain && !pessimistic_) continue;
      double cycles = each.cycles;
      std::string what = each.what;
      if (each.inner >= 0) {
        const LoopModel& inner = function.loops[static_cast<size_t>(each.inner)];
        cycles = longest_recurrence(inner, &what) * copies(inner, loop);
      }
      interval.raise(std::ceil(cycles * unroll / each.distance),
                     std::string(each.certain ? "carried" : "possible") + " dependence through " +
                         what + ", " + number(cycles) + " cycles at distance " +
                         number(each.distance) +
                         (each.line > 0 ? " (line " + std::to_string(each.line) + ")" : ""));
    }
  }

  void raise_by_arrays(const FunctionModel& function, int index, double unroll,
                       Interval& interval) const {
    const LoopModel& loop = function.loops[static_cast<size_t>(index)];
    std::map<std::string, ArrayUse> uses;
    const auto add = [&uses](const std::string& name, double reads, double writes, double banks) {
      ArrayUse& use = uses[name];
      use.reads += reads;
      use.writes += writes;
      use.banks = banks;
    };
    for (size_t each = 0; each < function.loops.size(); ++each) {
      if (!is_inside(function, static_cast<int>(each), index)) continue;
      const LoopModel& inner = function.loops[each];
      const double times = static_cast<int>(each) == index ? 1 : copies(inner, loop);
      for (const ArrayUse& use : inner.arrays) {
        add(use.array, use.reads * times, use.writes * times, use.banks);
      }
    }
    for (const int id : function.sites) {
      const SiteModel& site = model_.sites[static_cast<size_t>(id)];
      if (site.copy >= 0 || !is_inside(function, site.loop, index)) continue;
      const double times = static_cast<double>(counts_.sites[static_cast<size_t>(id)].others) /
                           std::max(1.0, trips(loop));
      if (times > 0) add(site.array, site.writes ? 0 : times, site.writes ? times : 0, site.banks);
    }
    for (const auto& [name, use] : uses) {
      if (use.banks == 0) continue;
      const double accesses = (use.reads + use.writes) * unroll;
      interval.raise(std::ceil(accesses / (kMemoryPorts * use.banks)),
                     number(accesses) + " accesses of '" + name + "' in " + number(use.banks) +
                         " banks of 2 ports");
    }
  }

  double depth_of(const FunctionModel& function, int index, double unroll) const {
    const LoopModel& loop = function.loops[static_cast<size_t>(index)];
    double depth = loop.depth + (unroll - 1) * longest_recurrence(loop);
    for (size_t each = 0; each < function.loops.size(); ++each) {
      if (static_cast<int>(each) == index || !is_inside(function, static_cast<int>(each), index)) {
        continue;
      }
      const LoopModel& inner = function.loops[each];
      depth += inner.depth - 1 + (copies(inner, loop) - 1) * longest_recurrence(inner);
    }
    return depth;
  }

  double pipelined_cycles(const FunctionModel& function, int index, double entries) {
    const LoopModel& loop = function.loops[static_cast<size_t>(index)];
    const double all = trips(loop);
    if (all == 0) return entries;
    const double unroll = loop.unroll == 0 ? all / entries : loop.unroll;
    Interval interval;
    interval.raise(loop.wanted_ii, "the pragma asks for it");
    raise_by_dependences(function, loop, unroll, interval);
    raise_by_arrays(function, index, unroll, interval);
    const double depth = depth_of(function, index, unroll);
    const double steps = std::max(entries, std::ceil(all / unroll));
    double busy = interval.ii * (steps - entries) + entries * std::max(1.0, depth - 1);
    const double memory = port_cycles(function, index, interval, steps);
    busy = std::max(busy, memory);
    double cycles = busy + entries * latency_;
    if (interval.why.starts_with("port ") || interval.why.starts_with("channel ")) {
      note(busy, interval.why.substr(0, interval.why.find(':')), interval.why);
    } else {
      note(busy,
           "loop " + loop.file.substr(loop.file.rfind('/') + 1) + ":" + std::to_string(loop.line),
           "II " + number(interval.ii) + ": " + interval.why);
    }
    Total calls;
    add_calls(function, index, calls);
    cycles += calls.cycles;
    loops_.push_back(
        {loop.file, loop.line, entries, all, interval.ii, depth, cycles, interval.why});
    return cycles;
  }

  // Of the busiest channel; raises the interval where that is more. Sets latency_, per entry.
  double port_cycles(const FunctionModel& function, int index, Interval& interval, double steps) {
    std::vector<SiteTraffic> sites;
    for (const int id : function.sites) {
      const int home = model_.sites[static_cast<size_t>(id)].loop;
      if (!is_inside(function, home, index)) continue;
      sites.push_back({id, trips(function.loops[static_cast<size_t>(home)])});
    }
    latency_ = 0;
    double read_latency = 0, write_latency = 0;
    std::map<std::string, double> channels, busy;
    std::map<std::string, std::string> names;
    for (const PortUse& use : ports_.uses(sites)) {
      all_uses_.push_back(use);
      const std::string channel = use.bundle + (use.writes ? " write" : " read");
      busy[channel] += use.cycles;
      names[channel] = "port " + use.argument + ": " +
                       (use.why.empty() ? "its bursts fill it" : "no bursts, since " + use.why);
      channels[use.bank] += use.channel_cycles;
      double& latency = use.writes ? write_latency : read_latency;
      latency = std::max(latency, use.latency);
    }
    latency_ = read_latency + write_latency;
    double most = 0;
    const auto raise = [&](double cycles, const std::string& why) {
      most = std::max(most, cycles);
      if (cycles > interval.ii * steps) interval.raise(std::ceil(cycles / steps), why);
    };
    for (const auto& [channel, cycles] : busy) raise(cycles, names[channel]);
    for (const auto& [bank, cycles] : channels) {
      raise(cycles, "channel " + bank + ": it gives no more bytes");
    }
    return most;
  }

  void note(double cycles, const std::string& limit, const std::string& why) {
    if (cycles <= most_) return;
    most_ = cycles;
    limit_ = limit;
    why_ = why;
  }

  void note_cycles(double cycles, const PortUse& use, int line) {
    note(cycles, "port " + use.argument,
         use.why.empty() ? "it is copied in line " + std::to_string(line) : use.why);
  }

  // Processes and units that share a bank cannot move more than it gives.
  void bound_by_channels() {
    std::map<std::string, double> channels;
    for (const PortUse& use : all_uses_) channels[use.bank] += use.channel_cycles;
    for (const auto& [bank, cycles] : channels) {
      if (cycles <= cycles_) continue;
      cycles_ = cycles;
      limit_ = "channel " + bank;
      why_ = "it gives no more bytes";
    }
  }

  const KernelModel& model_;
  const RunCounts& counts_;
  const PortTimes ports_;
  const bool pessimistic_;
  std::map<std::string, const FunctionModel*> functions_;
  std::map<std::string, Total> totals_;
  std::vector<LoopTime> loops_;
  std::vector<PortUse> all_uses_;
  double cycles_ = 0;
  double latency_ = 0;
  double most_ = 0;
  std::string limit_ = "kernel";
  std::string why_ = "it has no loops";
};

std::vector<PortTime> ports_of(const std::vector<PortUse>& uses, double kernel_us,
                               const TimedCard& card) {
  std::map<std::pair<std::string, bool>, PortTime> ports;
  for (const PortUse& use : uses) {
    PortTime& port = ports[{use.argument, use.writes}];
    port.argument = use.argument;
    port.bundle = use.bundle;
    port.bank = use.bank;
    port.writes = use.writes;
    port.bytes += use.bytes;
    port.bursts += use.num_bursts;
    port.cycles += use.cycles;
  }
  std::vector<PortTime> result;
  for (auto& [key, port] : ports) {
    for (const TimedBank& bank : card.banks) {
      if (bank.name == port.bank) port.peak_gb_per_s = bank.gb_per_s;
    }
    if (kernel_us > 0) port.bandwidth_gb_per_s = port.bytes / kernel_us / 1000;
    result.push_back(std::move(port));
  }
  return result;
}

}  // namespace

RunTime estimate(const KernelModel& model, const RunCounts& counts,
                 const std::vector<TimedArgument>& arguments, const TimedCard& card) {
  Estimator expected(model, counts, arguments, card, true);
  Estimator optimistic(model, counts, arguments, card, false);
  RunTime time;
  time.cycles = expected.run();
  const double low = optimistic.run();
  time.kernel_us = time.cycles / card.clock_mhz;
  time.launch_us = card.launch_us;
  time.modelled_us = time.kernel_us + time.launch_us;
  time.modelled_us_low = low / card.clock_mhz + time.launch_us;
  time.modelled_us_high = time.modelled_us;
  for (const std::string& name : model.unknown) {
    time.unknown.push_back("the latency of " + name + " is not known");
  }
  if (!model.unknown.empty()) time.modelled_us_high += time.kernel_us * kUnknownShare;
  if (low < time.cycles) {
    time.unknown.push_back("addresses that may be equal are taken for a dependence");
  }
  time.limit = time.launch_us > time.kernel_us ? "launch" : expected.limit();
  time.why =
      time.launch_us > time.kernel_us ? "the kernel is shorter than its launch" : expected.why();
  time.loops = expected.loops();
  time.ports = ports_of(expected.port_uses(), time.kernel_us, card);
  return time;
}

}  // namespace tandem::timing
