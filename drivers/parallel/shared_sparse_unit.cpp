// SPDX-License-Identifier: Apache-2.0
//
// The caller posts before it computes its own part, so that the others move data meanwhile.
#include "parallel/shared_sparse_unit.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>
#include <utility>

#include "common/error.h"
#include "tensor/sparse/kernels/row_shares.h"

namespace tandem::device {
namespace parallel {
namespace {

// The first of `parts` equal parts of the time until `whole`.
Deadline part_of(Deadline whole, std::size_t parts) {
  if (parts == 1 || whole.is_never()) return whole;
  return Deadline::after(whole.remaining() / static_cast<int>(parts));
}

}  // namespace

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

std::exception_ptr SharedSparseUnit::note(Member& member, std::exception_ptr failure) {
  if (failure == nullptr) return nullptr;
  try {
    std::rethrow_exception(failure);
  } catch (const DeviceError& error) {
    member.lost_reason = error.what();
  } catch (const SparseRoomError& error) {
    member.short_reason = error.what();
  } catch (const std::bad_alloc&) {
    member.short_reason = member.unit->name() + " is out of host memory";
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
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
    failure = note(first, std::current_exception());
  }
  for (Member& member : members_) {
    if (member.thread == nullptr || (!waits && failure == nullptr)) continue;
    const std::exception_ptr other = note(member, member.thread->wait());
    if (failure == nullptr) failure = other;
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

std::size_t SharedSparseUnit::num_lost() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(members_, [&](const Member& m) { return !in_use(m); }));
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
    if (member.thread != nullptr) note(member, member.thread->wait());
    member.short_reason.clear();
  }
}

// With as many rows as it has room for.
void SharedSparseUnit::measure_one(Member& member, const SparseRows& matrix, Deadline deadline) {
  std::uint64_t rows = matrix.rows();
  for (;;) {
    try {
      member.rates = member.unit->rates(matrix.slice(0, rows), deadline);
      break;
    } catch (...) {
      const std::exception_ptr failure = note(member, std::current_exception());
      if (failure != nullptr) std::rethrow_exception(failure);
    }
    member.short_reason.clear();
    if (!in_use(member) || rows == 0) break;
    rows /= 2;
  }
  member.room = rows == matrix.rows() ? std::numeric_limits<std::uint64_t>::max()
                                      : rows + matrix.slice(0, rows).entries();
}

// One after the other: a measurement must not share the machine with another. Each has an equal
// part of the time that the others left, and so has what follows.
void SharedSparseUnit::measure(const SparseRows& matrix, Deadline deadline) {
  is_loaded_ = false;  // a unit that measures replaces its rows
  abandon_product();
  std::size_t parts = members_.size() - num_lost() + 1;
  for (Member& member : members_) {
    if (in_use(member)) measure_one(member, matrix, part_of(deadline, parts--));
  }
  check_alive();
}

SparseRates SharedSparseUnit::rates(const SparseRows& matrix, Deadline deadline) {
  measure(matrix, deadline);
  double rows_per_s = 0, entries_per_s = 0;
  SparseRates all;
  for (const Member& member : members_) {
    if (!in_use(member) || member.room == 0) continue;
    all.fixed_s = std::max(all.fixed_s, member.rates.fixed_s);
    all.is_modelled |= member.rates.is_modelled;
    rows_per_s += 1 / member.rates.row_s;
    entries_per_s += 1 / member.rates.entry_s;
  }
  if (rows_per_s == 0) throw SparseRoomError("device", name_ + " has no room for any row");
  all.row_s = 1 / rows_per_s;
  all.entry_s = 1 / entries_per_s;
  return all;
}

// Among the members in use.
void SharedSparseUnit::divide(const SparseRows& rows) {
  std::vector<sparse::RowSpeed> speeds;
  for (const Member& member : members_) {
    if (!in_use(member)) continue;
    const SparseRates& rates = member.rates;
    speeds.push_back({rates.fixed_s, rates.row_s, rates.entry_s, member.room});
  }
  const std::vector<std::uint64_t> bounds = sparse::share_rows(rows.begins, speeds);
  std::size_t next = 0;
  for (Member& member : members_) {
    member.first_row = bounds[next];
    if (in_use(member)) ++next;
    member.last_row = bounds[next];
  }
  divided_rows_ = bounds.back();
}

// Whether all parts are loaded. One that hangs leaves the others time for its rows.
bool SharedSparseUnit::load_parts(const SparseRows& rows, Deadline deadline) {
  const std::size_t lost = num_lost();
  const Deadline own = part_of(deadline, members_.size() - lost > 1 ? 2 : 1);
  divide(rows);
  in_all(
      [&](Member& member) {
        member.unit->load(rows.slice(member.first_row, member.last_row), own);
      },
      true);
  bool is_short = false;
  for (Member& member : members_) {
    if (member.short_reason.empty()) continue;
    is_short = true;
    member.short_reason.clear();
    const SparseRows part = rows.slice(member.first_row, member.last_row);
    member.room = (part.rows() + part.entries()) / 2;
  }
  return !is_short && lost == num_lost();
}

void SharedSparseUnit::load(const SparseRows& rows, Deadline deadline) {
  measure(rows, deadline);
  while (!load_parts(rows, deadline)) check_alive();
  rows_ = rows;
  is_loaded_ = true;
}

void SharedSparseUnit::start(std::span<const float> x, Deadline deadline) {
  check_loaded();
  TANDEM_CHECK_OP(x.size(), ==, rows_.columns);
  x_ = x;
  for (Member& member : members_) member.short_reason.clear();
  // The rest is for finish(), although one hangs here.
  const Deadline own = part_of(deadline, 2);
  in_all([x, own](Member& member) { member.unit->start(x, own); }, false);
}

SparsePart SharedSparseUnit::part_on_host(const SparseUnit& unit, std::uint64_t first_row,
                                          std::uint64_t last_row, const std::string& reason,
                                          std::span<float> y) const {
  const auto begin = std::chrono::steady_clock::now();
  const SparseRows rows = rows_.slice(first_row, last_row);
  unit.on_host(rows, x_, y.subspan(first_row, rows.rows()));
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  return {unit.name(),    first_row, last_row,       rows.entries(),
          passed.count(), false,     passed.count(), reason};
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
    if (!works(member)) {
      const std::string& reason = in_use(member) ? member.short_reason : member.lost_reason;
      parts.push_back(part_on_host(*member.unit, member.first_row, member.last_row, reason, y));
      continue;
    }
    for (SparsePart part : member.parts) {
      if (!part.is_modelled && part.host_reason.empty()) {
        part.predicted_s = member.rates.seconds(part.last_row - part.first_row, part.entries);
      }
      part.first_row += member.first_row;
      part.last_row += member.first_row;
      parts.push_back(std::move(part));
    }
  }
  if (divided_rows_ == rows_.rows()) return parts;
  parts.push_back(part_on_host(*members_.front().unit, divided_rows_, rows_.rows(),
                               "no device has room for these rows", y));
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
  if (divided_rows_ == rows.rows()) return;
  members_.front().unit->on_host(rows.slice(divided_rows_, rows.rows()), x,
                                 y.subspan(divided_rows_));
}

}  // namespace parallel

std::unique_ptr<SparseUnit> share_sparse_rows(std::vector<std::unique_ptr<SparseUnit>> units) {
  return std::make_unique<parallel::SharedSparseUnit>(std::move(units));
}

}  // namespace tandem::device
