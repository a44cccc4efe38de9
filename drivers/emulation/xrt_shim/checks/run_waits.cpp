// SPDX-License-Identifier: Apache-2.0
//
// The part of BufferChecks that looks at how a program waits for its runs. What a kernel writes is
// known from the memory states, which only checked kernels change.
#include <ert.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "emulation/protocol/code_place.h"
#include "emulation/xrt_shim/card/card.h"
#include "emulation/xrt_shim/checks/buffer_checks.h"
#include "emulation/xrt_shim/checks/host_findings.h"
#include "emulation/xrt_shim/opencl/opencl_order.h"

namespace tandem::emulation {
namespace {

// How long a kernel may take to end, and how long one that waits may take to go on.
constexpr std::chrono::milliseconds kEndTimeout{2'000}, kStepTimeout{200};

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
  std::vector<StalledStream> stalled;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    started.swap(started_);
    stalled.swap(stalled_);
  }
  for (const StalledStream& each : stalled) report_stalled(each);
  for (const auto& [packet, command] : started) report_never_waited(packet, command);
  if (!has_ended_.exchange(true))
    static_cast<void>(card_.call_within(kAnswerTimeout, "left_values"));
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
  RunOrder::instance().forget_packet(ordered_card_, packet);
}

// Earlier runs of the same unit are over too: a unit takes its commands in order.
void BufferChecks::run_waited(uint64_t packet) {
  if (ordered_card_ != 0) order_.waited(ordered_card_, packet);
  note_waited(packet);
}

void BufferChecks::note_waited(uint64_t packet) {
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

bool BufferChecks::is_visible(uint64_t address) const {
  const auto after = visible_.upper_bound(address);
  if (after == visible_.begin()) return false;
  const auto& [begin, size_bytes] = *std::prev(after);
  return address - begin < size_bytes;
}

// The card looks for no races of runs that streams link to others. A flag in memory that the
// program sees directly may tell it that a run is over.
uint64_t BufferChecks::order_of(OrderedRun run, bool may_move) {
  if (ordered_card_ == 0) return 0;
  run.card = ordered_card_;
  RunOrder::Start start{run, run_arguments_.knows(run.packet), may_move, false};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = started_.find(run.packet);
    if (found == started_.end()) {
      start.is_of_program = false;
    } else {
      if (found->second.has_streams || found->second.is_alone) return 0;
      const auto& uses = found->second.uses;
      start.is_shown = told_later_.contains(run.packet) ||
                       std::any_of(uses.begin(), uses.end(),
                                   [this](const Use& use) { return is_visible(use.address); });
    }
  }
  return order_.start(start);
}

void BufferChecks::run_of_opencl(uint64_t packet) {
  if (ordered_card_ == 0) return;
  RunOrder::instance().belongs_to(ordered_card_, packet, order_of_enqueued());
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
  RunOrder::instance().show(ordered_card_, packet);
  note_waited(packet);
}

// A run that streams link to others ends with them, so a wait for one of these is enough, unless it
// waits for a stream for ever. One that failed is told otherwise.
void BufferChecks::report_never_waited(uint64_t packet, const Started& command) {
  if (command.is_waited_for) return;
  const uint32_t state = card_.packet_state(packet);
  if (state < ERT_CMD_STATE_COMPLETED && (command.is_timed_out || command.has_streams)) {
    return report_never_ended(packet, command);
  }
  if (command.has_streams || state == ERT_CMD_STATE_ERROR || state == ERT_CMD_STATE_ABORT) return;
  // An early sync or a race tells the same mistake.
  if (command.is_told || RunOrder::instance().is_raced(ordered_card_, packet)) return;
  HostFinding finding{"missing_wait", command.kernel, "", ""};
  finding.message =
      "the program never waits for this run, so it may end, or use the results, before the kernel "
      "has ended: call wait() of the run";
  warn_of(command, finding);
}

bool BufferChecks::ends_within(std::chrono::milliseconds timeout, uint64_t packet) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (card_.packet_state(packet) < ERT_CMD_STATE_COMPLETED) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// The streams that a run waits for; empty: it computes, or the card does not tell.
std::string BufferChecks::waits_of(const Started& command) const {
  if (command.units.size() != 1) return {};
  const CardAnswer answer =
      card_.call_within(kAnswerTimeout, "waits " + std::to_string(command.units.front()));
  return answer.ok() ? answer.text.substr(std::min<size_t>(3, answer.text.size())) : "";
}

// The program gave up its wait for the run and let it go on, or waited for runs beside it only. One
// that streams link to others may be about to end with these. The card says where the kernel
// stands.
void BufferChecks::report_never_ended(uint64_t packet, const Started& command) {
  std::string waits = waits_of(command);
  if (command.has_streams) {
    if (ends_within(waits.empty() ? kEndTimeout : kStepTimeout, packet)) return;
    waits = waits_of(command);
    if (waits.empty() && !command.is_timed_out) return;
  }
  HostFinding finding{"never_ends", command.kernel, "", ""};
  finding.message =
      std::string(command.is_timed_out ? "the program's wait for this run ended by its time limit"
                                       : "the program never waits for this run") +
      ", and the kernel still runs; " +
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
// wait. `is_written`: a kernel had written some of them when the sync ended. Where the use ends is
// unknown, so bytes behind its first one may be another run's, as in views of one buffer. If the
// kernel has written none of them yet, its end tells whether it does. Of a buffer with results of
// an earlier run, another run of the kernel tells it.
void BufferChecks::note_early_sync(uint64_t address, uint64_t size_bytes, bool is_written) {
  const CodePlace place = caller_place();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [packet, command] : started_) {
    if (command.is_waited_for) continue;
    for (const Use& use : command.uses) {
      const bool inside = use.address >= address && use.address - address < size_bytes;
      if (!inside || use.is_read_only) continue;
      const bool writes =
          !use.held_results || written_arguments_.contains({command.kernel, use.argument});
      RunOrder::instance().show(ordered_card_, packet);  // it is told here
      early_syncs_.push_back({packet, command.kernel, use.argument, address, size_bytes, place,
                              is_written && writes, command.is_timed_out});
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
      const bool is_told = RunOrder::instance().is_raced(ordered_card_, sync.packet);
      if (wrote && !is_told) found.push_back(sync);
      if (wrote) started_[sync.packet].is_told = true;
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
