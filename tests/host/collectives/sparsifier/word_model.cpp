// SPDX-License-Identifier: Apache-2.0
//
// Plain loops; a batch is 8 pairs of words.
#include "host/collectives/sparsifier/word_model.h"

#include <algorithm>
#include <cmath>

namespace tandem::collectives::test {
namespace {

constexpr int kBatch = 8;
constexpr float kRate = 0.5f;
constexpr std::size_t kLayer = WordModel::kWords * WordModel::kRow;

double uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) / static_cast<double>(1ull << 53);
}

}  // namespace

WordModel::WordModel() : parameters_(kParameters) {
  double sum = 0;
  for (std::size_t word = 0; word < kWords; ++word) {
    frequencies_.push_back(sum += std::pow(static_cast<double>(word + 1), -1.3));
  }
  std::mt19937_64 random(5);
  for (float& value : parameters_) value = static_cast<float>(uniform(random) - 0.5);
}

std::uint32_t WordModel::draw_word(std::mt19937_64& random) const {
  const double at = uniform(random) * frequencies_.back();
  const auto word = std::ranges::lower_bound(frequencies_, at) - frequencies_.begin();
  return static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(word, kWords - 1));
}

// Two of three words follow from the last one.
std::uint32_t WordModel::word_after(std::uint32_t word, std::mt19937_64& random) const {
  if (uniform(random) < 0.33) return draw_word(random);
  return static_cast<std::uint32_t>((word * 5 + 3) % 64);
}

WordModel::Activations WordModel::forward(std::uint32_t word) const {
  Activations active{{}, std::vector<double>(kWords)};
  for (std::size_t h = 0; h < kHidden; ++h) {
    double sum = 0;
    for (std::size_t i = 0; i < kWidth; ++i) {
      sum += parameters_[word * kRow + i] * parameters_[kLayer + i * kHidden + h];
    }
    active.hidden[h] = std::tanh(sum);
  }
  double total = 0;
  for (std::size_t next = 0; next < kWords; ++next) {
    double logit = 0;
    for (std::size_t h = 0; h < kHidden; ++h) {
      logit += active.hidden[h] * parameters_[next * kRow + kWidth + h];
    }
    total += active.odds[next] = std::exp(logit);
  }
  for (double& odds : active.odds) odds /= total;
  return active;
}

void WordModel::backward(std::uint32_t word, std::uint32_t next, double scale, Gradient& to) const {
  const Activations active = forward(word);
  double of_hidden[kHidden] = {};
  for (std::size_t other = 0; other < kWords; ++other) {
    const double error = scale * (active.odds[other] - (other == next ? 1 : 0));
    for (std::size_t h = 0; h < kHidden; ++h) {
      const std::size_t at = other * kRow + kWidth + h;
      to[at] += static_cast<float>(error * active.hidden[h]);
      of_hidden[h] += error * parameters_[at];
    }
  }
  for (std::size_t h = 0; h < kHidden; ++h) {
    const double error = of_hidden[h] * (1 - active.hidden[h] * active.hidden[h]);
    for (std::size_t i = 0; i < kWidth; ++i) {
      to[kLayer + i * kHidden + h] += static_cast<float>(error * parameters_[word * kRow + i]);
      to[word * kRow + i] += static_cast<float>(error * parameters_[kLayer + i * kHidden + h]);
    }
  }
}

Gradient WordModel::gradient(int rank, std::uint64_t step) const {
  std::mt19937_64 random(1000 * (step + 1) + static_cast<std::uint64_t>(rank));
  Gradient gradient(kParameters);
  for (int i = 0; i < kBatch; ++i) {
    const std::uint32_t word = draw_word(random);
    backward(word, word_after(word, random), 1.0 / kBatch, gradient);
  }
  return gradient;
}

void WordModel::descend(const SparseTensor& mean) {
  const auto indices = indices_of(mean);
  const auto values = values_of(mean);
  for (std::size_t i = 0; i < indices.size(); ++i) parameters_[indices[i]] -= kRate * values[i];
}

double WordModel::loss() const {
  std::mt19937_64 random(77);
  double sum = 0;
  constexpr int kPairs = 300;
  for (int i = 0; i < kPairs; ++i) {
    const std::uint32_t word = draw_word(random);
    sum -= std::log(forward(word).odds[word_after(word, random)]) / kPairs;
  }
  return sum;
}

}  // namespace tandem::collectives::test
