// SPDX-License-Identifier: Apache-2.0
//
// Folding: lets an algorithm for powers of two run on a world of any size.
//
// The largest power of two <= n ranks are active. Of the first 2 (n - active) ranks, every odd rank
// gives its vector to the even rank before it and gets the result back at the end; all other ranks
// are active without a partner. Active ranks have places 0 .. active - 1 in rank order, so a block
// of places covers consecutive ranks. Threads: a plain value.
#pragma once

#include <bit>

namespace tandem::collectives {

class Folding {
 public:
  explicit Folding(int world)
      : active_(static_cast<int>(std::bit_floor(static_cast<unsigned>(world)))),
        extra_(world - active_) {}

  int active() const { return active_; }  // a power of two
  int extra() const { return extra_; }    // ranks that hand their vector over
  int rounds() const { return std::countr_zero(static_cast<unsigned>(active_)); }

  bool hands_over(int rank) const { return rank < 2 * extra_ && rank % 2 == 1; }
  bool takes_over(int rank) const {
    return rank < 2 * extra_ && rank % 2 == 0;
  }  // whether `rank` takes over the vector of rank + 1

  // The place of an active rank.
  int place(int rank) const { return rank < 2 * extra_ ? rank / 2 : rank - extra_; }
  int rank_at(int place) const { return place < extra_ ? 2 * place : place + extra_; }
  // The number of ranks whose vectors the places before `place` cover.
  int ranks_before(int place) const { return rank_at(place); }

 private:
  int active_;
  int extra_;
};

}  // namespace tandem::collectives
