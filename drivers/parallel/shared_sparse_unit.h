// SPDX-License-Identifier: Apache-2.0
//
// SharedSparseUnit: several units that multiply parts of one sparse matrix (share_sparse_rows() of
// device/sparse_unit.h).
//
// load() asks each unit for its rates, divides the rows (share_rows() of
// host/tensor/sparse/kernels/row_shares.h) and loads the parts at the same time, until no more unit
// is lost or short of memory in it. A unit short of memory while it is measured is measured with
// half of the rows, then a quarter; after a load it gets at most half. A unit without rows is not
// called. The unit of the caller's thread reads x and writes y in place; another one has copies of
// its own (unit_thread.h), so it can be given up in the middle of a call.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/sparse_unit.h"
#include "parallel/unit_thread.h"

namespace tandem::device::parallel {

class SharedSparseUnit final : public SparseUnit {
 public:
  // grace: how long after its deadline a call may return before its unit is given up. It is long
  // enough for a thread that is ready to run, and for an error that comes at the deadline.
  explicit SharedSparseUnit(std::vector<std::unique_ptr<SparseUnit>> units,
                            Deadline::Clock::duration grace = std::chrono::seconds(1));

  std::string name() const override { return name_; }
  SparseRates rates(const SparseRows& matrix, Deadline deadline) override;
  void load(const SparseRows& rows, Deadline deadline) override;
  void start(std::span<const float> x, Deadline deadline) override;
  std::vector<SparsePart> finish(std::span<float> y, Deadline deadline) override;
  void on_host(const SparseRows& rows, std::span<const float> x, std::span<float> y) const override;

 private:
  struct Member {
    std::unique_ptr<SparseUnit> unit;
    std::string name;
    // Memory of the thread's calls.
    std::shared_ptr<const std::vector<float>> x;
    std::vector<float> y;
    std::unique_ptr<UnitThread> thread;  // null: the caller's
    std::string lost_reason;             // empty: it is in use
    std::string short_reason;            // of memory in the last product; empty: it was not
    SparseRates rates;
    std::uint64_t room = 0;  // rows and entries together; 0: none for any row
    std::uint64_t first_row = 0, last_row = 0;
    std::vector<SparsePart> parts;  // of the last product
  };
  // Makes a call of a member in the caller's thread. What the call captures lives as long as it.
  using CallOf = std::function<UnitThread::Call(Member&)>;

  bool has_rows(const Member& member) const { return member.last_row > member.first_row; }
  bool in_use(const Member& member) const { return member.lost_reason.empty(); }
  bool works(const Member& member) const {
    return has_rows(member) && in_use(member) && member.short_reason.empty();
  }
  std::size_t num_lost() const;
  void check_alive() const;
  void check_loaded() const;
  void end_product(Deadline deadline);
  void measure(const SparseRows& matrix, Deadline deadline);
  void measure_one(Member& member, const SparseRows& matrix, Deadline deadline);
  void divide(const SparseRows& rows);
  bool load_parts(const SparseRows& rows, Deadline deadline);
  void copy_x(std::span<const float> x);
  static UnitThread::Call finish_of(Member& member, std::span<float> y, Deadline deadline);

  // Post calls to the threads of the members that work, then make that of the caller's. All have
  // ended, or are given up, when run_all() returns and when begin_all() throws.
  void begin_all(const CallOf& call_of, Deadline deadline);
  void run_all(const CallOf& call_of, Deadline deadline);
  // These return failures that are neither a loss nor a lack of memory, which they note.
  std::exception_ptr begin_calls(const CallOf& call_of);
  std::exception_ptr wait_all(Deadline deadline);
  std::exception_ptr wait_for(Member& member, Deadline deadline);
  static std::exception_ptr begin(Member& member, UnitThread::Call call);
  static std::exception_ptr note(Member& member, std::exception_ptr failure);

  SparsePart part_on_host(const Member& member, std::uint64_t first_row, std::uint64_t last_row,
                          const std::string& reason, std::span<float> y) const;

  std::string name_;
  const Deadline::Clock::duration grace_;
  bool is_loaded_ = false, is_started_ = false;
  std::uint64_t divided_rows_ = 0;  // those that follow are the host's
  SparseRows rows_;
  std::span<const float> x_;  // of the last start(): the caller's
  std::shared_ptr<std::vector<float>> x_copy_;
  std::vector<Member> members_;
};

}  // namespace tandem::device::parallel
