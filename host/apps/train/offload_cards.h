// SPDX-License-Identifier: Apache-2.0
//
// OffloadCards: the cards for embedding tables that --offload names, or with auto all present ones.
//
// Every host has these cards, and its ranks share them. Rank r of n on a host uses the cards r, r +
// n, ..., or card r modulo the number of cards if there are fewer cards than ranks. With auto,
// facts() or make() search for cards and may throw; a run that calls neither opens none. Ownership:
// a unit of make() owns its device. Threads: call the constructor while the process has one thread.
// Errors: Error("train", ...) for a word that is not the id of a card; errors of XRT.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/train/rank_place.h"
#include "device/device.h"
#include "training/trainer/table_update.h"

namespace tandem::apps {

class OffloadCards {
 public:
  // offload: "xrt:0,xrt:1" or "auto"; any other word: no cards.
  OffloadCards(const std::string& offload, const RankPlace& place);

  bool are_asked_for() const { return is_auto_ || !own_.empty(); }
  training::TableCards make();
  // The properties of this rank's cards.
  training::CardFacts facts();

 private:
  void find();

  const bool is_auto_;
  const RankPlace place_;
  bool found_ = false;
  std::vector<std::string> own_;  // ids of this rank's cards
  std::vector<device::DeviceInfo> infos_;
};

// The cards of rank `local` of `ranks` on a host.
std::vector<std::string> cards_of_rank(const std::vector<std::string>& ids, int local, int ranks);

}  // namespace tandem::apps
