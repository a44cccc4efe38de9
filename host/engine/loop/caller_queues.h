// SPDX-License-Identifier: Apache-2.0
//
// CallerQueues: the waiting sequences, a queue per caller, and how much each caller was served.
//
// A caller is known while it has sequences, waiting or running. A caller that returns counts as
// served as much as the caller that was served least, so it has no credit. Its earlier rows are
// remembered until the others have been served as much, so a caller does not gain by leaving and
// returning. Threads: the engine's. Ownership: owns the waiting sequences. Errors: a call that
// throws changes nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/loop/sequence.h"
#include "engine/scheduler/scheduler.h"

namespace tandem::engine {

struct CallerQueue {
  std::deque<std::unique_ptr<Sequence>> waiting;  // by priority, then in the order of their arrival
  int num_running = 0;                            // running sequences at the last list()
  CallerView view;
  int index = 0;  // the caller's index in QueueView::callers, at the last list()
};

class CallerQueues {
 public:
  bool empty() const { return num_waiting_ == 0; }
  int size() const { return num_waiting_; }

  void push_back(std::unique_ptr<Sequence> sequence);
  // Puts the sequence before the others of its priority.
  void push_front(std::unique_ptr<Sequence>& sequence);
  Sequence* find(SequenceId id);
  std::unique_ptr<Sequence> take(SequenceId id);  // null if no such sequence waits

  void for_each(const std::function<void(Sequence&)>& visit) const;
  // Calls `ends` for each waiting sequence, and removes those for which it returns true.
  void erase_if(const std::function<bool(Sequence&)>& ends);

  // Drops callers without sequences, and numbers the others. `running`: all running sequences. No
  // caller counts as more than `most_credit` rows behind the caller that was served most.
  void list(std::span<const std::unique_ptr<Sequence>> running, std::int64_t most_credit,
            std::vector<CallerView>& views);
  // The caller's served rows, as its next sequence would see them.
  std::int64_t served_rows(const std::string& caller) const;
  // Callers without sequences whose rows are remembered.
  std::size_t num_remembered() const { return debts_.size(); }
  const std::map<std::string, CallerQueue>& callers() const { return callers_; }
  std::vector<std::pair<std::string, int>> num_waiting() const;  // (caller, sequences) pairs

 private:
  CallerQueue& queue_of(const Sequence& sequence);
  void drop_absent();
  void limit_credit(std::int64_t most_credit);

  std::map<std::string, CallerQueue> callers_;  // addresses of its nodes do not change
  std::map<std::string, std::int64_t> debts_;   // served rows of absent callers
  int num_waiting_ = 0;
};

}  // namespace tandem::engine
