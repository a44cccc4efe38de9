// SPDX-License-Identifier: Apache-2.0
//
// The part of GroupChecks that is about the bytes of whole loops.
//
// The bounds of local memory are those of all bytes between the first and the last, because a loop
// stays in one variable. Device memory has no missing values.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "emulation/card/checks/group_checks.h"
#include "emulation/card/checks/local_memory.h"
#include "emulation/card/checks/run_checks.h"
#include "emulation/card/checks/value_states.h"

namespace tandem::emulation {
namespace {

constexpr uint64_t kMostTurns = uint64_t{1} << 31;
constexpr uint64_t kMostStep = uint64_t{1} << 31;
constexpr uint64_t kMostPieces = 4096;

// `rows` times pieces of RunChecks; row after row begins `row_step` bytes later.
struct Rows {
  RunChecks::Pieces pieces;
  uint64_t row_step = 0, rows = 1;
  uint64_t end() const { return pieces.low + row_step * (rows - 1) + pieces.span(); }
};

// Steps become positive, and what is dense one piece. None: too far to look at.
std::optional<Rows> rows_of(const GroupChecks::Span& span) {
  std::pair<uint64_t, uint64_t> extents[2];  // step, turns
  Rows rows{{span.low, span.size_bytes, 0, 1}};
  size_t count = 0;
  for (const auto& [step, turns] : span.extents) {
    if (step == 0 || turns == 0) continue;
    const uint64_t size = step < 0 ? -static_cast<uint64_t>(step) : static_cast<uint64_t>(step);
    if (size >= kMostStep || turns >= kMostTurns) return {};
    if (step < 0) rows.pieces.low -= size * turns;
    extents[count++] = {size, turns};
  }
  if (count == 2 && extents[1].first < extents[0].first) std::swap(extents[0], extents[1]);
  size_t at = 0;
  for (; at < count && extents[at].first <= rows.pieces.piece; ++at) {
    rows.pieces.piece += extents[at].first * extents[at].second;
  }
  rows.pieces.step = rows.pieces.piece;
  if (at < count) {
    rows.pieces.step = extents[at].first;
    rows.pieces.count = extents[at].second + 1;
    ++at;
  }
  if (at < count) {
    rows.row_step = extents[at].first;
    rows.rows = extents[at].second + 1;
  }
  const uint64_t size = rows.end() - rows.pieces.low;
  if (size >= kMostTurns || rows.end() < rows.pieces.low) return {};
  return rows;
}

template <class Good>
bool all_rows(const Rows& rows, const Good& good) {
  RunChecks::Pieces pieces = rows.pieces;
  for (uint64_t row = 0; row < rows.rows; ++row, pieces.low += rows.row_step) {
    if (!good(pieces)) return false;
  }
  return true;
}

template <class Good>
bool all_pieces(const Rows& rows, const Good& good) {
  return all_rows(rows, [&](const RunChecks::Pieces& pieces) {
    for (uint64_t index = 0; index < pieces.count; ++index) {
      if (!good(pieces.low + index * pieces.step, pieces.piece)) return false;
    }
    return true;
  });
}

// Whether variables hold the bytes: most of them are whole words that are quickly known.
bool is_inside(uint64_t begin, uint64_t end) {
  const uint64_t first = std::min((begin + 7) / 8 * 8, end), last = std::max(end / 8 * 8, first);
  return may_touch_bytes(begin, first - begin) && are_zero(&shadow_of(first), (last - first) / 8) &&
         may_touch_bytes(last, end - last);
}

}  // namespace

bool GroupChecks::is_good_local(uint64_t begin, uint64_t end) const {
  return is_mappable(begin) && is_mappable(end) && !checks_.is_in_device(begin) &&
         !checks_.is_in_device(end) && is_inside(begin, end);
}

bool GroupChecks::is_good(const Span& span, const void* from) {
  finish_write();
  const auto rows = rows_of(span);
  if (!rows || rows->rows * rows->pieces.count > kMostPieces) return false;
  const uint64_t begin = rows->pieces.low, end = rows->end();
  const bool in_device = checks_.is_in_device(begin);
  if (watches_ && !span.is_whole) return false;
  if (in_device) {
    const bool is_good = all_rows(*rows, [&](const RunChecks::Pieces& pieces) {
      return span.writes ? checks_.is_good_store(pieces, span.is_whole, from)
                         : checks_.is_good_load(pieces, span.is_whole, from);
    });
    if (!is_good) return false;
  } else {
    if (checks_.is_watched_ || !is_good_local(begin, end)) return false;
    const bool has_values =
        (span.writes && span.is_whole) || all_pieces(*rows, [](uint64_t at, uint64_t size) {
          return are_zero(value_states_of(at), size);
        });
    if (!has_values) return false;
  }
  return !watches_ || !(in_device || is_shared(begin)) ||
         all_pieces(*rows, [&](uint64_t at, uint64_t size) {
           return !races_.may_meet(at, size, span.writes);
         });
}

void GroupChecks::note(const Span& span, const void* from) {
  const auto rows = rows_of(span);
  if (!rows) return;
  const uint64_t begin = rows->pieces.low;
  const bool in_device = checks_.is_in_device(begin);
  if (span.writes && in_device) {
    all_rows(*rows, [&](const RunChecks::Pieces& pieces) {
      checks_.stored_pieces(pieces);
      return true;
    });
  }
  all_pieces(*rows, [&](uint64_t at, uint64_t size) {
    if (span.writes && !in_device) std::memset(value_states_of(at), 0, size);
    if (watches_) touch(at, size, span.writes, from);
    return true;
  });
}

}  // namespace tandem::emulation
