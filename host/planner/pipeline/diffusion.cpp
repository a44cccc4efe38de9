// SPDX-License-Identifier: Apache-2.0
//
// Rounds of pairs, then sweeps under a falling limit.
#include "planner/pipeline/diffusion.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "common/error.h"

namespace tandem::planner {
namespace {

class Neighbours {
 public:
  Neighbours(const StageLoads& loads, Cuts cuts) : loads_(loads), cuts_(std::move(cuts)) {}

  // One round of pairs. Whether a layer moved.
  bool exchange() {
    bool has_moved = false;
    for (const int first : {1, 0}) {
      for (int stage = first; stage + 1 < loads_.rules().num_stages; stage += 2) {
        has_moved = exchange_at(stage) || has_moved;
      }
    }
    return has_moved;
  }

  const Cuts& cuts() const { return cuts_; }

 private:
  // Between `stage` and the next one.
  bool exchange_at(int stage) {
    const int begin = loads_.begin_of(cuts_, stage), end = loads_.end_of(cuts_, stage + 1);
    int& cut = cuts_[static_cast<std::size_t>(stage)];
    const std::int64_t left = loads_.time_ps(begin, cut), right = loads_.time_ps(cut, end);
    const int moved_cut = left > right ? cut - 1 : cut + 1;
    if (moved_cut == begin || moved_cut == end) return false;
    const std::int64_t layer = loads_.time_ps(std::min(cut, moved_cut), std::max(cut, moved_cut));
    if (layer >= std::abs(left - right)) return false;
    if (!loads_.fits(begin, moved_cut, kMostPicoseconds) ||
        !loads_.fits(moved_cut, end, kMostPicoseconds)) {
      return false;
    }
    cut = moved_cut;
    return true;
  }

  const StageLoads& loads_;
  Cuts cuts_;
};

// Sweeps from the first stage to the last and back. Returns nothing if the limit cannot be kept.
std::optional<Cuts> kept_within(const StageLoads& loads, Cuts cuts, std::int64_t limit_ps) {
  const int last = loads.rules().num_stages - 1;
  for (int stage = 0; stage < last; ++stage) {
    const int begin = loads.begin_of(cuts, stage);
    int& end = cuts[static_cast<std::size_t>(stage)];
    while (end > begin && !loads.fits(begin, end, limit_ps)) --end;
    if (end == begin) return std::nullopt;
  }
  for (int stage = last; stage > 0; --stage) {
    const int end = loads.end_of(cuts, stage);
    int& begin = cuts[static_cast<std::size_t>(stage) - 1];
    while (begin < end && !loads.fits(begin, end, limit_ps)) ++begin;
    if (begin == end) return std::nullopt;
  }
  if (!loads.fits(0, loads.end_of(cuts, 0), limit_ps)) return std::nullopt;
  return cuts;
}

std::int64_t num_moves(const Cuts& from, const Cuts& to) {
  std::int64_t moves = 0;
  for (std::size_t i = 0; i < from.size(); ++i) moves += std::abs(from[i] - to[i]);
  return moves;
}

}  // namespace

Diffusion diffuse(const StageLoads& loads, const Cuts& cuts) {
  loads.check(cuts);
  Diffusion result{cuts};
  const auto take = [&](const Cuts& next) {
    result.moves += num_moves(result.cuts, next);
    result.cuts = next;
  };
  if (!loads.fits_memory(cuts)) {
    const auto kept = kept_within(loads, cuts, kMostPicoseconds);
    if (!kept) {
      throw Error("balance",
                  "no contiguous partition into " + std::to_string(loads.rules().num_stages) +
                      " stages keeps within " + std::to_string(loads.rules().stage_bytes) +
                      " bytes per stage; give more memory or more stages");
    }
    take(*kept);
  }
  Neighbours neighbours(loads, result.cuts);
  for (bool goes_on = true; goes_on; ++result.rounds) {
    goes_on = neighbours.exchange();
    take(neighbours.cuts());
  }
  std::int64_t least = loads.least_bottleneck_ps(), enough = loads.bottleneck_ps(result.cuts);
  while (least < enough) {
    const std::int64_t middle = least + (enough - least) / 2;
    if (const auto kept = kept_within(loads, result.cuts, middle)) {
      take(*kept);
      enough = loads.bottleneck_ps(result.cuts);
    } else {
      least = middle + 1;
    }
  }
  return result;
}

}  // namespace tandem::planner
