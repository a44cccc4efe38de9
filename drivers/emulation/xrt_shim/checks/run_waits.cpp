// SPDX-License-Identifier: Apache-2.0
//
// The part of BufferChecks that looks at how a program waits for its runs. What a kernel writes is
// known from the memory states, which only checked kernels change.
#include <ert.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "emulation/protocol/code_place.h"
#include "emulation/xrt_shim/card/card.h"
#include "emulation/xrt_shim/checks/buffer_checks.h"
#include "emulation/xrt_shim/checks/host_findings.h"

namespace tandem::emulation {
namespace {

constexpr std::chrono::milliseconds kWaitsTimeout{1'000};  // a card that hangs gives no answer

// Other threads may close cards meanwhile.
void report_runs_at_exit() {
  for (const std::shared_ptr<Card>& card : Card::all_open()) {
    if (BufferChecks* const checks = card->buffer_checks()) checks->ending();
  }
}

}  // namespace

void BufferChecks::watch_end() {
  static std::once_flag once;
  std::call_once(once, [] { std::atexit(report_runs_at_exit); });
}

// The card closes, or the program ends.
void BufferChecks::ending() {
  if (!card_.owned_here()) return;  // a forked process: the runs are its parent's
  finished();
  std::map<uint64_t, Started> started;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    started.swap(started_);
  }
  for (const auto& [packet, command] : started) report_never_waited(packet, command);
}

// XRT gives a packet to a new run once the old one is over.
void BufferChecks::run_made(uint64_t packet, bool by_program) {
  run_arguments_.made(packet, by_program);
  Started before;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = started_.find(packet);
    if (found != started_.end()) before = std::move(found->second);
    started_.erase(packet);
    told_later_.erase(packet);
    std::erase(running_, packet);
    std::erase_if(early_syncs_, [packet](const EarlySync& sync) { return sync.packet == packet; });
  }
  report_never_waited(packet, before);
}

// Earlier runs of the same unit are over too: a unit takes its commands in order.
void BufferChecks::run_waited(uint64_t packet) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = started_.find(packet);
  if (found == started_.end()) return;
  const Started& ended = found->second;
  for (auto& [other, command] : started_) {
    const bool before =
        command.units.size() == 1 && command.units == ended.units && command.order < ended.order;
    if (other == packet || before) command.is_waited_for = true;
  }
}

void BufferChecks::run_timed_out(uint64_t packet) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = started_.find(packet);
  if (found != started_.end()) found->second.is_timed_out = true;
}

// The calls may come before the start.
void BufferChecks::run_told_later(uint64_t packet) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    told_later_.insert(packet);
  }
  run_waited(packet);
}

// A run that streams link to others ends with them, so a wait for one of these is enough. One that
// failed is told otherwise.
void BufferChecks::report_never_waited(uint64_t packet, const Started& command) {
  if (command.is_waited_for) return;
  const uint32_t state = card_.packet_state(packet);
  if (command.is_timed_out && state < ERT_CMD_STATE_COMPLETED) return report_never_ended(command);
  if (command.has_streams || state == ERT_CMD_STATE_ERROR || state == ERT_CMD_STATE_ABORT) return;
  HostFinding finding{"missing_wait", command.kernel, "", ""};
  finding.message =
      "the program never waits for this run, so it may end, or use the results, before the kernel "
      "has ended: call wait() of the run";
  warn_of(command, finding);
}

// The program gave up its wait for the run and let it go on. The card says where the kernel stands.
void BufferChecks::report_never_ended(const Started& command) {
  HostFinding finding{"never_ends", command.kernel, "", ""};
  std::string waits;
  if (command.units.size() == 1) {
    const CardAnswer answer =
        card_.call_within(kWaitsTimeout, "waits " + std::to_string(command.units.front()));
    if (answer.ok()) waits = answer.text.substr(std::min<size_t>(3, answer.text.size()));
  }
  finding.message =
      "the program's wait for this run ended by its time limit, and the kernel still runs; " +
      (waits.empty() ? "TANDEM_CARD_DEADLINE=SECONDS ends it and tells its position"
                     : "it waits: " + waits);
  warn_of(command, finding);
}

// At the line that started the run.
void BufferChecks::warn_of(const Started& command, HostFinding& finding) {
  finding.is_warning = true;
  const auto end = std::find(command.frames.begin(), command.frames.end(), nullptr);
  report_host_finding(card_, states_, finding,
                      program_place(std::vector<const void*>(command.frames.begin(), end)));
}

// A sync from the device of bytes from which on a run uses a buffer, for which the program did not
// wait. Where the use ends is unknown, so bytes behind its first one may be another run's, as in
// views of one buffer. If the kernel has written none of them yet, its end tells whether it does.
// Of a buffer with results of an earlier run, another run of the kernel tells it.
void BufferChecks::note_early_sync(uint64_t address, uint64_t size_bytes) {
  const CodePlace place = caller_place();
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool written = states_.any_unseen(address, size_bytes);
  for (const auto& [packet, command] : started_) {
    if (command.is_waited_for) continue;
    for (const Use& use : command.uses) {
      const bool inside = use.address >= address && use.address - address < size_bytes;
      if (!inside || use.is_read_only) continue;
      const bool writes =
          !use.held_results || written_arguments_.contains({command.kernel, use.argument});
      early_syncs_.push_back({packet, command.kernel, use.argument, address, size_bytes, place,
                              written && writes, command.is_timed_out});
    }
  }
}

// Those of which it is known now: the kernel wrote to the buffer, or its run is over.
void BufferChecks::report_early_syncs() {
  std::vector<EarlySync> found;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(early_syncs_, [&](const EarlySync& sync) {
      const bool wrote = sync.is_certain || states_.any_unseen(sync.address, sync.size_bytes);
      if (wrote) found.push_back(sync);
      return wrote || card_.packet_state(sync.packet) >= ERT_CMD_STATE_COMPLETED;
    });
  }
  for (const EarlySync& sync : found) {
    HostFinding finding{"missing_wait", sync.kernel, "", sync.argument};
    finding.message =
        "the program brings a buffer from the device that a run writes, and " +
        std::string(sync.is_timed_out
                        ? "its wait for that run ended by the time limit, before the run: look at "
                          "what wait() returns, and sync after ERT_CMD_STATE_COMPLETED only"
                        : "did not wait for that run: call wait() of the run before "
                          "sync(XCL_BO_SYNC_BO_FROM_DEVICE)");
    report_host_finding(card_, states_, finding, sync.place);
  }
}

}  // namespace tandem::emulation
