// SPDX-License-Identifier: Apache-2.0
//
// The variables are read once. A line that cannot be written is reported once.
#include "emulation/xrt_shim/card/transfer_time.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "emulation/protocol/finding.h"
#include "emulation/protocol/link_time.h"
#include "emulation/xrt_shim/opencl/opencl_events.h"
#include "emulation/xrt_shim/report.h"

namespace tandem::emulation {
namespace {

// The report's file; empty: copies have no lines.
const std::string& timed_report() {
  static const auto& file = *new std::string([] {
    const char* const time = std::getenv("TANDEM_TIME");
    const char* const report = std::getenv("TANDEM_CARD_REPORT");
    const bool is_timed = time != nullptr && std::string(time) == "model" && report != nullptr;
    return std::string(is_timed ? report : "");
  }());
  return file;
}

uint64_t monotonic_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace

uint64_t transfer_begins_ns() { return timed_report().empty() ? 0 : monotonic_ns(); }

void note_transfer_time(Card& card, bool to_device, uint64_t bytes, uint64_t begun_ns) {
  if (begun_ns == 0) return;
  HostLink link;
  link.generation = card.platform().pcie_generation;
  link.lanes = card.platform().pcie_lanes;
  link.is_opencl = opencl_in_use();
  const LinkTime time = link_time(link, to_device, static_cast<double>(bytes));
  char line[512];
  std::snprintf(line, sizeof(line),
                "{\"kind\":\"transfer_time\",\"severity\":\"note\",\"kernel\":null,\"unit\":null,"
                "\"argument\":null,\"file\":null,\"line\":null,\"message\":\"modelled time of a "
                "copy\",\"card\":%u,\"direction\":\"%s\",\"interface\":\"%s\",\"bytes\":%llu,"
                "\"modelled_us\":%.3f,\"modelled_us_low\":%.3f,\"modelled_us_high\":%.3f,"
                "\"begun_ns\":%llu,\"ended_ns\":%llu}",
                card.index(), to_device ? "to_device" : "from_device",
                link.is_opencl ? "opencl" : "native", static_cast<unsigned long long>(bytes),
                time.us, time.us_low, time.us_high, static_cast<unsigned long long>(begun_ns),
                static_cast<unsigned long long>(monotonic_ns()));
  static std::atomic<bool> told{false};
  if (!append_line(timed_report(), line) && !told.exchange(true)) {
    report_error("cannot write to TANDEM_CARD_REPORT '" + timed_report() +
                 "': " + std::strerror(errno));
  }
}

}  // namespace tandem::emulation
