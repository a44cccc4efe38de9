// SPDX-License-Identifier: Apache-2.0
//
// Counts are sums over all entries of a loop, and the formulas are linear in them, so sums are
// enough.
#include "bitstreams/compiler/timing/estimator.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "bitstreams/compiler/timing/loop_pipelining.h"

namespace tandem::timing {
namespace {

// States around a module of its own, and before and after the loop in it.
constexpr double kModuleCycles = 2;
constexpr double kStepCycles = 2;
constexpr double kCopyDepth = 3;

}  // namespace

double Estimator::run() {
  const auto found = functions_.find(model_.kernel);
  if (found != functions_.end()) cycles_ = total(*found->second).cycles;
  bound_by_channels();
  for (WorkCost& each : costs_) {
    const double share = share_of_calls(model_.functions[static_cast<size_t>(each.function)]);
    each.per_trip *= share;
    each.per_entry *= share;
    each.prologue *= share;
  }
  return cycles_;
}

double Estimator::copies(const LoopModel& loop) const {
  if (is_pipelined(loop)) return 1;
  const double steps =
      loop.unroll == 0 ? count(loop.entries) : intervals_.iterations(loop, loop.unroll);
  return std::max(1.0, trips(loop) / std::max(1.0, steps));
}

double Estimator::share_of_calls(const FunctionModel& function) const {
  double calls = 0, steps = 0;
  for (const FunctionModel& caller : model_.functions) {
    for (const CallModel& call : caller.calls) {
      if (call.callee != function.name) continue;
      const double times = count(call.block);
      calls += times;
      steps += call.loop < 0 ? times : times / copies(caller.loops[static_cast<size_t>(call.loop)]);
    }
  }
  return calls > 0 ? steps / calls : 1;
}

Estimator::Total Estimator::total(const FunctionModel& function) {
  const auto known = totals_.find(function.name);
  if (known != totals_.end()) return known->second;
  totals_[function.name] = {};
  const double entries = count(function.entry);
  Total result;
  if (entries > 0) {
    result.cycles = entries * function.depth + phases_cycles(function, -1);
    result.fill = function.depth;
    for (const LoopModel& loop : function.loops) {
      if (loop.parent >= 0) continue;
      result.fill += loop.depth;
      break;
    }
    const double outside = outside_of_loops(function);
    result.cycles += outside;
    const double own = function.depth + (outside + copies_[number_of(function)]) / entries;
    costs_.push_back({number_of(function), -1, -1, 0, own, 0});
    add_calls(function, -1, true, result);
  }
  totals_[function.name] = result;
  return result;
}

double Estimator::phases_cycles(const FunctionModel& function, int home) {
  std::vector<double> ends(function.phases.size());
  double last = 0;
  for (size_t index = 0; index < function.phases.size(); ++index) {
    const PhaseModel& phase = function.phases[index];
    if (phase.home != home) continue;
    double start = 0;
    for (const int before : phase.after) {
      start = std::max(start, ends[static_cast<size_t>(before)]);
    }
    ends[index] = start + phase_cycles(function, phase);
    last = std::max(last, ends[index]);
  }
  return last;
}

double Estimator::phase_cycles(const FunctionModel& function, const PhaseModel& phase) {
  if (phase.loop >= 0) {
    const LoopModel& loop = function.loops[static_cast<size_t>(phase.loop)];
    return loop_cycles(function, phase.loop) + kStepCycles * count(loop.entries);
  }
  if (phase.site >= 0) {
    const double copied = copy_cycles(phase.site);
    copies_[number_of(function)] += copied;
    return copied;
  }
  const CallModel& call = function.calls[static_cast<size_t>(phase.call)];
  const auto found = functions_.find(call.callee);
  if (found == functions_.end() || is_operation(*found->second)) return 0;
  if (call.process && uses_streams(*found->second)) return 0;  // add_calls()
  const double entries = count(found->second->entry), times = count(call.block);
  if (entries == 0 || times == 0) return 0;
  return total(*found->second).cycles * std::min(1.0, times / entries) + kStepCycles * times;
}

bool Estimator::is_operation(const FunctionModel& function) {
  return function.loops.empty() && function.sites.empty() && function.calls.empty();
}

double Estimator::outside_of_loops(const FunctionModel& function) {
  std::vector<SiteTraffic> sites;
  for (const int site : function.sites) {
    if (model_.sites[static_cast<size_t>(site)].loop < 0) sites.push_back({site, 0});
  }
  return blocking_cycles(sites);
}

double Estimator::blocking_cycles(std::vector<SiteTraffic> sites) {
  std::erase_if(sites, [this](const SiteTraffic& each) {
    return model_.sites[static_cast<size_t>(each.site)].copy >= 0;
  });
  double cycles = 0;
  for (const PortUse& use : ports_.uses(sites)) {
    all_uses_.push_back(use);
    cycles += use.bursts ? use.cycles + use.latency : use.accesses * use.latency;
    note_cycles(use.cycles, use, site_of_use(sites, use).line);
  }
  return cycles;
}

double Estimator::copy_cycles(int writing) {
  const SiteModel& site = model_.sites[static_cast<size_t>(writing)];
  const double times = count(site.block);
  double moved = 0, latency = 0;
  for (const PortUse& use : ports_.uses({{writing, 0}, {site.copy, 0}})) {
    all_uses_.push_back(use);
    moved = std::max({moved, use.bytes / site.element_bytes, use.cycles});
    latency += use.latency;
    note_cycles(use.cycles, use, site.line);
  }
  if (moved == 0) {
    for (const int side : {writing, site.copy}) {
      const SiteRecord& record = counts_.sites[static_cast<size_t>(side)];
      moved = std::max(moved, static_cast<double>(record.other_bytes) / site.element_bytes);
    }
  }
  return moved + times * (kCopyDepth - 2 + kModuleCycles + kStepCycles + latency);
}

const SiteModel& Estimator::site_of_use(const std::vector<SiteTraffic>& sites,
                                        const PortUse& use) const {
  for (const SiteTraffic& each : sites) {
    const SiteRecord& record = counts_.sites[static_cast<size_t>(each.site)];
    const SiteModel& site = model_.sites[static_cast<size_t>(each.site)];
    if (site.writes == use.writes && static_cast<double>(record.bytes) == use.bytes) return site;
  }
  return model_.sites[static_cast<size_t>(sites[0].site)];
}

void Estimator::add_calls(const FunctionModel& function, int loop, bool processes, Total& result) {
  double longest = 0, fill = 0, longest_fill = 0;
  for (const CallModel& call : function.calls) {
    const auto found = functions_.find(call.callee);
    if (call.loop != loop || found == functions_.end()) continue;
    const FunctionModel& callee = *found->second;
    if (is_operation(callee) || (processes && !(call.process && uses_streams(callee)))) {
      continue;
    }
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
  const auto replayed = regions_.find(number_of(function));
  if (replayed == regions_.end() || longest == 0) {
    result.cycles += longest + fill - longest_fill;
  } else if (added_regions_.insert(number_of(function)).second) {
    result.cycles += replayed->second;
  }
}

bool Estimator::uses_streams(const FunctionModel& function) const {
  if (function.streams) return true;
  return std::any_of(function.calls.begin(), function.calls.end(), [this](const CallModel& call) {
    const auto found = functions_.find(call.callee);
    return found != functions_.end() && uses_streams(*found->second);
  });
}

double Estimator::loop_cycles(const FunctionModel& function, int index) {
  const LoopModel& loop = function.loops[static_cast<size_t>(index)];
  const double entries = count(loop.entries);
  if (entries == 0) return 0;
  const int pipelined = flattened(function.loops, index);
  if (pipelined >= 0) return pipelined_cycles(function, pipelined, index);
  const double iterations = intervals_.iterations(loop, std::max(1, loop.unroll));
  double cycles = iterations * loop.depth + entries;
  if (loop.unroll == 0) cycles = entries * loop.depth;
  std::vector<SiteTraffic> sites;
  for (const int site : function.sites) {
    if (model_.sites[static_cast<size_t>(site)].loop == index) sites.push_back({site, trips(loop)});
  }
  cycles += blocking_cycles(sites);
  const double fixed = loop.unroll == 0 ? loop.depth : 1;
  costs_.push_back({number_of(function), index, index,
                    (cycles - entries * fixed) / std::max(1.0, trips(loop)), fixed + kStepCycles,
                    kStepCycles / 2});
  cycles += phases_cycles(function, index) / copies(loop);
  Total calls;
  add_calls(function, index, true, calls);
  cycles += calls.cycles / copies(loop);
  loops_.push_back(
      {loop.file, loop.line, entries, trips(loop), 0, loop.depth, cycles,
       loop.pipeline == "off" ? "its pipelining is switched off" : "it is not pipelined"});
  return cycles;
}

double Estimator::pipelined_cycles(const FunctionModel& function, int index, int outer) {
  const LoopModel& loop = function.loops[static_cast<size_t>(index)];
  const double entries = count(function.loops[static_cast<size_t>(outer)].entries);
  const double all = trips(loop);
  if (all == 0) return entries;
  const double unroll = loop.unroll == 0 ? all / entries : loop.unroll;
  const std::vector<PortUse> uses = uses_in(function, index);
  double read_latency = 0, write_latency = 0;
  for (const PortUse& use : uses) {
    double& latency = use.writes ? write_latency : read_latency;
    latency = std::max(latency, use.latency);
  }
  Interval interval = intervals_.interval(function, index, unroll, read_latency);
  const double depth = intervals_.depth(function, index, unroll);
  const double steps = std::max(entries, intervals_.iterations(loop, unroll));
  double busy = interval.ii * (steps - entries) + entries * std::max(1.0, depth - 1);
  busy = std::max(busy, port_cycles(uses, interval, steps));
  const double latency = read_latency + write_latency + intervals_.shared_reads(function, index);
  double cycles = busy + entries * (latency + kModuleCycles);
  const double drains = entries * std::max(1.0, depth - 1);
  const double overlapped = all > entries ? std::max(0.0, busy - drains) : 0;
  costs_.push_back({number_of(function), index, outer, overlapped / std::max(1.0, all - entries),
                    (cycles - overlapped) / entries + kStepCycles,
                    read_latency + (kModuleCycles + kStepCycles) / 2});
  if (interval.why.starts_with("port ") || interval.why.starts_with("channel ")) {
    note(busy, interval.why.substr(0, interval.why.find(':')), interval.why);
  } else {
    note(busy,
         "loop " + loop.file.substr(loop.file.rfind('/') + 1) + ":" + std::to_string(loop.line),
         "II " + number(interval.ii) + ": " + interval.why);
  }
  Total calls;
  add_calls(function, index, false, calls);
  cycles += calls.cycles;
  loops_.push_back({loop.file, loop.line, entries, all, interval.ii, depth, cycles, interval.why});
  return cycles;
}

std::vector<PortUse> Estimator::uses_in(const FunctionModel& function, int index) const {
  std::vector<SiteTraffic> sites;
  for (const int id : function.sites) {
    const int home = model_.sites[static_cast<size_t>(id)].loop;
    if (!LoopIntervals::is_inside(function, home, index)) continue;
    sites.push_back({id, trips(function.loops[static_cast<size_t>(home)])});
  }
  return ports_.uses(sites);
}

double Estimator::port_cycles(const std::vector<PortUse>& uses, Interval& interval, double steps) {
  std::map<std::string, double> channels, busy;
  std::map<std::string, std::string> names;
  for (const PortUse& use : uses) {
    all_uses_.push_back(use);
    const std::string channel = use.bundle + (use.writes ? " write" : " read");
    busy[channel] += use.cycles;
    names[channel] = "port " + use.argument + ": " +
                     (use.why.empty() ? "its bursts fill it" : "no bursts, since " + use.why);
    channels[use.bank] += use.channel_cycles;
  }
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

void Estimator::note(double cycles, const std::string& limit, const std::string& why) {
  if (cycles <= most_) return;
  most_ = cycles;
  limit_ = limit;
  why_ = why;
}

void Estimator::note_cycles(double cycles, const PortUse& use, int line) {
  note(cycles, "port " + use.argument,
       use.why.empty() ? "it is copied in line " + std::to_string(line) : use.why);
}

void Estimator::bound_by_channels() {
  std::map<std::string, double> channels;
  for (const PortUse& use : all_uses_) channels[use.bank] += use.channel_cycles;
  for (const auto& [bank, cycles] : channels) {
    if (cycles <= cycles_) continue;
    cycles_ = cycles;
    limit_ = "channel " + bank;
    why_ = "it gives no more bytes";
  }
}

}  // namespace tandem::timing
