// SPDX-License-Identifier: Apache-2.0
//
// Windows: maps the number of a sample to a part of the text. The order is shuffled in every epoch,
// and there is no state to save.
//
// A text of `num_tokens` tokens has floor(num_tokens / length) windows that do not overlap; each
// epoch shifts them by its own offset. begin(sample) depends only on seed and number, so a run can
// resume at any sample. The order is a permutation by a Feistel network of 4 rounds over the next
// power of four. It is repeated until the result is a valid window. Threads: any; pure functions.
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
  // Throws Error unless an epoch has a batch of `samples`.
  void require(std::uint64_t samples) const;

 private:
  std::uint64_t permuted(std::uint64_t epoch, std::uint64_t place) const;

  std::uint64_t num_tokens_, length_, seed_;
  std::uint64_t per_epoch_ = 0;
  int half_bits_ = 1;  // bits of half a number in the network
};

}  // namespace tandem::training
