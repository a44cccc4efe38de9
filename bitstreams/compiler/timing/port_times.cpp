// SPDX-License-Identifier: Apache-2.0
//
// Computes one site at a time. Other sites of the same bundle can prevent bursts.
#include "bitstreams/compiler/timing/port_times.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tandem::timing {
namespace {

// What the adapter adds to the round trip of a read, and to the response of a write.
constexpr double kReadRequestCycles = 8;
constexpr double kWriteResponseCycles = 4;
constexpr double kPageBytes = 4096;
constexpr double kMostBurstBeats = 256;

}  // namespace

const TimedArgument* PortTimes::argument_of(const SiteRecord& record) const {
  const TimedArgument* best = nullptr;
  for (const TimedArgument& each : arguments_) {
    if (each.address + 1 > record.first) continue;
    if (best == nullptr || each.address > best->address) best = &each;
  }
  return best;
}

const TimedBank* PortTimes::bank_of(std::uint64_t address) const {
  for (const TimedBank& each : card_.banks) {
    if (address >= each.base && address - each.base < each.size_bytes) return &each;
  }
  return nullptr;
}

void PortTimes::find_spread() {
  std::map<std::string, const TimedBank*> banks;
  for (const TimedArgument& each : arguments_) {
    const TimedBank* const bank = bank_of(each.address);
    if (bank == nullptr) continue;
    const auto known = banks.emplace(each.bundle, bank).first;
    if (known->second != bank) spread_.insert(each.bundle);
  }
}

double PortTimes::round_trip_ns(const TimedBank& bank, const std::string& bundle) const {
  return bank.round_trip_ns + (spread_.contains(bundle) ? bank.hop_ns : 0);
}

std::string PortTimes::why_no_bursts(const SiteTraffic& traffic, bool shares_bundle,
                                     const std::string& bundle) const {
  const SiteModel& site = model_.sites[static_cast<size_t>(traffic.site)];
  const SiteRecord& record = counts_.sites[static_cast<size_t>(traffic.site)];
  const double times = static_cast<double>(counts_.counters[static_cast<size_t>(site.block)]);
  if (site.copy < 0 && traffic.trips > 0 && times < traffic.trips) {
    return "the access is conditional";
  }
  if (shares_bundle) return "another access of the loop uses bundle " + bundle;
  if (site.copy < 0 && record.runs * 2 > record.accesses) return "addresses are not consecutive";
  return {};
}

PortUse PortTimes::use_of(const SiteTraffic& traffic, bool shares_bundle) const {
  const SiteModel& site = model_.sites[static_cast<size_t>(traffic.site)];
  const SiteRecord& record = counts_.sites[static_cast<size_t>(traffic.site)];
  const TimedArgument* const argument = argument_of(record);
  const TimedBank* const bank = bank_of(record.first - 1);
  const TimedBank assumed;
  const TimedBank& memory = bank == nullptr ? assumed : *bank;
  PortUse use;
  use.argument = argument == nullptr ? site.array : argument->name;
  use.bundle = argument == nullptr ? "gmem" : argument->bundle;
  use.bank = bank == nullptr ? "memory" : bank->name;
  use.writes = site.writes;
  use.bytes = static_cast<double>(record.bytes);
  use.accesses = static_cast<double>(record.accesses);
  use.latency = site.writes ? in_cycles(memory.response_ns) + kWriteResponseCycles
                            : in_cycles(round_trip_ns(memory, use.bundle)) + kReadRequestCycles;
  use.channel_cycles = in_cycles(use.bytes / (memory.gb_per_s * memory.share));
  use.why = why_no_bursts(traffic, shares_bundle, use.bundle);
  use.bursts = use.why.empty();
  if (use.bursts) {
    add_bursts(traffic, memory, use);
  } else {
    add_lone_accesses(record, memory, use);
  }
  return use;
}

void PortTimes::add_lone_accesses(const SiteRecord& record, const TimedBank& memory,
                                  PortUse& use) const {
  const double hops = in_cycles(static_cast<double>(record.hops) * memory.hop_ns);
  const double miss_ns = card_.pages_miss ? memory.miss_ns : 0;
  use.num_bursts = use.accesses;
  const double round_trip = in_cycles(round_trip_ns(memory, use.bundle) + miss_ns);
  use.cycles = use.accesses * std::max(1.0, (round_trip + 1) / card_.outstanding) + hops;
  if (hops > use.cycles / 2) use.why += ", and they change between banks";
}

void PortTimes::add_bursts(const SiteTraffic& traffic, const TimedBank& memory,
                           PortUse& use) const {
  const SiteModel& site = model_.sites[static_cast<size_t>(traffic.site)];
  const SiteRecord& record = counts_.sites[static_cast<size_t>(traffic.site)];
  const double runs = static_cast<double>(record.runs);
  const double width = std::max(card_.widest_bytes, site.element_bytes);
  const double run_beats = std::ceil(use.bytes / runs / width);
  const double longest =
      std::min({card_.burst_beats, kMostBurstBeats, std::floor(kPageBytes / width)});
  const double per_run = std::ceil(run_beats / longest);
  const double beats = run_beats / per_run;
  use.num_bursts = runs * per_run;
  const double round_trip = in_cycles(round_trip_ns(memory, use.bundle));
  const double answered = (round_trip + beats) / card_.outstanding;
  double per_burst = std::max(site.writes ? beats + memory.write_gap : beats, answered);
  const double hops = in_cycles(static_cast<double>(record.hops) * memory.hop_ns);
  if (hops > 0) per_burst = std::max(per_burst, use.channel_cycles / use.num_bursts);
  use.cycles = use.num_bursts * per_burst + hops;
}

std::vector<PortUse> PortTimes::uses(const std::vector<SiteTraffic>& sites) const {
  std::map<std::pair<std::string, bool>, std::set<std::pair<std::string, int>>> users;
  std::vector<SiteTraffic> active;
  for (const SiteTraffic& each : sites) {
    const SiteRecord& record = counts_.sites[static_cast<size_t>(each.site)];
    if (record.accesses == 0) continue;
    active.push_back(each);
    const SiteModel& site = model_.sites[static_cast<size_t>(each.site)];
    if (site.copy >= 0) continue;
    const TimedArgument* const argument = argument_of(record);
    users[{argument == nullptr ? "gmem" : argument->bundle, site.writes}].insert(
        {argument == nullptr ? site.array : argument->name, each.site});
  }
  std::vector<PortUse> result;
  for (const SiteTraffic& each : active) {
    const SiteRecord& record = counts_.sites[static_cast<size_t>(each.site)];
    const SiteModel& site = model_.sites[static_cast<size_t>(each.site)];
    const TimedArgument* const argument = argument_of(record);
    const auto& shared = users[{argument == nullptr ? "gmem" : argument->bundle, site.writes}];
    result.push_back(use_of(each, site.copy < 0 && shared.size() > 1));
  }
  return result;
}

}  // namespace tandem::timing
