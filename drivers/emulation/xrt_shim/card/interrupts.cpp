// SPDX-License-Identifier: Apache-2.0
//
// The unit's thread counts interrupts; a notification notes how many the program has taken.
#include "emulation/xrt_shim/card/interrupts.h"

#include <system_error>

#include "emulation/protocol/futex.h"

namespace tandem::emulation {
namespace {

constexpr std::chrono::milliseconds kSlice{1000};  // between checks for a failed card

}  // namespace

Interrupts& Interrupts::instance() {
  static auto& interrupts = *new Interrupts;
  return interrupts;
}

uint32_t Interrupts::count(const Notification& notification) {
  return notification.card->shared().units[notification.unit].interrupts.load();
}

Interrupts::Notification& Interrupts::find(int id) {
  const auto found = notifications_.find(id);
  if (found == notifications_.end()) {
    throw std::system_error(EINVAL, std::generic_category(), "no such interrupt notification");
  }
  return found->second;
}

int Interrupts::open(std::shared_ptr<Card> card, uint32_t unit) {
  std::lock_guard lock(mutex_);
  Notification notification{std::move(card), unit};
  notification.seen = count(notification);
  notifications_.emplace(next_id_, std::move(notification));
  return next_id_++;
}

void Interrupts::close(int id) {
  std::lock_guard lock(mutex_);
  notifications_.erase(id);
}

void Interrupts::enable(int id) {
  std::lock_guard lock(mutex_);
  Notification& notification = find(id);
  if (!notification.enabled) notification.seen = count(notification);
  notification.enabled = true;
}

void Interrupts::disable(int id) {
  std::lock_guard lock(mutex_);
  find(id).enabled = false;
}

// Takes one interrupt if there is one. Otherwise the caller waits for completions of `card`.
bool Interrupts::take(int id, std::shared_ptr<Card>& card) {
  std::lock_guard lock(mutex_);
  Notification& notification = find(id);
  card = notification.card;
  if (!notification.enabled || notification.seen == count(notification)) return false;
  ++notification.seen;
  return true;
}

bool Interrupts::wait(int id, std::chrono::milliseconds timeout) {
  const bool bounded = timeout >= std::chrono::milliseconds::zero();
  const auto deadline = Clock::now() + timeout;
  for (std::shared_ptr<Card> card;;) {
    if (take(id, card)) return true;
    if (card->failed()) {
      throw std::system_error(EIO, std::generic_category(), "the card of an interrupt has failed");
    }
    const auto rest =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (bounded && rest <= std::chrono::milliseconds::zero()) return false;
    card->wait(bounded ? std::min(rest, kSlice) : kSlice);
  }
}

}  // namespace tandem::emulation
