// SPDX-License-Identifier: Apache-2.0
//
// Uses the best of several steps, because disturbances of single steps do not depend on the place.
#include "training/trainer/card_trial.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <span>
#include <utility>

#include "collectives/collective.h"

namespace tandem::training {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

}  // namespace

CardTrial::CardTrial(collectives::Group* group, std::chrono::milliseconds timeout,
                     CardTrialParts parts)
    : group_(group),
      timeout_(timeout),
      parts_(std::move(parts)),
      host_s_(kUnknown),
      cards_s_(kUnknown) {}

void CardTrial::before_update() {
  if (decided_ || step_ != kSteps) return;
  const Slowest seconds = slowest(parts_.predicted());
  if (seconds.cards < seconds.host) return begin_cards();
  decide("by the cost model", seconds);
}

void CardTrial::begin_cards() {
  place_ = Place::kCards;
  try {
    parts_.take();
  } catch (const std::exception& error) {
    spdlog::warn("{}; host memory keeps the tables", error.what());
    parts_.drop();
    place_ = Place::kHost;
  }
}

void CardTrial::after_update() {
  if (decided_) return;
  const double seconds = parts_.update_seconds();
  if (step_ < kSteps) host_s_ = std::min(host_s_, seconds);
  if (step_ >= kSteps && uses_cards()) cards_s_ = std::min(cards_s_, seconds);
  if (++step_ == 2 * kSteps) decide("measured", slowest(cards_s_));
}

CardTrial::Slowest CardTrial::slowest(double cards) const {
  Slowest own{host_s_, cards};
  if (group_ == nullptr) return own;
  const collectives::CallOptions call{.timeout = timeout_};
  for (const auto& bytes :
       collectives::allgatherv(*group_, std::as_bytes(std::span(&own, 1)), call)) {
    Slowest one;
    std::memcpy(&one, bytes.data(), sizeof(one));
    own.host = std::max(own.host, one.host);
    own.cards = std::max(own.cards, one.cards);
  }
  return own;
}

void CardTrial::decide(const char* how, const Slowest& seconds) {
  decided_ = true;
  const bool open = uses_cards();
  place_ = seconds.cards < seconds.host ? Place::kCards : Place::kHost;
  if (open && !uses_cards()) parts_.drop();
  const bool speaks = group_ == nullptr || group_->rank() == 0;
  if (!speaks || seconds.cards == kUnknown) return;
  spdlog::info(
      "--offload auto updates tables {}: {:.3g} ms of a step in host memory, {:.3g} ms on cards, "
      "{}",
      uses_cards() ? "on cards" : "in host memory", seconds.host * 1e3, seconds.cards * 1e3, how);
}

}  // namespace tandem::training
