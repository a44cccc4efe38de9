// SPDX-License-Identifier: Apache-2.0
//
// A small language model, for tests that need gradients which change as a model trains.
//
// The next word from the last one: embedding, tanh layer, softmax over the vocabulary. Words follow
// a Zipf law and are numbered by frequency, so gradients are skewed as those of real text are. All
// values are drawn from fixed seeds. Threads: one per object.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "host/collectives/sparsifier/training.h"

namespace tandem::collectives::test {

class WordModel {
 public:
  static constexpr std::size_t kWords = 768, kWidth = 24, kHidden = 8;
  static constexpr std::size_t kRow = kWidth + kHidden;  // of a word: embedding, then output
  static constexpr std::size_t kParameters = kWords * kRow + kWidth * kHidden;

  WordModel();

  // Of the mean loss over the batch of this rank and step. [kParameters]
  Gradient gradient(int rank, std::uint64_t step) const;
  void descend(const SparseTensor& mean);
  // Nats a word, over words that are in no batch.
  double loss() const;

 private:
  struct Activations {
    double hidden[kHidden];
    std::vector<double> odds;  // [kWords]; they add up to 1
  };

  std::uint32_t draw_word(std::mt19937_64& random) const;
  std::uint32_t word_after(std::uint32_t word, std::mt19937_64& random) const;
  Activations forward(std::uint32_t word) const;
  void backward(std::uint32_t word, std::uint32_t next, double scale, Gradient& to) const;

  std::vector<double> frequencies_;  // [kWords] sums of those up to here
  std::vector<float> parameters_;    // [kWords, kRow], then the layer [kWidth, kHidden]
};

}  // namespace tandem::collectives::test
