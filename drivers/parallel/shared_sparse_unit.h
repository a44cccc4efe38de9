// SPDX-License-Identifier: Apache-2.0
//
// SharedSparseUnit: several units that multiply parts of one sparse matrix (share_sparse_rows() of
// device/sparse_unit.h).
//
// load() asks each unit for its rates, divides the rows (share_rows() of
// host/tensor/sparse/kernels/row_shares.h) and loads the parts at the same time, until no more unit
// is lost or short of memory in it. A unit short of memory while it is measured is measured with
// half of the rows, then a quarter; after a load it gets at most half. A unit without rows is not
// called. Every unit writes its rows of y in place; on_host() of a lost or short one writes its
// rows in the caller's thread. Ownership: owns the units, borrows the loaded rows. Threads: one
// caller; a thread for each unit but the first. Errors: those of the units, after all have ended;
// of lost ones only when all are lost. A failed load leaves no rows.
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
  void on_host(const SparseRows& rows, std::span<const float> x, std::span<float> y) const override;

 private:
  struct Member {
    std::unique_ptr<SparseUnit> unit;
    std::unique_ptr<TaskThread> thread;  // null: the caller's
    std::string lost_reason;             // empty: it is in use
    std::string short_reason;            // of memory in the last product; empty: it was not
    SparseRates rates;
    std::uint64_t room = 0;  // rows and entries together; 0: none for any row
    std::uint64_t first_row = 0, last_row = 0;
    std::vector<SparsePart> parts;  // of the last product
  };

  bool has_rows(const Member& member) const { return member.last_row > member.first_row; }
  bool in_use(const Member& member) const { return member.lost_reason.empty(); }
  bool works(const Member& member) const {
    return has_rows(member) && in_use(member) && member.short_reason.empty();
  }
  std::size_t num_lost() const;
  void check_alive() const;
  void check_loaded() const;
  void abandon_product();
  void measure(const SparseRows& matrix, Deadline deadline);
  void measure_one(Member& member, const SparseRows& matrix, Deadline deadline);
  void divide(const SparseRows& rows);
  bool load_parts(const SparseRows& rows, Deadline deadline);
  // Runs task(member) in the threads of the members that work, and for the first in the caller's.
  void in_all(const std::function<void(Member&)>& task, bool waits);
  // Notes that a member is lost or short of memory. Returns any other failure.
  static std::exception_ptr note(Member& member, std::exception_ptr failure);
  SparsePart part_on_host(const SparseUnit& unit, std::uint64_t first_row, std::uint64_t last_row,
                          const std::string& reason, std::span<float> y) const;

  std::string name_;
  bool is_loaded_ = false;
  std::uint64_t divided_rows_ = 0;  // those that follow are the host's
  SparseRows rows_;                 // the caller's
  std::span<const float> x_;        // of the last start()
  std::vector<Member> members_;
};

}  // namespace tandem::device::parallel
