// SPDX-License-Identifier: Apache-2.0
//
// CardTrial: measures whether cards should update the tables of a run: `--offload auto`.
//
// Host memory updates the first steps. If the cost model predicts that cards are faster, they
// update the next steps. Then the faster place is used, or host memory if both are equal. The
// slowest rank counts, so all ranks decide the same. Both places give the same bits. A rank whose
// cards cannot be opened or cannot hold its tables decides for host memory. Cards are open only
// during their steps. Ownership: borrows the group. Threads: one. Errors: TransportError.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "collectives/group.h"

namespace tandem::training {

struct CardTrialParts {
  std::function<void()> take;  // opens the cards and loads the tables; throws on failure
  std::function<void()> drop;  // closes them: host memory updates from now on
  std::function<double()> update_seconds;  // time of the last update, without messages
  std::function<double()> predicted;       // time of an update on cards; infinity: there are none
};

class CardTrial {
 public:
  static constexpr int kSteps = 4;  // at each place; the fastest step counts

  // group: null for one rank. `parts` belong to this rank.
  CardTrial(collectives::Group* group, std::chrono::milliseconds timeout, CardTrialParts parts);

  // Collective. Call them before and after every update of the tables.
  void before_update();
  void after_update();

  bool uses_cards() const { return place_ == Place::kCards; }

 private:
  enum class Place : std::uint8_t { kHost, kCards };

  // The seconds of the slowest rank.
  struct Slowest {
    double host = 0, cards = 0;
  };
  Slowest slowest(double cards) const;
  void begin_cards();
  void decide(const char* how, const Slowest& seconds);

  collectives::Group* const group_;
  const std::chrono::milliseconds timeout_;
  const CardTrialParts parts_;
  Place place_ = Place::kHost;
  int step_ = 0;
  bool decided_ = false;
  double host_s_, cards_s_;  // the best so far
};

}  // namespace tandem::training
