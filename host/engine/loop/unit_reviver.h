// SPDX-License-Identifier: Apache-2.0
//
// UnitReviver: brings lost attention units back, on a thread of its own, because a lost device may
// block whoever asks it.
//
// A lost unit is asked again and again whether it answers. When it does, or is known to be dead, it
// is destroyed, and a new one is made in its place: that loads the device afresh. What fails is
// tried again after the interval. Threads: the caller's, and its own; `make` and `note` are called
// on the latter. Ownership: owns the units that it was given and those that are ready. Errors:
// none; `note` hears why a try failed, each reason once.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/loop/named_unit.h"

namespace tandem::engine {

class UnitReviver {
 public:
  // Makes the unit with this id again; throws while that is not possible.
  using Make = std::function<NamedUnit(const std::string& id)>;
  using Note = std::function<void(const std::string& text)>;

  UnitReviver(Make make, std::chrono::milliseconds interval, Note note);
  ~UnitReviver();  // waits for the end of a try
  UnitReviver(const UnitReviver&) = delete;
  UnitReviver& operator=(const UnitReviver&) = delete;

  void add_lost(std::vector<NamedUnit> lost);
  bool any_ready() const { return any_ready_.load(std::memory_order_acquire); }
  std::vector<NamedUnit> take_ready();

 private:
  struct Lost {
    NamedUnit unit;  // without a unit once that is destroyed
    std::string last_problem;
    bool is_back = false;
  };

  void run();
  bool revive(Lost& lost);

  const Make make_;
  const std::chrono::milliseconds interval_;
  const Note note_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<NamedUnit> added_, ready_;
  bool stopping_ = false;
  std::atomic<bool> any_ready_{false};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tandem::engine
