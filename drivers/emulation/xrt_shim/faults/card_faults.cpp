// SPDX-License-Identifier: Apache-2.0
//
// Faults of a whole card, of its memory and of launches. Those of the link are in transfer.cpp.
#include "emulation/xrt_shim/faults/card_faults.h"

#include <cerrno>
#include <stdexcept>

#include "emulation/xrt_shim/card/card.h"
#include "emulation/xrt_shim/faults/fault_effects.h"
#include "emulation/xrt_shim/faults/injector.h"
#include "emulation/xrt_shim/report.h"

namespace tandem::emulation {
namespace {

constexpr FaultTime kUsualReset{100'000};

void end_open_card(uint32_t index, bool is_reset) {
  if (const auto card = Card::find_open(index)) card->end_by_fault(is_reset);
}

void act_on_card(uint32_t index, const CardFault& fault) {
  FaultInjector& injector = FaultInjector::instance();
  switch (fault.kind) {
    case FaultKind::kDie:
      injector.set_absent(index, fault.lasts);
      return end_open_card(index, false);
    case FaultKind::kReset:
      injector.set_absent(index, fault.lasts.value_or(kUsualReset));
      return end_open_card(index, true);
    case FaultKind::kHang:
      injector.set_hung(index, true);
      if (fault.lasts) {
        injector.run_after(*fault.lasts,
                           [index] { FaultInjector::instance().set_hung(index, false); });
      }
      return;
    case FaultKind::kShort:
      injector.set_memory(index, fault.bytes);
      if (fault.lasts) {
        injector.run_after(*fault.lasts,
                           [index] { FaultInjector::instance().set_memory(index, 0); });
      }
      return;
    case FaultKind::kSlow:
      injector.set_link(index, fault.factor);
      if (fault.lasts) {
        injector.run_after(*fault.lasts, [index] { FaultInjector::instance().set_link(index, 1); });
      }
      return;
    default:
      return;
  }
}

// A random byte of the program's buffers, if the script names none.
bool find_place(const Card& card, const DueFault& due, uint64_t& address) {
  if (due.rule.fault.address) {
    address = *due.rule.fault.address;
    return address < card.platform().memory_end();
  }
  const std::map<uint64_t, uint64_t> held = card.held_memory();
  uint64_t total = 0;
  for (const auto& [begin, size_bytes] : held) total += size_bytes;
  if (total == 0) return false;
  uint64_t rest = pick(due.random, 0, total);
  for (const auto& [begin, size_bytes] : held) {
    address = begin + rest;
    if (rest < size_bytes) return true;
    rest -= size_bytes;
  }
  return false;
}

// A bit of device memory. Returns whether the command must fail.
bool flip_memory(Card& card, DueFault& due) {
  CardFault& fault = due.rule.fault;
  uint64_t address = 0;
  if (!find_place(card, due, address)) return false;
  fault.address = address;
  fault.bit = fault.bit.value_or(static_cast<uint32_t>(pick(due.random, 1, 8)));
  log_fault(due.rule);
  if (fault.ecc != Ecc::kNone) report_ecc(card.index(), fault.ecc, address);
  if (fault.ecc == Ecc::kCorrected) return false;
  card.device_data()[address] ^= static_cast<std::byte>(1U << *fault.bit);
  if (fault.ecc == Ecc::kNone) return false;
  FaultInjector::instance().poison(card.index(), address);
  return true;
}

void add_command_fault(Card& card, bool by_registers, DueFault& due, LaunchFaults& faults) {
  const CardFault& fault = due.rule.fault;
  const auto set = [&](CommandFaultKind kind) {
    faults.command.kind = kind;
    log_fault(due.rule);
  };
  switch (fault.kind) {
    case FaultKind::kLate:
      faults.command.late_us = static_cast<uint64_t>(fault.by.count());
      return set(CommandFaultKind::kLate);
    case FaultKind::kTwice:
      return set(CommandFaultKind::kTwice);
    case FaultKind::kNever:
      return set(CommandFaultKind::kNever);
    case FaultKind::kLostInterrupt:
      return set(by_registers ? CommandFaultKind::kNoInterrupt : CommandFaultKind::kUnannounced);
    case FaultKind::kFlip:
      if (flip_memory(card, due)) faults.command.kind = CommandFaultKind::kError;
      return;
    default:
      if (fault.error == 0) return set(CommandFaultKind::kError);
      log_fault(due.rule);
      faults.error = fault.error;
  }
}

}  // namespace

bool is_card_fault(FaultKind kind) {
  return kind == FaultKind::kDie || kind == FaultKind::kHang || kind == FaultKind::kReset ||
         kind == FaultKind::kShort || kind == FaultKind::kSlow;
}

void log_fault(const FaultRule& rule) { FaultInjector::instance().log(rule); }

void apply_card_fault(uint32_t index, const FaultRule& rule) {
  log_fault(rule);
  if (rule.fault.delay.count() == 0) return act_on_card(index, rule.fault);
  FaultInjector::instance().run_after(rule.fault.delay,
                                      [index, fault = rule.fault] { act_on_card(index, fault); });
}

std::string script_place(const FaultRule& rule) {
  return "by the script of faults, line " + std::to_string(rule.line);
}

void report_ecc(uint32_t card, Ecc ecc, uint64_t address) {
  char number[32];
  std::snprintf(number, sizeof(number), "0x%llx", static_cast<unsigned long long>(address));
  const std::string text = "card " + std::to_string(card) + " (emulated): ECC: ";
  if (ecc == Ecc::kCorrected) {
    report_warning(text + "corrected an error at device address " + number);
  } else {
    report_error(text + "uncorrectable error at device address " + number);
  }
}

void apply_timed_fault(const FaultRule& rule) {
  const uint32_t first = rule.card.value_or(0);
  const uint32_t last = rule.card ? first : FaultInjector::kMostCards - 1;
  log_fault(rule);
  for (uint32_t card = first; card <= last; ++card) act_on_card(card, rule.fault);
}

bool any_card_open() {
  for (uint32_t card = 0; card < FaultInjector::kMostCards; ++card) {
    if (Card::find_open(card) != nullptr) return true;
  }
  return false;
}

void show_hung(uint32_t card, bool hung) {
  if (const auto open = Card::find_open(card)) open->shared().hung.store(hung ? 1 : 0);
}

void at_open(uint32_t index) {
  FaultInjector& injector = FaultInjector::instance();
  if (!injector.problem().empty()) throw std::runtime_error(injector.problem());
  if (!injector.active()) return;
  for (const DueFault& due : injector.due({FaultEvent::kOpen, index, "", ""})) {
    log_fault(due.rule);
    throw std::runtime_error("card " + std::to_string(index) + " (emulated) does not open " +
                             script_place(due.rule));
  }
  if (injector.absent(index)) {
    throw std::runtime_error("card " + std::to_string(index) +
                             " (emulated) is not on the bus, by the script of faults");
  }
}

void at_opened(Card& card) {
  FaultInjector& injector = FaultInjector::instance();
  if (!injector.active()) return;
  if (injector.hung(card.index())) card.shared().hung.store(1);
  injector.card_opened();
}

int at_load(Card& card) {
  FaultInjector& injector = FaultInjector::instance();
  if (!injector.active()) return 0;
  int error = 0;
  for (const DueFault& due : injector.due({FaultEvent::kLoad, card.index(), "", ""})) {
    if (is_card_fault(due.rule.fault.kind)) {
      apply_card_fault(card.index(), due.rule);
      continue;
    }
    log_fault(due.rule);
    error = due.rule.fault.error == 0 ? EIO : due.rule.fault.error;
    report_error("card " + std::to_string(card.index()) +
                 " (emulated): the bitstream does not load " + script_place(due.rule));
  }
  return card.failed() ? ENODEV : error;
}

std::string at_allocate(Card& card, uint64_t size_bytes) {
  FaultInjector& injector = FaultInjector::instance();
  if (!injector.active()) return "";
  std::string problem;
  for (const DueFault& due : injector.due({FaultEvent::kAllocate, card.index(), "", ""})) {
    if (is_card_fault(due.rule.fault.kind)) {
      apply_card_fault(card.index(), due.rule);
      continue;
    }
    log_fault(due.rule);
    problem = "the allocation fails " + script_place(due.rule);
  }
  const uint64_t limit = injector.memory(card.index());
  uint64_t held = 0;
  for (const auto& [address, held_bytes] : card.held_memory()) held += held_bytes;
  if (limit != 0 && held + size_bytes > limit) {
    problem = "only " + std::to_string(limit) + " bytes are left by the script of faults, and " +
              std::to_string(held) + " are in use";
  }
  return problem;
}

LaunchFaults at_launch(Card& card, uint32_t unit, bool by_registers) {
  LaunchFaults faults;
  FaultInjector& injector = FaultInjector::instance();
  if (!injector.active()) return faults;
  const auto program = card.program();
  if (program == nullptr || unit >= program->units.size()) return faults;
  const auto& named = program->units[unit];
  for (DueFault& due :
       injector.due({FaultEvent::kLaunch, card.index(), named.kernel, named.name})) {
    if (is_card_fault(due.rule.fault.kind)) {
      apply_card_fault(card.index(), due.rule);
    } else {
      add_command_fault(card, by_registers, due, faults);
    }
  }
  return faults;
}

}  // namespace tandem::emulation
