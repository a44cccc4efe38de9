// SPDX-License-Identifier: Apache-2.0
//
// Uses on_exit(), because only it passes the exit status.
#include "emulation/xrt_shim/checks/host_findings.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "emulation/protocol/buffer_finding.h"
#include "emulation/protocol/checks.h"
#include "emulation/protocol/finding.h"
#include "emulation/xrt_shim/report.h"

namespace tandem::emulation {
namespace {

constexpr int kStrictStatus = 3;

// Findings of cards with strict checks, also of those that are closed.
std::atomic<uint64_t> host_findings{0};

bool is_first(const std::string& text) {
  static std::mutex mutex;
  static auto& seen = *new std::set<std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  return seen.insert(text).second;
}

void end_strictly(int status, void*) {
  const uint64_t count = host_findings.load() + Card::strict_findings();
  if (status != 0 || count == 0) return;
  std::fprintf(stderr, "TANDEM_CHECKS=strict: %llu findings; exit status %d\n",
               static_cast<unsigned long long>(count), kStrictStatus);
  std::fflush(nullptr);
  _exit(kStrictStatus);
}

}  // namespace

void report_host_finding(Card& card, const MemoryStates& states, const HostFinding& found,
                         const CodePlace& place) {
  const SourcePlace source = place_of(place);
  Finding finding;
  finding.kind = found.kind;
  finding.severity = found.is_warning && !card.has(kCheckStrict) ? "warning" : "error";
  finding.kernel = found.kernel;
  finding.unit = found.unit;
  finding.argument = found.argument;
  finding.message = found.message;
  finding.file = source.file;
  finding.line = source.line;
  finding.more = found.more;
  if (found.address != ~uint64_t{0}) add_buffer_to(finding, states, found.address);
  const std::string line = json_line(finding);
  if (!is_first(line)) return;
  if (card.has(kCheckStrict)) host_findings.fetch_add(1);
  std::string text = found.kind + ": " + finding.message;
  if (!found.argument.empty()) text += " (argument '" + found.argument + "'";
  if (!found.argument.empty())
    text += found.kernel.empty() ? ")" : " of kernel '" + found.kernel + "')";
  if (source.line > 0) text += " [" + source.file + ":" + std::to_string(source.line) + "]";
  if (tells_findings()) report_error(text);
  const char* const file = std::getenv("TANDEM_CARD_REPORT");
  if (file != nullptr && *file != '\0' && !append_finding(file, finding)) {
    report_error(std::string("cannot write to TANDEM_CARD_REPORT '") + file +
                 "': " + std::strerror(errno));
  }
}

void watch_exit(Card& card) {
  if (!card.has(kCheckStrict)) return;
  static std::once_flag once;
  std::call_once(once, [] { on_exit(end_strictly, nullptr); });
}

}  // namespace tandem::emulation
