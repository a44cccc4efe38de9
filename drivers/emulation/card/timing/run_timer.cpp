// SPDX-License-Identifier: Apache-2.0
//
// Kernels find tandem_time_access() in the card's program, before the empty one of their own
// object.
#include "emulation/card/timing/run_timer.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace tandem::emulation {
namespace {

static_assert(sizeof(timing::SiteRecord) == 64, "as instrument.h writes it");

uint64_t timed_memory = 0;
uint64_t timed_memory_bytes = 0;
int timed_bank_shift = timing::kNoBanks;

uint64_t monotonic_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

double rounded(double value) {
  return std::max(0.0, static_cast<double>(static_cast<int64_t>(value * 1000 + 0.5)) / 1000);
}

nlohmann::ordered_json loops_json(const timing::RunTime& time) {
  using nlohmann::ordered_json;
  ordered_json loops = ordered_json::array();
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
  return loops;
}

nlohmann::ordered_json ports_json(const timing::RunTime& time) {
  using nlohmann::ordered_json;
  ordered_json ports = ordered_json::array();
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
  return ports;
}

nlohmann::ordered_json advice_json(const timing::RunTime& time) {
  nlohmann::ordered_json advice = nlohmann::ordered_json::array();
  for (const timing::Advice& each : time.advice) {
    advice.push_back({{"text", each.text}, {"saves_us", rounded(each.saves_us)}});
  }
  return advice;
}

nlohmann::ordered_json streams_json(const timing::RunTime& time) {
  nlohmann::ordered_json streams = nlohmann::ordered_json::array();
  for (const timing::ReplayedStream& each : time.streams) {
    streams.push_back({{"stream", each.name},
                       {"file", each.file},
                       {"line", each.line},
                       {"depth", each.depth},
                       {"stated", each.is_stated},
                       {"values", each.values},
                       {"empty_cycles", rounded(each.empty_cycles)},
                       {"full_cycles", rounded(each.full_cycles)},
                       {"sufficient_depth", each.most},
                       {"stands_still", each.stuck}});
  }
  return streams;
}

nlohmann::ordered_json channels_json(const timing::RunTime& time) {
  nlohmann::ordered_json channels = nlohmann::ordered_json::array();
  for (const timing::ChannelTime& each : time.channels) {
    channels.push_back({{"bank", each.bank},
                        {"bytes", each.bytes},
                        {"busy_us", rounded(each.busy_us)},
                        {"bandwidth", rounded(each.bandwidth_gb_per_s)},
                        {"peak", each.peak_gb_per_s}});
  }
  return channels;
}

nlohmann::ordered_json processes_json(const timing::RunTime& time) {
  nlohmann::ordered_json processes = nlohmann::ordered_json::array();
  for (const timing::ReplayedProcess& each : time.processes) {
    processes.push_back({{"process", each.name},
                         {"start_cycle", rounded(each.start)},
                         {"end_cycle", rounded(each.end)},
                         {"waiting_cycles", rounded(each.waits)}});
  }
  return processes;
}

}  // namespace

bool parse_time(const std::string& text) {
  if (text.empty()) return false;
  if (text == "model") return true;
  throw std::runtime_error("TANDEM_TIME is '" + text + "'; set it to model, or leave it unset");
}

bool parse_waves(const std::string& text, bool timed) {
  if (text.empty() || text == "off") return false;
  if (text != "on") {
    throw std::runtime_error("TANDEM_WAVES is '" + text + "'; set it to on or off");
  }
  if (!timed) {
    throw std::runtime_error(
        "TANDEM_WAVES is on, but waveforms need modelled times: set "
        "TANDEM_TIME to model too");
  }
  return true;
}

