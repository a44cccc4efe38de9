// SPDX-License-Identifier: Apache-2.0
//
// Finds the emulated cards that run for this user, and asks each how it is (watch_area.h of the
// emulation).
//
// Cards are processes named tandem-card that have a watch area; those of other users and of older
// versions are left out. Threads: one per object.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem::emulation {
struct WatchArea;
}

namespace tandem::apps {

struct WatchedCard {
  int process = 0;
  std::string role;               // "shared NAME" or "private"
  std::string state;              // "open", "silent" (stopped, or too busy), "hung" or "lost"
  nlohmann::ordered_json answer;  // of the card; null unless it answered
  std::chrono::steady_clock::time_point at;  // of the answer
};

class WatchedCards {
 public:
  WatchedCards();
  ~WatchedCards();
  WatchedCards(const WatchedCards&) = delete;
  WatchedCards& operator=(const WatchedCards&) = delete;

  // All cards now, by process. A card that has ended since the last call is once among them, as
  // "lost"; it may have failed, or its application may have ended. Cards get `patience` in all.
  std::vector<WatchedCard> ask(std::chrono::milliseconds patience);

 private:
  struct Area;
  void find_new();

  std::map<int, std::unique_ptr<Area>> areas_;  // by process
};

}  // namespace tandem::apps
