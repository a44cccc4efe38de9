// SPDX-License-Identifier: Apache-2.0
//
// The thread that tries to make lost units again.
#include "engine/loop/unit_reviver.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/error.h"

namespace tandem::engine {
namespace {

// False for a unit that is silent. By contract is_alive() is true for such a unit, too, but only
// after it has waited for an answer.
bool is_dead_or_answers(device::AttentionUnit& unit) {
  constexpr std::chrono::milliseconds kAtOnce{80};
  const auto begin = std::chrono::steady_clock::now();
  try {
    if (!unit.is_alive()) return true;
  } catch (const DeviceError&) {
    return true;
  }
  return std::chrono::steady_clock::now() - begin < kAtOnce;
}

}  // namespace

UnitReviver::UnitReviver(Make make, std::chrono::milliseconds interval, Note note)
    : make_(std::move(make)), interval_(interval), note_(std::move(note)) {
  thread_ = std::thread([this] { run(); });
}

UnitReviver::~UnitReviver() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void UnitReviver::add_lost(std::vector<NamedUnit> lost) {
  if (lost.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    std::ranges::move(lost, std::back_inserter(added_));
  }
  changed_.notify_all();
}

std::vector<NamedUnit> UnitReviver::take_ready() {
  const std::lock_guard lock(mutex_);
  any_ready_ = false;
  return std::exchange(ready_, {});
}

void UnitReviver::run() {
  std::vector<Lost> lost;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (lost.empty()) {
      changed_.wait(lock, [&] { return stopping_ || !added_.empty(); });
    }
    for (NamedUnit& unit : added_) lost.push_back({std::move(unit), {}, false});
    added_.clear();
    changed_.wait_for(lock, interval_, [&] { return stopping_; });
    for (std::size_t i = 0; i < lost.size() && !stopping_; ++i) {
      lock.unlock();
      const bool revived = revive(lost[i]);
      lock.lock();
      if (!revived) continue;
      ready_.push_back(std::move(lost[i].unit));
      lost[i].is_back = true;
      any_ready_ = true;
    }
    std::erase_if(lost, [](const Lost& entry) { return entry.is_back; });
  }
}

bool UnitReviver::revive(Lost& lost) {
  std::string problem = "it does not answer";
  try {
    if (!lost.unit.unit || is_dead_or_answers(*lost.unit.unit)) {
      lost.unit.unit.reset();
      NamedUnit made = make_(lost.unit.id);
      if (!made.unit) throw Error("engine", "no unit was made");
      lost.unit = std::move(made);
      return true;
    }
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (std::exchange(lost.last_problem, problem) != problem && note_) {
    note_("attention unit " + lost.unit.id + " is still lost: " + problem);
  }
  return false;
}

}  // namespace tandem::engine
