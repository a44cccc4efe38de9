// SPDX-License-Identifier: Apache-2.0
//
// Of several passes of a region each process and each stream is listed once per pass.
#include "emulation/card/timing/run_waves.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tandem::emulation {
namespace {

using nlohmann::ordered_json;

double wave_cycle(double cycle) { return std::round(cycle * 100) / 100; }

ordered_json cycles_json(const std::vector<double>& cycles) {
  ordered_json list = ordered_json::array();
  for (const double each : cycles) list.push_back(wave_cycle(each));
  return list;
}

// The most significant byte first.
std::string hexadecimal_of(const std::vector<unsigned char>& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte) {
    text += kDigits[*byte >> 4];
    text += kDigits[*byte & 15];
  }
  return text;
}

ordered_json registers_json(const std::vector<TimedRegister>& registers) {
  ordered_json list = ordered_json::array();
  for (const TimedRegister& each : registers) {
    list.push_back({{"name", each.name},
                    {"offset", each.offset},
                    {"before", hexadecimal_of(each.before)},
                    {"after", hexadecimal_of(each.after)}});
  }
  return list;
}

void add_streams_and_processes(const timing::StreamTimes& times, ordered_json& line) {
  for (const timing::ReplayedProcess& each : times.processes) {
    ordered_json waiting = ordered_json::array();
    for (const auto& [from, to] : each.waiting) {
      waiting.push_back(wave_cycle(from));
      waiting.push_back(wave_cycle(to));
    }
    line["processes"].push_back({{"process", each.name},
                                 {"start_cycle", wave_cycle(each.start)},
                                 {"end_cycle", wave_cycle(each.end)},
                                 {"waiting", std::move(waiting)}});
  }
  const size_t known = std::min(times.waves.size(), times.streams.size());
  for (size_t index = 0; index < known; ++index) {
    const timing::ReplayedStream& stream = times.streams[index];
    line["streams"].push_back({{"stream", stream.name},
                               {"line", stream.line},
                               {"depth", stream.depth},
                               {"writes", cycles_json(times.waves[index].writes)},
                               {"reads", cycles_json(times.waves[index].reads)}});
  }
  if (std::isfinite(times.waves_end)) line["complete_until_cycle"] = wave_cycle(times.waves_end);
}

}  // namespace

std::string waves_line(const RunWaves& waves) {
  ordered_json line = {{"kind", "run_waves"},
                       {"severity", "note"},
                       {"kernel", waves.kernel},
                       {"unit", waves.unit},
                       {"argument", nullptr},
                       {"file", nullptr},
                       {"line", nullptr},
                       {"message", "waveforms of the modelled run"},
                       {"process", getpid()},
                       {"begun_ns", waves.begun_ns},
                       {"cycles", waves.cycles},
                       {"clock_mhz", waves.clock_mhz},
                       {"registers", registers_json(waves.registers)}};
  line["processes"] = ordered_json::array();
  line["streams"] = ordered_json::array();
  if (waves.streams != nullptr) add_streams_and_processes(*waves.streams, line);
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace tandem::emulation
