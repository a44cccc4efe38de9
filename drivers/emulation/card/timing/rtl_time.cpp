// SPDX-License-Identifier: Apache-2.0
//
// The line has the members of other kernels' lines; lists of what only C++ kernels have are empty.
#include "emulation/card/timing/rtl_time.h"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace tandem::emulation {
namespace {

std::atomic<uint64_t> rtl_memory_size{0};
std::atomic<uint64_t> rtl_seed{0};
thread_local uint64_t rtl_cycles = 0;

}  // namespace

void set_rtl_memory(uint64_t size_bytes) { rtl_memory_size.store(size_bytes); }
uint64_t rtl_memory_bytes() { return rtl_memory_size.load(); }

void set_rtl_stalls(const std::string& text) {
  uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, seed);
  if (!text.empty() && (read.ec != std::errc() || read.ptr != end)) {
    throw std::runtime_error("TANDEM_RTL_STALLS is '" + text +
                             "', not a whole number from 0 to 18446744073709551615");
  }
  rtl_seed.store(seed);
}
uint64_t rtl_stalls() { return rtl_seed.load(); }

void add_rtl_cycles(uint64_t cycles) { rtl_cycles += cycles; }
uint64_t take_rtl_cycles() { return std::exchange(rtl_cycles, 0); }

std::string rtl_time_line(const RtlRun& run) {
  using nlohmann::ordered_json;
  const double kernel_us = static_cast<double>(run.cycles) / run.clock_mhz;
  const char* const why = "clock cycles of its RTL, simulated";
  ordered_json line = {{"kind", "run_time"},
                       {"severity", "note"},
                       {"kernel", run.kernel},
                       {"unit", run.unit},
                       {"argument", nullptr},
                       {"file", nullptr},
                       {"line", nullptr},
                       {"message", std::string("modelled time: ") + why},
                       {"modelled_us", run.modelled_us()},
                       {"modelled_us_low", run.modelled_us()},
                       {"modelled_us_high", run.modelled_us()},
                       {"kernel_us", kernel_us},
                       {"launch_us", run.launch_us},
                       {"cycles", run.cycles},
                       {"clock_mhz", run.clock_mhz},
                       {"limit", "kernel"},
                       {"why", why}};
  for (const char* none :
       {"unknown", "loops", "ports", "channels", "streams", "processes", "advice"}) {
    line[none] = ordered_json::array();
  }
  line["operations"] = 0;
  line["compute_us"] = kernel_us;
  line["process"] = getpid();
  line["begun_ns"] = run.begun_ns;
  line["ended_ns"] = run.ended_ns;
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace tandem::emulation
