// SPDX-License-Identifier: Apache-2.0
//
// SharedSparseUnit: several units that multiply parts of one sparse matrix (share_sparse_rows() of
// device/sparse_unit.h).
//
// load() asks each unit for its rates, divides the rows (share_rows() of
// host/tensor/sparse/kernels/row_shares.h) and loads the parts at the same time. A unit without
// rows is not called. The result is gathered in place: every unit writes its rows of y. Ownership:
// owns the units. Threads: one caller; a thread for each unit but the first. Errors: those of the
// units, after all have ended. A failed load leaves no rows. A lost unit loses the whole.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "device/sparse_unit.h"

namespace tandem::device::parallel {

// Runs tasks one after the other in a thread.
class TaskThread {
 public:
  TaskThread();
  ~TaskThread();  // after the tasks that are posted
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // A task that follows one that failed is left out, until wait() has told it.
  void post(std::function<void()> task);

  // Returns when all tasks have ended. The first failure, or null.
  std::exception_ptr wait();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool is_busy_ = false, ends_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

class SharedSparseUnit final : public SparseUnit {
 public:
  explicit SharedSparseUnit(std::vector<std::unique_ptr<SparseUnit>> units);

  std::string name() const override { return name_; }
  SparseRates rates(const SparseRows& matrix, Deadline deadline) override;
  void load(const SparseRows& rows, Deadline deadline) override;
  void start(std::span<const float> x, Deadline deadline) override;
  std::vector<SparsePart> finish(std::span<float> y, Deadline deadline) override;

 private:
  struct Member {
    std::unique_ptr<SparseUnit> unit;
    std::unique_ptr<TaskThread> thread;  // null: the caller's
    SparseRates rates;
    std::uint64_t first_row = 0, last_row = 0;
    std::vector<SparsePart> parts;  // of the last product
  };

  bool has_rows(const Member& member) const { return member.last_row > member.first_row; }
  void check_alive() const;
  void check_loaded() const;
  void measure(const SparseRows& matrix, Deadline deadline);
  // Runs task(member) in the members' threads, and for the first in the caller's.
  void in_all(const std::function<void(Member&)>& task, bool waits);

  std::string name_;
  std::string lost_reason_;  // empty: not lost
  bool is_loaded_ = false;
  std::vector<Member> members_;
};

}  // namespace tandem::device::parallel
