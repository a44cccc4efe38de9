// SPDX-License-Identifier: Apache-2.0
//
// Threads get their calls before the caller computes its own part, so that they move data
// meanwhile.
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

SharedSparseUnit::SharedSparseUnit(std::vector<std::unique_ptr<SparseUnit>> units,
                                   Deadline::Clock::duration grace)
    : grace_(grace) {
  if (units.empty()) throw Error("device", "no device is named to share a matrix");
  bool is_taken = false;  // the caller's thread
  for (std::unique_ptr<SparseUnit>& unit : units) {
    Member& member = members_.emplace_back();
    member.name = unit->name();
    name_ += (name_.empty() ? "" : "+") + member.name;
    const bool is_here = !is_taken && unit->works_on_host();
    is_taken |= is_here;
    if (!is_here) member.thread = std::make_unique<UnitThread>();
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
    member.short_reason = member.name + " is out of host memory";
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

std::exception_ptr SharedSparseUnit::wait_for(Member& member, Deadline deadline) {
  if (member.thread == nullptr || !in_use(member)) return nullptr;
  const auto end = deadline.is_never() ? deadline.time_point() : deadline.time_point() + grace_;
  std::exception_ptr failure;
  if (member.thread->wait(end, failure)) return note(member, failure);
  member.lost_reason = "[device] a call of " + member.name +
                       " did not return by its deadline; the device is used no more";
  return nullptr;
}

std::exception_ptr SharedSparseUnit::wait_all(Deadline deadline) {
  std::exception_ptr failure;
  for (Member& member : members_) {
    const std::exception_ptr other = wait_for(member, deadline);
    if (failure == nullptr) failure = other;
  }
  return failure;
}

std::exception_ptr SharedSparseUnit::begin(Member& member, UnitThread::Call call) {
  if (member.thread != nullptr) {
    member.thread->post(std::move(call));
    return nullptr;
  }
  try {
    if (const UnitThread::Delivery delivery = call()) delivery();
  } catch (...) {
    return note(member, std::current_exception());
  }
  return nullptr;
}

std::exception_ptr SharedSparseUnit::begin_calls(const CallOf& call_of) {
  std::exception_ptr failure;
  for (const bool is_here : {false, true}) {
    for (Member& member : members_) {
      const bool begins = works(member) && is_here == (member.thread == nullptr);
      if (begins) failure = begin(member, call_of(member));
    }
  }
  return failure;
}

void SharedSparseUnit::begin_all(const CallOf& call_of, Deadline deadline) {
  const std::exception_ptr failure = begin_calls(call_of);
  if (failure == nullptr) return;
  wait_all(deadline);
  std::rethrow_exception(failure);
}

void SharedSparseUnit::run_all(const CallOf& call_of, Deadline deadline) {
  std::exception_ptr failure = begin_calls(call_of);
  const std::exception_ptr other = wait_all(deadline);
  if (failure == nullptr) failure = other;
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

// Of a product that nobody finished: its calls must not meet those that follow.
void SharedSparseUnit::end_product(Deadline deadline) {
  is_started_ = false;
  wait_all(deadline);
  for (Member& member : members_) member.short_reason.clear();
}

// With as many rows as it has room for.
void SharedSparseUnit::measure_one(Member& member, const SparseRows& matrix, Deadline deadline) {
  std::uint64_t rows = matrix.rows();
  for (;;) {
    std::exception_ptr failure = begin(member, [&member, part = matrix.slice(0, rows), deadline] {
      const SparseRates rates = member.unit->rates(part, deadline);
      return [&member, rates] { member.rates = rates; };
    });
    if (failure == nullptr) failure = wait_for(member, deadline);
    if (failure != nullptr) std::rethrow_exception(failure);
    const bool is_short = !std::exchange(member.short_reason, "").empty();
    if (!in_use(member) || !is_short || rows == 0) break;
    rows /= 2;
  }
  member.room = rows == matrix.rows() ? std::numeric_limits<std::uint64_t>::max()
                                      : rows + matrix.slice(0, rows).entries();
}

// One after the other: a measurement must not share the machine with another. Each has an equal
// part of the time that the others left, and so has what follows.
void SharedSparseUnit::measure(const SparseRows& matrix, Deadline deadline) {
  is_loaded_ = false;  // a unit that measures replaces its rows
  if (is_started_) end_product(part_of(deadline, 2));
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
  const CallOf load = [&](Member& member) {
    return [&member, own, part = rows.slice(member.first_row, member.last_row)] {
      if (member.thread != nullptr) member.y.resize(part.rows());
      member.unit->load(part, own);
      return UnitThread::Delivery();
    };
  };
  run_all(load, own);
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

// A unit that was given up may still read the old copy, which it keeps.
void SharedSparseUnit::copy_x(std::span<const float> x) {
  for (Member& member : members_) {
    if (in_use(member)) member.x = nullptr;
  }
  if (x_copy_ == nullptr || x_copy_.use_count() > 1) {
    x_copy_ = std::make_shared<std::vector<float>>();
  }
  x_copy_->assign(x.begin(), x.end());
  for (Member& member : members_) {
    if (in_use(member)) member.x = x_copy_;
  }
}

void SharedSparseUnit::start(std::span<const float> x, Deadline deadline) {
  check_loaded();
  TANDEM_CHECK_OP(x.size(), ==, rows_.columns);
  if (is_started_) end_product(part_of(deadline, 2));
  x_ = x;
  const auto takes_copy = [this](const Member& member) {
    return member.thread != nullptr && has_rows(member) && in_use(member);
  };
  if (std::ranges::any_of(members_, takes_copy)) copy_x(x);
  for (Member& member : members_) member.short_reason.clear();
  // The rest is for finish(), although one hangs here.
  const Deadline own = part_of(deadline, 2);
  const CallOf start = [&](Member& member) {
    return [&member, own, from = member.thread == nullptr ? x : *member.x] {
      member.unit->start(from, own);
      return UnitThread::Delivery();
    };
  };
  begin_all(start, own);
  is_started_ = true;
}

SparsePart SharedSparseUnit::part_on_host(const Member& member, std::uint64_t first_row,
                                          std::uint64_t last_row, const std::string& reason,
                                          std::span<float> y) const {
  const auto begin = std::chrono::steady_clock::now();
  const SparseRows rows = rows_.slice(first_row, last_row);
  member.unit->on_host(rows, x_, y.subspan(first_row, rows.rows()));
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  return {member.name,    first_row, last_row,       rows.entries(),
          passed.count(), false,     passed.count(), reason};
}

// In the caller's thread in place.
UnitThread::Call SharedSparseUnit::finish_of(Member& member, std::span<float> y,
                                             Deadline deadline) {
  const auto own = y.subspan(member.first_row, member.last_row - member.first_row);
  const bool is_here = member.thread == nullptr;
  return [&member, own, is_here, deadline]() -> UnitThread::Delivery {
    return [&member, own, is_here,
            parts = member.unit->finish(is_here ? own : std::span(member.y), deadline)] {
      if (!is_here) std::ranges::copy(member.y, own.begin());
      member.parts = parts;
    };
  };
}

std::vector<SparsePart> SharedSparseUnit::finish(std::span<float> y, Deadline deadline) {
  check_loaded();
  TANDEM_CHECK_OP(y.size(), ==, rows_.rows());
  is_started_ = false;
  run_all([&](Member& member) { return finish_of(member, y, deadline); }, deadline);
  check_alive();
  std::vector<SparsePart> parts;
  for (Member& member : members_) {
    if (!has_rows(member)) continue;
    if (!works(member)) {
      const std::string& reason = in_use(member) ? member.short_reason : member.lost_reason;
      parts.push_back(part_on_host(member, member.first_row, member.last_row, reason, y));
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
  parts.push_back(part_on_host(members_.front(), divided_rows_, rows_.rows(),
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
