// SPDX-License-Identifier: Apache-2.0
//
// UnitLosses: records the attention units that are lost, those that may still use lent buffers, and
// the batch that was refused.
//
// A unit that timed out is stuck: it may still read and write its buffers. A refused batch does not
// lose its unit; its Error is kept until all other batches have ended. Threads: the engine's.
// Errors: throw_refused() throws the Error that was kept.
#pragma once

#include <exception>
#include <utility>
#include <vector>

#include "device/attention_unit.h"

namespace tandem::engine {

class UnitLosses {
 public:
  void reserve_unit() { units_.reserve(units_.size() + 1); }
  // Does not throw after reserve_unit().
  void add_unit() { units_.emplace_back(); }
  int num_units() const { return static_cast<int>(units_.size()); }

  bool is_alive(int unit) const { return at(unit).alive; }
  bool is_stuck(int unit) const { return at(unit).stuck; }
  void lose(int unit);
  // Records a loss after a wait that ended in kLost or kTimeout.
  void lose(int unit, device::WaitResult result);

  bool has_lost() const { return !lost_.empty(); }
  std::vector<int> take_lost() { return std::exchange(lost_, {}); }
  // The units that have become stuck since the last call.
  std::vector<int> take_stuck() { return std::exchange(stuck_, {}); }
  // Call it when another unit has replaced this one. A loss that was not taken yet is not its own.
  void replace_unit(int unit) {
    units_[static_cast<std::size_t>(unit)] = {};
    std::erase(lost_, unit);
  }

  // Calls the unit's wait(), but does not throw. A DeviceError returns kLost. An Error is kept and
  // returns kDone, because the refused batch has also ended.
  device::WaitResult wait(device::AttentionUnit& unit, device::Ticket ticket, Deadline deadline);

  void refuse(std::exception_ptr error) { refused_ = std::move(error); }
  void throw_refused();
  void forget_refused() { refused_ = nullptr; }

 private:
  struct Unit {
    bool alive = true, stuck = false;
  };
  const Unit& at(int unit) const { return units_[static_cast<std::size_t>(unit)]; }

  std::vector<Unit> units_;
  std::vector<int> lost_, stuck_;
  std::exception_ptr refused_;
};

}  // namespace tandem::engine
