// SPDX-License-Identifier: Apache-2.0
//
// Embedding gradients of real text: the rows that a batch of tokens touches.
//
// A corpus becomes a sequence of token ids, numbered by falling frequency (ties by first
// appearance), so that frequent rows come first as in trained vocabularies. Words are maximal runs
// of letters, digits and bytes above 127, case kept; every other byte except white space is a
// separate token. kBytePairs: overlapping pairs of bytes, a small dense vocabulary. Threads:
// immutable after construction. Errors: Error if the file cannot be read or is empty.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/sparse/sparse_vector.h"

namespace tandem::sparse {

class TokenCorpus {
 public:
  enum class Unit : std::uint8_t { kWords, kBytePairs };

  explicit TokenCorpus(const std::string& path, Unit unit = Unit::kWords);
  static TokenCorpus from_text(std::string_view text, Unit unit = Unit::kWords);

  std::uint32_t vocabulary_size() const { return vocabulary_size_; }
  const std::vector<std::uint32_t>& tokens() const { return tokens_; }

  // The batch of `batch_tokens` consecutive tokens that `rank` of `world` reads in `iteration`
  // (wrapping around); a row per distinct token, positive f32 multiples of 1/256 summed over its
  // occurrences. Domain: {max(vocabulary, num_rows), width}.
  SparseVector embedding_gradient(std::uint32_t width, std::size_t batch_tokens, int rank,
                                  int world, std::uint64_t iteration,
                                  std::uint64_t num_rows = 0) const;

 private:
  TokenCorpus() = default;

  std::uint32_t vocabulary_size_ = 0;
  std::vector<std::uint32_t> tokens_;
};

}  // namespace tandem::sparse
