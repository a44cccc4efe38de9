// SPDX-License-Identifier: Apache-2.0
//
// The unit's loop. The packet is copied before the kernel runs: the application may rewrite it once
// it is done.
#include "emulation/card/unit_thread.h"

#include <ert.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "emulation/protocol/futex.h"
#include "emulation/protocol/packet_state.h"

namespace tandem::emulation {
namespace {

// Local arrays of a kernel stand for on-chip memory, of which a large card has tens of megabytes.
constexpr size_t kStackBytes = size_t{256} << 20;
constexpr size_t kSignalStackBytes = 64 << 10;

thread_local int current_unit = -1;

uint32_t first_argument(const tandem_glue::KernelEntry& entry) {
  return entry.num_arguments > 0 ? entry.arguments[0].offset : tandem_glue::kFirstArgumentOffset;
}

}  // namespace

UnitThread::UnitThread(const CardAreas& areas, uint32_t unit,
                       std::unique_ptr<KernelLibrary> library)
    : areas_(areas),
      unit_(unit),
      channel_(areas.shared().units[unit]),
      queue_(channel_, unit, areas.clients),
      library_(std::move(library)),
      registers_(channel_, library_->entry().register_bytes, first_argument(library_->entry())) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  const int code = pthread_create(&thread_, &attributes, &UnitThread::start, this);
  pthread_attr_destroy(&attributes);
  if (code != 0) throw std::runtime_error("cannot start the thread of a compute unit");
}

UnitThread::~UnitThread() {
  stopping_.store(true);
  futex_wake_all(channel_.submitted);
  pthread_join(thread_, nullptr);
}

// Runs the unit with a signal stack of its own, so that a stack overflow is reported too.
void* UnitThread::start(void* self) {
  const auto signal_stack = std::make_unique<char[]>(kSignalStackBytes);
  stack_t stack{};
  stack.ss_sp = signal_stack.get();
  stack.ss_size = kSignalStackBytes;
  sigaltstack(&stack, nullptr);
  static_cast<UnitThread*>(self)->run();
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  return nullptr;
}

int UnitThread::current() { return current_unit; }

void UnitThread::run() {
  current_unit = static_cast<int>(unit_);
  while (const auto command = queue_.next(stopping_)) run_command(*command);
}

void UnitThread::run_command(const Command& command) {
  const bool valid = load_registers(command);
  // A packet that is not to run any more was aborted since the command was taken.
  if (valid && set_packet_running(command.client->packet_header(command.entry->packet_offset))) {
    run_kernel(command);
  }
  queue_.finish(command, valid ? ERT_CMD_STATE_COMPLETED : ERT_CMD_STATE_ERROR);
}

// False when the packet is malformed.
bool UnitThread::load_registers(const Command& command) {
  const uint64_t offset = command.entry->packet_offset;
  const uint64_t packet_bytes = command.entry->packet_bytes;
  if (offset % 4 != 0 || offset > kPacketAreaBytes || packet_bytes > kPacketAreaBytes - offset) {
    return false;
  }
  return registers_.load(command.client->packet_header(offset), packet_bytes);
}

// Once, or until the repetitions are over or the command is aborted.
void UnitThread::run_kernel(const Command& command) {
  do {
    registers_.begin();
    call_kernel();
    registers_.finish();
  } while (registers_.again() && !command.cancelled() && !stopping_.load());
  registers_.end();
}

void UnitThread::call_kernel() {
  const auto begin = Clock::now();
  const std::vector<void*> streams(library_->entry().num_arguments, nullptr);
  library_->entry().call(
      {registers_.data(), reinterpret_cast<unsigned char*>(areas_.device.data()), streams.data()});
  const auto busy = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);
  channel_.statistics.launches.fetch_add(1, std::memory_order_relaxed);
  channel_.statistics.busy_ns.fetch_add(static_cast<uint64_t>(busy.count()),
                                        std::memory_order_relaxed);
}

}  // namespace tandem::emulation
