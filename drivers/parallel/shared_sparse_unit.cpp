// SPDX-License-Identifier: Apache-2.0
//
// The caller posts before it computes its own part, so that the others move data meanwhile.
#include "parallel/shared_sparse_unit.h"

#include <algorithm>
#include <chrono>
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

std::exception_ptr SharedSparseUnit::note_loss(Member& member, std::exception_ptr failure) {
  if (failure == nullptr) return nullptr;
  try {
    std::rethrow_exception(failure);
  } catch (const DeviceError& error) {
    member.lost_reason = error.what();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

void SharedSparseUnit::in_all(const std::function<void(Member&)>& task, bool waits) {
  for (Member& member : members_) {
    if (member.thread == nullptr || !works(member)) continue;
    member.thread->post([task, &member] { task(member); });
  }
  Member& first = members_.front();
  std::exception_ptr failure;
  try {
    if (works(first)) task(first);
  } catch (...) {
    failure = note_loss(first, std::current_exception());
  }
  for (Member& member : members_) {
    if (member.thread == nullptr || (!waits && failure == nullptr)) continue;
    const std::exception_ptr other = note_loss(member, member.thread->wait());
    if (failure == nullptr) failure = other;
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

std::size_t SharedSparseUnit::num_lost() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(members_, [](const Member& m) { return !m.lost_reason.empty(); }));
}

void SharedSparseUnit::check_alive() const {
  if (num_lost() < members_.size()) return;
  throw DeviceError("device",
                    name_ + " has no device left; the last reason: " + members_.back().lost_reason);
}

void SharedSparseUnit::check_loaded() const {
  check_alive();
  if (!is_loaded_) throw Error("device", name_ + " has no matrix loaded; load one first");
}

// A product that nobody finished: its threads must not work while the caller's uses their units.
void SharedSparseUnit::abandon_product() {
  for (Member& member : members_) {
    if (member.thread != nullptr) note_loss(member, member.thread->wait());
  }
}

// One after the other: a measurement must not share the machine with another.
void SharedSparseUnit::measure(const SparseRows& matrix, Deadline deadline) {
  is_loaded_ = false;  // a unit that measures replaces its rows
  abandon_product();
  for (Member& member : members_) {
    if (!member.lost_reason.empty()) continue;
    try {
      member.rates = member.unit->rates(matrix, deadline);
    } catch (const DeviceError& error) {
      member.lost_reason = error.what();
    }
  }
  check_alive();
}

SparseRates SharedSparseUnit::rates(const SparseRows& matrix, Deadline deadline) {
  measure(matrix, deadline);
  double rows_per_s = 0, entries_per_s = 0;
  SparseRates all;
  for (const Member& member : members_) {
    if (!member.lost_reason.empty()) continue;
    all.fixed_s = std::max(all.fixed_s, member.rates.fixed_s);
    all.is_modelled |= member.rates.is_modelled;
    rows_per_s += 1 / member.rates.row_s;
    entries_per_s += 1 / member.rates.entry_s;
  }
  all.row_s = 1 / rows_per_s;
  all.entry_s = 1 / entries_per_s;
  return all;
}

// Among the members that are left.
void SharedSparseUnit::divide(const SparseRows& rows) {
  std::vector<sparse::RowSpeed> speeds;
  for (const Member& member : members_) {
    if (!member.lost_reason.empty()) continue;
    speeds.push_back({member.rates.fixed_s, member.rates.row_s, member.rates.entry_s});
  }
  const std::vector<std::uint64_t> bounds = sparse::share_rows(rows.begins, speeds);
  std::size_t next = 0;
  for (Member& member : members_) {
    member.first_row = bounds[next];
    if (member.lost_reason.empty()) ++next;
    member.last_row = bounds[next];
  }
}

void SharedSparseUnit::load(const SparseRows& rows, Deadline deadline) {
  measure(rows, deadline);
  for (std::size_t lost = members_.size(); lost != num_lost();) {
    check_alive();
    lost = num_lost();
    divide(rows);
    in_all(
        [&](Member& member) {
          member.unit->load(rows.slice(member.first_row, member.last_row), deadline);
        },
        true);
  }
  rows_ = rows;
  is_loaded_ = true;
}

void SharedSparseUnit::start(std::span<const float> x, Deadline deadline) {
  check_loaded();
  TANDEM_CHECK_OP(x.size(), ==, rows_.columns);
  x_ = x;
  in_all([x, deadline](Member& member) { member.unit->start(x, deadline); }, false);
}

void SharedSparseUnit::finish_on_host(Member& member, std::span<float> y) {
  const auto begin = std::chrono::steady_clock::now();
  const SparseRows rows = rows_.slice(member.first_row, member.last_row);
  member.unit->on_host(rows, x_, y.subspan(member.first_row, rows.rows()));
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  member.parts = {{member.unit->name(), 0, rows.rows(), rows.entries(), passed.count(), false,
                   passed.count(), member.lost_reason}};
}

std::vector<SparsePart> SharedSparseUnit::finish(std::span<float> y, Deadline deadline) {
  check_loaded();
  TANDEM_CHECK_OP(y.size(), ==, rows_.rows());
  in_all(
      [&](Member& member) {
        const std::size_t rows = member.last_row - member.first_row;
        member.parts = member.unit->finish(y.subspan(member.first_row, rows), deadline);
      },
      true);
  check_alive();
  std::vector<SparsePart> parts;
  for (Member& member : members_) {
    if (!has_rows(member)) continue;
    if (!works(member)) finish_on_host(member, y);
    for (SparsePart part : member.parts) {
      if (!part.is_modelled && part.lost_reason.empty()) {
        part.predicted_s = member.rates.seconds(part.last_row - part.first_row, part.entries);
      }
      part.first_row += member.first_row;
      part.last_row += member.first_row;
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

void SharedSparseUnit::on_host(const SparseRows& rows, std::span<const float> x,
                               std::span<float> y) const {
  TANDEM_CHECK_OP(rows.rows(), ==, rows_.rows());  // as they are divided
  for (const Member& member : members_) {
    if (!has_rows(member)) continue;
    member.unit->on_host(rows.slice(member.first_row, member.last_row), x,
                         y.subspan(member.first_row, member.last_row - member.first_row));
  }
}

}  // namespace parallel

std::unique_ptr<SparseUnit> share_sparse_rows(std::vector<std::unique_ptr<SparseUnit>> units) {
  return std::make_unique<parallel::SharedSparseUnit>(std::move(units));
}

}  // namespace tandem::device
