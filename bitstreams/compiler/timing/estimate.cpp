// SPDX-License-Identifier: Apache-2.0
//
// The time with the addresses that may be equal, and without; then what the ports moved.
#include "bitstreams/compiler/timing/estimate.h"

#include <map>

#include "bitstreams/compiler/timing/advice.h"
#include "bitstreams/compiler/timing/estimator.h"

namespace tandem::timing {
namespace {

constexpr double kUnknownShare = 0.5;  // by which unknown functions may lengthen a run
// Shares of the run that shallow streams cost: worth telling, and limiting it.
constexpr double kShallowShare = 0.02;
constexpr double kLimitingShare = 0.1;
constexpr double kMatters = 1.01;  // times the run, for a slower card to give a range

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

std::vector<ChannelTime> channels_of(const std::vector<PortUse>& uses, double kernel_us,
                                     const TimedCard& card) {
  std::map<std::string, ChannelTime> channels;
  for (const PortUse& use : uses) {
    ChannelTime& channel = channels[use.bank];
    channel.bank = use.bank;
    channel.bytes += use.bytes;
    channel.busy_us += use.channel_cycles / card.clock_mhz;
  }
  std::vector<ChannelTime> result;
  for (auto& [bank, channel] : channels) {
    for (const TimedBank& each : card.banks) {
      if (each.name == bank) channel.peak_gb_per_s = each.gb_per_s;
    }
    if (kernel_us > 0) channel.bandwidth_gb_per_s = channel.bytes / kernel_us / 1000;
    result.push_back(std::move(channel));
  }
  return result;
}

double operations_of(const KernelModel& model, const RunCounts& counts) {
  double operations = 0;
  for (const OperationCount& each : model.operations) {
    operations +=
        each.operations * static_cast<double>(counts.counters[static_cast<size_t>(each.block)]);
  }
  return operations;
}

// Every loop at an II of 1, and memory that answers at once.
double compute_cycles(KernelModel model, RunCounts counts, const TimedCard& card) {
  for (FunctionModel& function : model.functions) {
    for (LoopModel& loop : function.loops) {
      loop.wanted_ii = 0;
      loop.recurrences.clear();
      for (ArrayUse& use : loop.arrays) use.banks = 0;
    }
  }
  for (SiteRecord& each : counts.sites) each = {};
  return Estimator(model, counts, {}, card, true).run();
}

// The cycles that streams cost which are too shallow: of all regions, with their depths and
// without.
double shallow_cycles(const ReplayedRun& replayed) {
  double cycles = 0;
  for (const auto& [function, with_depths] : replayed.bounded.regions) {
    const auto without = replayed.unbounded.regions.find(function);
    if (without != replayed.unbounded.regions.end()) cycles += with_depths - without->second;
  }
  return cycles;
}

std::string stream_name(const ReplayedStream& stream) {
  return "stream " + stream.name + " (" + stream.file.substr(stream.file.rfind('/') + 1) + ":" +
         std::to_string(stream.line) + ")";
}

// The stream whose writer waits longest, if deeper streams would shorten the run.
void add_streams(const ReplayedRun& replayed, const TimedCard& card, RunTime& time) {
  time.streams = replayed.bounded.streams;
  time.processes = replayed.bounded.processes;
  const ReplayedStream* longest = nullptr;
  for (size_t index = 0; index < time.streams.size(); ++index) {
    ReplayedStream& stream = time.streams[index];
    stream.most = replayed.unbounded.streams[index].most;
    if (longest == nullptr || stream.full_cycles > longest->full_cycles) longest = &stream;
    if (stream.uncounted) {
      time.unknown.push_back(stream_name(stream) + " is written more than " +
                             number(static_cast<double>(kMostPending)) +
                             " times before its reader begins: waits for its room are not counted");
    }
    if (!stream.stuck) continue;
    time.unknown.push_back(stream_name(stream) + " has a depth of " + number(stream.depth) +
                           ", with which the design stands still: its time is that with more");
  }
  const double lost = shallow_cycles(replayed);
  if (longest == nullptr || longest->full_cycles == 0 || lost < kShallowShare * time.cycles) return;
  const std::string name = stream_name(*longest);
  time.advice.push_back({name + ": a depth of up to " + number(longest->most) + " in place of " +
                             number(longest->depth) + ", and the other streams likewise",
                         lost / card.clock_mhz});
  if (lost < kLimitingShare * time.cycles) return;
  time.limit = name;
  time.why = "its depth is " + number(longest->depth) + ": its writer waits " +
             number(longest->full_cycles) + " cycles for room";
}

// What is not known makes a range, each part with its reason. The replay of streams knows none.
void add_range(const KernelModel& model, const RunCounts& counts,
               const std::vector<TimedArgument>& arguments, const TimedCard& card, RunTime& time) {
  const double same = Estimator(model, counts, arguments, card, true).run();
  double low = Estimator(model, counts, arguments, card, false).run();
  if (same > 0) low *= time.cycles / same;
  time.modelled_us_low = low / card.clock_mhz + time.launch_us;
  time.modelled_us_high = time.modelled_us;
  for (const std::string& name : model.unknown) {
    time.unknown.push_back("the latency of " + name + " is not known");
  }
  if (!model.unknown.empty()) time.modelled_us_high += time.kernel_us * kUnknownShare;
  if (low < time.cycles) {
    time.unknown.push_back("addresses that may be equal are taken for a dependence");
  }
  const auto add_slower = [&](const TimedCard& slower, const char* why) {
    const double cycles = Estimator(model, counts, arguments, slower, true).run();
    if (cycles <= same * kMatters) return;
    time.modelled_us_high += (cycles - same) / card.clock_mhz;
    time.unknown.push_back(why);
  };
  TimedCard slower = card;
  slower.pages_miss = true;
  add_slower(slower, "each access outside a burst may find its page closed");
  slower = card;
  slower.banks_far = true;
  add_slower(slower, "a port of several HBM banks is beside one of them at most");
}

}  // namespace

std::vector<WorkCost> work_costs(const KernelModel& model, const RunCounts& counts,
                                 const std::vector<TimedArgument>& arguments,
                                 const TimedCard& card) {
  Estimator estimator(model, counts, arguments, card, true);
  estimator.run();
  return estimator.costs();
}

RunTime estimate(const KernelModel& model, const RunCounts& counts,
                 const std::vector<TimedArgument>& arguments, const TimedCard& card,
                 const ReplayedRun* replayed) {
  std::map<int, double> regions;
  if (replayed != nullptr) regions = replayed->bounded.regions;
  Estimator expected(model, counts, arguments, card, true, regions);
  RunTime time;
  time.cycles = expected.run();
  time.kernel_us = time.cycles / card.clock_mhz;
  time.launch_us = card.launch_us;
  time.modelled_us = time.kernel_us + time.launch_us;
  add_range(model, counts, arguments, card, time);
  time.limit = expected.limit();
  time.why = expected.why();
  time.loops = expected.loops();
  time.ports = ports_of(expected.port_uses(), time.kernel_us, card);
  time.channels = channels_of(expected.port_uses(), time.kernel_us, card);
  time.operations = operations_of(model, counts);
  time.compute_us = compute_cycles(model, counts, card) / card.clock_mhz;
  if (replayed != nullptr) add_streams(*replayed, card, time);
  if (time.launch_us > time.kernel_us) {
    time.limit = "launch";
    time.why = "the kernel is shorter than its launch";
    return time;
  }
  for (Advice& each : advise(model, counts, arguments, card, time)) {
    time.advice.push_back(std::move(each));
  }
  return time;
}

}  // namespace tandem::timing
