// SPDX-License-Identifier: Apache-2.0
//
// OffloadCards: the cards that --offload names, for embedding tables; those present for auto.
//
// Every host has these cards; its ranks share them: rank r of n on a host takes the cards r, r + n,
// ..., or, where there are fewer cards than ranks, card r modulo their number. Ownership: owns the
// devices, which outlive the units that make() gives. Threads: the constructor runs while the
// process has one thread. Errors: Error("train", ...) for a word that is no card's id; those of
// XRT.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/train/ranks.h"
#include "device/device.h"
#include "device/table_unit.h"

namespace tandem::apps {

class OffloadCards {
 public:
  // offload: "xrt:0,xrt:1", "auto"; without cards: another word.
  OffloadCards(const std::string& offload, const RankPlace& place);

  bool empty() const { return ids_.empty(); }
  std::vector<std::unique_ptr<device::TableUnit>> make();
  // Of the slowest; 0: unknown. After make().
  double link_bytes_per_s() const;

 private:
  std::vector<std::string> ids_;  // of this rank
  std::vector<std::unique_ptr<device::Device>> devices_;
};

// Those of rank `local` of `ranks` on a host.
std::vector<std::string> cards_of_rank(const std::vector<std::string>& ids, int local, int ranks);

}  // namespace tandem::apps
