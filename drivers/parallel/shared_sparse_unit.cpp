// SPDX-License-Identifier: Apache-2.0
//
// The caller posts before it computes its own part, so that the others move data meanwhile.
#include "parallel/shared_sparse_unit.h"

#include <algorithm>
#include <utility>

#include "common/error.h"
#include "tensor/sparse/kernels/row_shares.h"

namespace tandem::device {
namespace parallel {

TaskThread::TaskThread() : thread_([this] { work(); }) {}

TaskThread::~TaskThread() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void TaskThread::post(std::function<void()> task) {
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
}

std::exception_ptr TaskThread::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return tasks_.empty() && !is_busy_; });
  return std::exchange(failure_, nullptr);
}

void TaskThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    is_busy_ = true;
    const bool runs = failure_ == nullptr;
    lock.unlock();
    std::exception_ptr failure;
    try {
      if (runs) task();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    is_busy_ = false;
    if (failure != nullptr) failure_ = failure;
    changed_.notify_all();
  }
}

SharedSparseUnit::SharedSparseUnit(std::vector<std::unique_ptr<SparseUnit>> units) {
  if (units.empty()) throw Error("device", "no device is named to share a matrix");
  for (std::unique_ptr<SparseUnit>& unit : units) {
    name_ += (name_.empty() ? "" : "+") + unit->name();
    Member& member = members_.emplace_back();
    if (members_.size() > 1) member.thread = std::make_unique<TaskThread>();
    member.unit = std::move(unit);
  }
}

void SharedSparseUnit::in_all(const std::function<void(Member&)>& task, bool waits) {
  for (Member& member : members_) {
    if (member.thread == nullptr || !has_rows(member)) continue;
    member.thread->post([task, &member] { task(member); });
  }
  std::exception_ptr failure;
  try {
    if (has_rows(members_.front())) task(members_.front());
  } catch (...) {
    failure = std::current_exception();
  }
  for (Member& member : members_) {
    if (member.thread == nullptr || (!waits && failure == nullptr)) continue;
    const std::exception_ptr other = member.thread->wait();
    if (failure == nullptr) failure = other;
  }
  if (failure == nullptr) return;
  try {
    std::rethrow_exception(failure);
  } catch (const DeviceError& error) {
    // A unit may have started what is never finished.
    lost_reason_ = error.what();
    throw;
  }
}

void SharedSparseUnit::check_alive() const {
  if (lost_reason_.empty()) return;
  throw DeviceError("device", name_ + " was lost by an earlier failure: " + lost_reason_);
}

void SharedSparseUnit::check_loaded() const {
  check_alive();
  if (!is_loaded_) throw Error("device", name_ + " has no matrix loaded; load one first");
}

// One after the other: a measurement must not share the machine with another.
void SharedSparseUnit::measure(const SparseRows& matrix, Deadline deadline) {
  check_alive();
  is_loaded_ = false;  // a unit that measures replaces its rows
  for (Member& member : members_) member.rates = member.unit->rates(matrix, deadline);
}

SparseRates SharedSparseUnit::rates(const SparseRows& matrix, Deadline deadline) {
  measure(matrix, deadline);
  double rows_per_s = 0, entries_per_s = 0;
  SparseRates all;
  for (const Member& member : members_) {
    all.fixed_s = std::max(all.fixed_s, member.rates.fixed_s);
    all.is_modelled |= member.rates.is_modelled;
    rows_per_s += 1 / member.rates.row_s;
    entries_per_s += 1 / member.rates.entry_s;
  }
  all.row_s = 1 / rows_per_s;
  all.entry_s = 1 / entries_per_s;
  return all;
}

void SharedSparseUnit::load(const SparseRows& rows, Deadline deadline) {
  measure(rows, deadline);
  std::vector<sparse::RowSpeed> speeds;
  for (const Member& member : members_) {
    speeds.push_back({member.rates.fixed_s, member.rates.row_s, member.rates.entry_s});
  }
  const std::vector<std::uint64_t> bounds = sparse::share_rows(rows.begins, speeds);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i].first_row = bounds[i];
    members_[i].last_row = bounds[i + 1];
  }
  in_all(
      [&](Member& member) {
        member.unit->load(rows.slice(member.first_row, member.last_row), deadline);
      },
      true);
  is_loaded_ = true;
}

void SharedSparseUnit::start(std::span<const float> x, Deadline deadline) {
  check_loaded();
  in_all([x, deadline](Member& member) { member.unit->start(x, deadline); }, false);
}

std::vector<SparsePart> SharedSparseUnit::finish(std::span<float> y, Deadline deadline) {
  check_loaded();
  in_all(
      [&](Member& member) {
        const std::size_t rows = member.last_row - member.first_row;
        member.parts = member.unit->finish(y.subspan(member.first_row, rows), deadline);
      },
      true);
  std::vector<SparsePart> parts;
  for (Member& member : members_) {
    if (!has_rows(member)) continue;
    for (SparsePart part : member.parts) {
      if (!part.is_modelled) {
        part.predicted_s = member.rates.seconds(part.last_row - part.first_row, part.entries);
      }
      part.first_row += member.first_row;
      part.last_row += member.first_row;
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

}  // namespace parallel

std::unique_ptr<SparseUnit> share_sparse_rows(std::vector<std::unique_ptr<SparseUnit>> units) {
  return std::make_unique<parallel::SharedSparseUnit>(std::move(units));
}

}  // namespace tandem::device
