// SPDX-License-Identifier: Apache-2.0
//
// The offset of an epoch is less than the number of tokens that the windows leave over.
#include "training/trainer/windows.h"

#include <string>

#include "common/error.h"
#include "training/trainer/mixing.h"

namespace tandem::training {

Windows::Windows(std::uint64_t num_tokens, std::uint64_t length, std::uint64_t seed)
    : num_tokens_(num_tokens), length_(length), seed_(seed), per_epoch_(num_tokens / length) {
  while (std::uint64_t{1} << (2 * half_bits_) < per_epoch_) ++half_bits_;
  // An offset needs room: the last window of an epoch that has a rest of a window or more.
  if (per_epoch_ > 1 && num_tokens_ % length_ == 0) --per_epoch_;
}

void Windows::require(std::uint64_t samples) const {
  if (per_epoch_ >= samples) return;
  throw Error("train", "the text has " + std::to_string(num_tokens_) + " tokens, which are " +
                           std::to_string(per_epoch_) + " windows of " + std::to_string(length_) +
                           "; a step of all ranks takes " + std::to_string(samples) +
                           "; give a longer text, or lower --batch, --accumulate or --context");
}

std::uint64_t Windows::permuted(std::uint64_t epoch, std::uint64_t place) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  const std::uint64_t key = mixed(seed_, epoch);
  do {
    std::uint64_t left = place >> half_bits_, right = place & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ (mixed(key + round, right) & mask);
      left = right;
      right = next;
    }
    place = left << half_bits_ | right;
  } while (place >= per_epoch_);
  return place;
}

std::uint64_t Windows::begin(std::uint64_t sample) const {
  const std::uint64_t epoch = sample / per_epoch_;
  const std::uint64_t room = num_tokens_ - per_epoch_ * length_;
  const std::uint64_t offset = mixed(seed_ + 1, epoch) % (room + 1);
  return permuted(epoch, sample % per_epoch_) * length_ + offset;
}

}  // namespace tandem::training