void set_timed_memory(const void* memory, uint64_t size_bytes, const timing::TimedCard* card) {
  timed_bank_shift = timing::kNoBanks;
  for (const timing::TimedBank& bank :
       card == nullptr ? std::vector<timing::TimedBank>() : card->banks) {
    if (bank.hop_ns > 0) timed_bank_shift = std::bit_width(bank.size_bytes) - 1;
  }
  timed_memory = reinterpret_cast<uint64_t>(memory);
  timed_memory_bytes = size_bytes;
}

RunTimer::RunTimer(const KernelLibrary::CountingCopy& copy, timing::TimedCard card)
    : copy_(copy), model_(timing::read_model(copy.model)), card_(std::move(card)) {
  card_.clock_mhz = model_.clock_mhz;
}

std::unique_ptr<RunTimer> RunTimer::make(const KernelLibrary::CountingCopy& copy,
                                         const timing::TimedCard* card) {
  if (copy.model == nullptr) return nullptr;
  return std::make_unique<RunTimer>(copy, card == nullptr ? timing::TimedCard() : *card);
}

void RunTimer::begin(std::vector<timing::TimedArgument> arguments, bool waves) {
  replayed_.reset();
  std::fill_n(copy_.counters, model_.num_counters, 0);
  std::fill_n(copy_.sites, model_.sites.size(), timing::SiteRecord());
  arguments_ = std::move(arguments);
  begun_ns_ = monotonic_ns();
  events_.emplace(model_, copy_.counters,
                  [this] { return timing::work_costs(model_, counts(), arguments_, card_); });
  if (waves) events_->record_waves();
  recorder_.begin(&*events_, model_);
}

timing::RunCounts RunTimer::counts() const {
  timing::RunCounts counts;
  counts.counters.assign(copy_.counters, copy_.counters + model_.num_counters);
  counts.sites.assign(copy_.sites, copy_.sites + model_.sites.size());
  return counts;
}

timing::RunTime RunTimer::end() {
  ended_ns_ = monotonic_ns();
  recorder_.end();
  if (events_->any()) replayed_ = events_->finish();
  timing::RunTime time =
      timing::estimate(model_, counts(), arguments_, card_, replayed_ ? &*replayed_ : nullptr);
  if (recorder_.saw_links()) {
    time.unknown.push_back("waits for other kernels, at the streams that link them");
  }
  events_.reset();
  return time;
}

RunWaves RunTimer::waves(const timing::RunTime& time) const {
  RunWaves waves;
  waves.cycles = time.cycles;
  waves.clock_mhz = card_.clock_mhz;
  waves.begun_ns = begun_ns_;
  if (replayed_) waves.streams = &replayed_->bounded;
  return waves;
}

void RunTimer::drop() {
  recorder_.end();
  events_.reset();
}

std::string RunTimer::line(const timing::RunTime& time, const std::string& kernel,
                           const std::string& unit) const {
  using nlohmann::ordered_json;
  ordered_json line = {{"kind", "run_time"},
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
                       {"clock_mhz", card_.clock_mhz},
                       {"limit", time.limit},
                       {"why", time.why},
                       {"unknown", time.unknown},
                       {"loops", loops_json(time)},
                       {"ports", ports_json(time)},
                       {"channels", channels_json(time)}};
  line["operations"] = time.operations;
  line["compute_us"] = rounded(time.compute_us);
  line["streams"] = streams_json(time);
  line["processes"] = processes_json(time);
  line["advice"] = advice_json(time);
  line["process"] = getpid();  // the card
  line["begun_ns"] = begun_ns_;
  line["ended_ns"] = ended_ns_;
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace tandem::emulation

extern "C" __attribute__((visibility("default"))) void tandem_time_access(const char* at,
                                                                          uint64_t* record,
                                                                          uint64_t size_bytes) {
  using namespace tandem;
  timing::note_access(*reinterpret_cast<timing::SiteRecord*>(record),
                      reinterpret_cast<uint64_t>(at), size_bytes, emulation::timed_memory,
                      emulation::timed_memory_bytes, emulation::timed_bank_shift);
}
