// SPDX-License-Identifier: Apache-2.0
//
// UnitReviver: makes lost attention units again. It has its own thread, because calls to a lost
// device may block.
//
// It checks repeatedly whether a lost unit answers. When it does, or is known to be dead, it is
// destroyed, and a new unit is made in its place, which loads the device again. A failed attempt is
// repeated after the interval. Threads: the caller's, and its own; `make` and `note` are called on
// the latter. Ownership: owns the units that it was given and those that are ready. Errors: none;
// `note` is called with the reason of a failed attempt, once per reason.
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
  ~UnitReviver();  // waits for the end of a running call of make
  UnitReviver(const UnitReviver&) = delete;
  UnitReviver& operator=(const UnitReviver&) = delete;

  void add_lost(std::vector<NamedUnit> lost);
  bool any_ready() const { return any_ready_.load(std::memory_order_acquire); }
  std::vector<NamedUnit> take_ready();

 private:
  struct Lost {
    NamedUnit unit;  // its unit is null once it is destroyed
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
