// SPDX-License-Identifier: Apache-2.0
//
// TileSchedule: assigns the tiles of all local boxes of a field to threads.
//
// Schedule::kStatic: thread t always has the same consecutive tiles, so it uses the memory that it
// touched first. Schedule::kDynamic: a thread begins with those tiles and then takes tiles of
// others. first_touch() always uses kStatic. Tiles are cut evenly (Cut::kBalanced). Threads: one
// caller; `pool` runs the bodies. Errors: those of bodies. Source: see box.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/thread_pool.h"
#include "tensor/tiling/field.h"

namespace tandem::tiling {

enum class Schedule : std::uint8_t { kStatic, kDynamic };

template <std::size_t kDims>
struct LocalTile {
  std::size_t local = 0;  // index of the box among this rank's boxes
  Box<kDims> box;
};

template <std::size_t kDims>
class TileSchedule {
 public:
  using Body = FunctionRef<void(const LocalTile<kDims>& tile, std::size_t worker)>;

  template <typename Value>
  TileSchedule(const Field<Value, kDims>& field, const Point<kDims>& tile, Schedule schedule,
               ThreadPool& pool)
      : schedule_(schedule), pool_(&pool) {
    for (std::size_t local = 0; local < field.num_boxes(); ++local) {
      for (const Box<kDims>& box : Tiles<kDims>(field.box(local), tile, Cut::kBalanced)) {
        tiles_.push_back({local, box});
      }
    }
    set_bounds();
  }

  const std::vector<LocalTile<kDims>>& tiles() const { return tiles_; }

  // The same schedule without the tiles for which `leaves_out` returns true.
  template <typename Predicate>
  TileSchedule without(const Predicate& leaves_out) const {
    TileSchedule result = *this;
    std::erase_if(result.tiles_, leaves_out);
    result.set_bounds();
    return result;
  }

  void run(Body body) const {
    if (schedule_ == Schedule::kStatic) return first_touch(body);
    pool_->run_regions(bounds_,
                       [&](std::size_t at, std::size_t worker) { body(tiles_[at], worker); });
  }

  void first_touch(Body body) const {
    pool_->place(bounds_, [&](std::size_t at, std::size_t worker) { body(tiles_[at], worker); });
  }

  // The results of all tiles in the order of tiles, so their sum does not depend on threads.
  template <typename Result, typename Map>
  std::vector<Result> map(const Map& each) const {
    std::vector<Result> results(tiles_.size());
    pool_->run_regions(bounds_,
                       [&](std::size_t at, std::size_t) { results[at] = each(tiles_[at]); });
    return results;
  }

 private:
  void set_bounds() {
    const auto threads = static_cast<std::size_t>(pool_->num_threads());
    bounds_.clear();
    for (std::size_t t = 0; t <= threads; ++t) bounds_.push_back(tiles_.size() * t / threads);
  }

  Schedule schedule_;
  ThreadPool* pool_;
  std::vector<LocalTile<kDims>> tiles_;
  std::vector<std::size_t> bounds_;  // [threads + 1]
};

}  // namespace tandem::tiling
