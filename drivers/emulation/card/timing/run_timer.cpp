// SPDX-License-Identifier: Apache-2.0
//
// Kernels find tandem_time_access() in the card's program, before the empty one of their own
// object.
#include "emulation/card/timing/run_timer.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace tandem::emulation {
namespace {

static_assert(sizeof(timing::SiteRecord) == 64, "as instrument.h writes it");

uint64_t timed_memory = 0;
uint64_t timed_memory_bytes = 0;

double rounded(double value) {
  return std::max(0.0, static_cast<double>(static_cast<int64_t>(value * 1000 + 0.5)) / 1000);
}

}  // namespace

bool parse_time(const std::string& text) {
  if (text.empty()) return false;
  if (text == "model") return true;
  throw std::runtime_error("TANDEM_TIME is '" + text + "'; set it to model, or leave it unset");
}

void set_timed_memory(const void* memory, uint64_t size_bytes) {
  timed_memory = reinterpret_cast<uint64_t>(memory);
  timed_memory_bytes = size_bytes;
}

RunTimer::RunTimer(const KernelLibrary::CountingCopy& copy, timing::TimedCard card)
    : copy_(copy), model_(timing::read_model(copy.model)), card_(std::move(card)) {
  card_.clock_mhz = model_.clock_mhz;
}

void RunTimer::begin() {
  std::fill_n(copy_.counters, model_.num_counters, 0);
  std::fill_n(copy_.sites, model_.sites.size(), timing::SiteRecord());
}

timing::RunTime RunTimer::end(const std::vector<timing::TimedArgument>& arguments) const {
  timing::RunCounts counts;
  counts.counters.assign(copy_.counters, copy_.counters + model_.num_counters);
  counts.sites.assign(copy_.sites, copy_.sites + model_.sites.size());
  return timing::estimate(model_, counts, arguments, card_);
}

std::string json_line(const timing::RunTime& time, const timing::TimedCard& card,
                      const std::string& kernel, const std::string& unit) {
  using nlohmann::ordered_json;
  ordered_json loops = ordered_json::array(), ports = ordered_json::array();
  for (const timing::LoopTime& loop : time.loops) {
    loops.push_back({{"file", loop.file},
                     {"line", loop.line},
                     {"entries", loop.entries},
                     {"trips", loop.trips},
                     {"ii", loop.ii > 0 ? ordered_json(loop.ii) : ordered_json(nullptr)},
                     {"depth", loop.depth},
                     {"cycles", rounded(loop.cycles)},
                     {"why", loop.why}});
  }
  for (const timing::PortTime& port : time.ports) {
    ordered_json line = {{"argument", port.argument},
                         {"bundle", port.bundle},
                         {"direction", port.writes ? "write" : "read"},
                         {"bank", port.bank},
                         {"bytes", port.bytes},
                         {"bursts", port.bursts},
                         {"cycles", rounded(port.cycles)},
                         {"bandwidth", rounded(port.bandwidth_gb_per_s)}};
    line["share_of_peak"] =
        port.peak_gb_per_s > 0 ? ordered_json(rounded(port.bandwidth_gb_per_s / port.peak_gb_per_s))
                               : ordered_json(nullptr);
    ports.push_back(std::move(line));
  }
  const ordered_json line = {
      {"kind", "run_time"},
      {"severity", "note"},
      {"kernel", kernel},
      {"unit", unit},
      {"argument", nullptr},
      {"file", nullptr},
      {"line", nullptr},
      {"message", "modelled time; limited by " + time.limit + ": " + time.why},
      {"modelled_us", rounded(time.modelled_us)},
      {"modelled_us_low", rounded(time.modelled_us_low)},
      {"modelled_us_high", rounded(time.modelled_us_high)},
      {"kernel_us", rounded(time.kernel_us)},
      {"launch_us", rounded(time.launch_us)},
      {"cycles", rounded(time.cycles)},
      {"clock_mhz", card.clock_mhz},
      {"limit", time.limit},
      {"why", time.why},
      {"unknown", time.unknown},
      {"loops", std::move(loops)},
      {"ports", std::move(ports)}};
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace tandem::emulation

extern "C" __attribute__((visibility("default"))) void tandem_time_access(const char* at,
                                                                          uint64_t* record,
                                                                          uint64_t size_bytes) {
  using namespace tandem;
  timing::note_access(*reinterpret_cast<timing::SiteRecord*>(record),
                      reinterpret_cast<uint64_t>(at), size_bytes, emulation::timed_memory,
                      emulation::timed_memory_bytes);
}
