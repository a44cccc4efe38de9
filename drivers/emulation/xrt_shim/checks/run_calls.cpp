// SPDX-License-Identifier: Apache-2.0
//
// The shim's side of run_calls.h. A packet belongs to the card whose packet area has it.
#include "emulation/protocol/run_calls.h"

#include "emulation/xrt_shim/card/card.h"

namespace {

using tandem::emulation::BufferChecks;
using tandem::emulation::Card;
using tandem::emulation::GivenArgument;
using tandem::emulation::RunCalls;

// Calls `use` with the checks of the packet's card and the packet's offset.
template <typename Use>
void with_checks(const void* packet, const Use& use) {
  const auto* const at = static_cast<const std::byte*>(packet);
  for (const auto& card : Card::all_open()) {
    BufferChecks* const checks = card->buffer_checks();
    const std::byte* const begin = card->packet_data();
    const bool inside = at >= begin && at < begin + tandem::emulation::kPacketAreaBytes;
    if (checks != nullptr && inside) return use(*checks, static_cast<uint64_t>(at - begin));
  }
}

void made(const void* packet, bool by_program) {
  with_checks(packet, [&](BufferChecks& checks, uint64_t at) { checks.run_made(at, by_program); });
}

void set(const void* packet, int index, const GivenArgument& given, const char* refusal) {
  with_checks(packet, [&](BufferChecks& checks, uint64_t at) {
    checks.argument_set(at, index, given, refusal);
  });
}

const char* why_no_buffer(const void* packet, int index) {
  const char* why = nullptr;
  with_checks(packet, [&](const BufferChecks& checks, uint64_t at) {
    why = checks.why_no_buffer(at, index);
  });
  return why;
}

void state_queried() {
  for (const auto& card : Card::all_open()) {
    if (BufferChecks* const checks = card->buffer_checks()) checks->finished();
  }
}

void waited(const void* packet, bool by_wait) {
  with_checks(packet, [by_wait](BufferChecks& checks, uint64_t at) {
    checks.run_waited(at);
    if (by_wait) checks.note_stalled(at);
  });
}

void timed_out(const void* packet) {
  with_checks(packet, [](BufferChecks& checks, uint64_t at) { checks.run_timed_out(at); });
}

void told_later(const void* packet) {
  with_checks(packet, [](BufferChecks& checks, uint64_t at) { checks.run_told_later(at); });
}

void of_opencl(const void* packet) {
  with_checks(packet, [](BufferChecks& checks, uint64_t at) { checks.run_of_opencl(at); });
}

constexpr RunCalls kRunCalls{&made,   &set,       &why_no_buffer, &state_queried,
                             &waited, &timed_out, &told_later,    &of_opencl};

}  // namespace

extern "C" __attribute__((visibility("default"))) const RunCalls* tandem_run_calls() {
  return BufferChecks::any() ? &kRunCalls : nullptr;
}
