// SPDX-License-Identifier: Apache-2.0
//
// The link between host and card: copies, and their faults.
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "emulation/xrt_shim/card/card.h"
#include "emulation/xrt_shim/card/transfer_time.h"
#include "emulation/xrt_shim/faults/card_faults.h"
#include "emulation/xrt_shim/faults/fault_effects.h"
#include "emulation/xrt_shim/faults/injector.h"

namespace tandem::emulation {
namespace {

using LinkClock = std::chrono::steady_clock;

// Until then, or until the card ends.
void hold_link(const Card& card, LinkClock::duration time) {
  constexpr std::chrono::milliseconds kSlice{5};
  const auto end = LinkClock::now() + time;
  while (!card.failed() && LinkClock::now() < end) {
    std::this_thread::sleep_for(std::min<LinkClock::duration>(end - LinkClock::now(), kSlice));
  }
}

void flip_transfer(Card& card, const Transfer& copy, DueFault& due, int& error) {
  CardFault& fault = due.rule.fault;
  if (copy.size_bytes == 0) return;
  if (!fault.offset) fault.offset = pick(due.random, 0, copy.size_bytes);
  if (!fault.bit) fault.bit = static_cast<uint32_t>(pick(due.random, 1, 8));
  if (*fault.offset >= copy.size_bytes) return;
  log_fault(due.rule);
  if (fault.ecc != Ecc::kNone) report_ecc(card.index(), fault.ecc, copy.address + *fault.offset);
  if (fault.ecc == Ecc::kCorrected) return;
  copy.to[*fault.offset] ^= static_cast<std::byte>(1U << *fault.bit);
  if (fault.ecc == Ecc::kUncorrected) error = EIO;
}

// The faults before the copy. Returns an errno value, or 0.
int before_transfer(Card& card, const std::vector<DueFault>& all) {
  int error = 0;
  for (const DueFault& due : all) {
    const CardFault& fault = due.rule.fault;
    if (is_card_fault(fault.kind)) {
      apply_card_fault(card.index(), due.rule);
    } else if (fault.kind == FaultKind::kStall) {
      log_fault(due.rule);
      hold_link(card, *fault.lasts);
      if (fault.error != 0) error = fault.error;
    } else if (fault.kind == FaultKind::kFail) {
      log_fault(due.rule);
      error = fault.error == 0 ? EIO : fault.error;
    }
  }
  return card.failed() ? EIO : error;
}

int transfer_with_faults(Card& card, const Transfer& copy) {
  FaultInjector& injector = FaultInjector::instance();
  std::vector<DueFault> all =
      injector.due({FaultEvent::kSync, card.index(), "", "", copy.direction});
  if (const int error = before_transfer(card, all)) return error;
  const auto begin = LinkClock::now();
  std::memcpy(copy.to, copy.from, copy.size_bytes);
  const double factor = injector.link(card.index());
  if (factor < 1) {
    const std::chrono::duration<double> taken = LinkClock::now() - begin;
    hold_link(card, std::chrono::duration_cast<LinkClock::duration>(taken * (1 / factor - 1)));
  }
  int error = card.failed() ? EIO : 0;
  for (DueFault& due : all) {
    if (due.rule.fault.kind == FaultKind::kFlip) flip_transfer(card, copy, due, error);
  }
  const uint64_t end = copy.address + copy.size_bytes;
  if (copy.direction == LinkDirection::kToDevice) {
    injector.clear_poison(card.index(), copy.address, end);
  } else if (injector.poisoned(card.index(), copy.address, end)) {
    error = EIO;
  }
  return error;
}

}  // namespace

int transfer(Card& card, const Transfer& copy) {
  const uint64_t begun_ns = transfer_begins_ns();
  int error = 0;
  if (FaultInjector::instance().active()) {
    error = transfer_with_faults(card, copy);
  } else {
    std::memcpy(copy.to, copy.from, copy.size_bytes);
  }
  const bool to_device = copy.direction == LinkDirection::kToDevice;
  if (error == 0) note_transfer_time(card, to_device, copy.size_bytes, begun_ns);
  return error;
}

}  // namespace tandem::emulation
