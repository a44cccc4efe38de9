// SPDX-License-Identifier: Apache-2.0
//
// OffloadCards: the cards that --offload names, for embedding tables; those present for auto.
//
// Every host has these cards; its ranks share them: rank r of n on a host takes the cards r, r + n,
// ..., or, where there are fewer cards than ranks, card r modulo their number. Cards of auto are
// looked for by facts() or make(), which may throw; a run that asks neither opens none. Ownership:
// a unit of make() owns its device. Threads: the constructor runs while the process has one thread.
// Errors: Error("train", ...) for a word that is no card's id; those of XRT.
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
  // offload: "xrt:0,xrt:1", "auto"; without cards: another word.
  OffloadCards(const std::string& offload, const RankPlace& place);

  bool are_asked_for() const { return is_auto_ || !own_.empty(); }
  training::TableCards make();
  // Of this rank's cards.
  training::CardFacts facts();

 private:
  void find();

  const bool is_auto_;
  const RankPlace place_;
  bool found_ = false;
  std::vector<std::string> own_;  // ids of this rank's cards
  std::vector<device::DeviceInfo> infos_;
};

// Those of rank `local` of `ranks` on a host.
std::vector<std::string> cards_of_rank(const std::vector<std::string>& ids, int local, int ranks);

}  // namespace tandem::apps
