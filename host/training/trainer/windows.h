// SPDX-License-Identifier: Apache-2.0
//
// Windows: which part of a text a sample is: shuffled anew in every epoch, without a state to keep.
//
// A text of `num_tokens` tokens has floor(num_tokens / length) windows that do not overlap; each
// epoch moves them by an offset of its own. window(sample) depends on seed and number alone, so a
// run goes on at any sample. The order is a permutation: a Feistel network of 4 rounds over the
// next power of four, walked until the number is a window's. Threads: any; pure functions.
// Errors: Error("train", ...) for a text that is shorter than one batch of all ranks.
#pragma once

#include <cstdint>

namespace tandem::training {

class Windows {
 public:
  Windows(std::uint64_t num_tokens, std::uint64_t length, std::uint64_t seed);

  std::uint64_t per_epoch() const { return per_epoch_; }
  // The first token of a sample's window. sample: counted over all epochs and ranks.
  std::uint64_t begin(std::uint64_t sample) const;
  // Error unless an epoch has a batch of `samples`.
  void require(std::uint64_t samples) const;

 private:
  std::uint64_t permuted(std::uint64_t epoch, std::uint64_t place) const;

  std::uint64_t num_tokens_, length_, seed_;
  std::uint64_t per_epoch_ = 0;
  int half_bits_ = 1;  // of a number in the network
};

}  // namespace tandem::training
