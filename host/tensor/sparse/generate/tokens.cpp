// SPDX-License-Identifier: Apache-2.0
//
// Splitting, numbering by frequency, and the rows of a batch.
#include "tensor/sparse/generate/tokens.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "tensor/sparse/generate/random_subset.h"

namespace tandem::sparse {
namespace {

bool is_word_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) != 0;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    if (is_word_byte(text[at])) {
      while (end < text.size() && is_word_byte(text[end])) ++end;
    }
    if (std::isspace(static_cast<unsigned char>(text[at])) == 0) {
      words.push_back(text.substr(at, end - at));
    }
    at = end;
  }
  return words;
}

std::vector<std::string_view> split_pairs(std::string_view text) {
  std::vector<std::string_view> pairs;
  for (std::size_t at = 0; at + 1 < text.size(); ++at) pairs.push_back(text.substr(at, 2));
  return pairs;
}

// Ids by first appearance become ids by falling frequency. Returns the vocabulary's size.
std::uint32_t number_by_frequency(std::vector<std::uint32_t>& tokens,
                                  const std::vector<std::uint64_t>& frequency) {
  std::vector<std::uint32_t> order(frequency.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return frequency[a] > frequency[b]; });
  std::vector<std::uint32_t> place(order.size());
  for (std::uint32_t at = 0; at < order.size(); ++at) place[order[at]] = at;
  for (std::uint32_t& token : tokens) token = place[token];
  return static_cast<std::uint32_t>(order.size());
}

}  // namespace

TokenCorpus::TokenCorpus(const std::string& path, Unit unit) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("workload", "cannot read the text file " + path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  *this = from_text(text, unit);
}

TokenCorpus TokenCorpus::from_text(std::string_view text, Unit unit) {
  TokenCorpus corpus;
  std::unordered_map<std::string_view, std::uint32_t> ids;
  std::vector<std::uint64_t> frequency;
  for (std::string_view word : unit == Unit::kWords ? split_words(text) : split_pairs(text)) {
    const auto [found, is_new] =
        ids.try_emplace(word, static_cast<std::uint32_t>(frequency.size()));
    if (is_new) frequency.push_back(0);
    ++frequency[found->second];
    corpus.tokens_.push_back(found->second);
  }
  if (corpus.tokens_.empty()) throw Error("workload", "the text has no tokens");
  corpus.vocabulary_size_ = number_by_frequency(corpus.tokens_, frequency);
  return corpus;
}

SparseVector TokenCorpus::embedding_gradient(std::uint32_t width, std::size_t batch_tokens,
                                             int rank, int world, std::uint64_t iteration,
                                             std::uint64_t num_rows) const {
  const std::uint64_t batch =
      iteration * static_cast<std::uint64_t>(world) + static_cast<std::uint64_t>(rank);
  std::vector<std::uint32_t> rows;
  rows.reserve(batch_tokens);
  for (std::size_t at = 0; at < batch_tokens; ++at) {
    rows.push_back(tokens_[(batch * batch_tokens + at) % tokens_.size()]);
  }
  std::sort(rows.begin(), rows.end());
  std::vector<std::uint32_t> distinct;
  std::unique_copy(rows.begin(), rows.end(), std::back_inserter(distinct));
  SparseVector vector({std::max<std::uint64_t>(vocabulary_size_, num_rows), width}, DType::kF32);
  vector.resize(distinct.size());
  std::copy(distinct.begin(), distinct.end(), vector.indices<std::uint32_t>().begin());
  const auto values = vector.values<float>();
  std::fill(values.begin(), values.end(), 0.0f);
  Random random(mix(0x746f6b656eu, batch));
  std::size_t entry = 0;
  for (std::uint32_t row : rows) {
    while (distinct[entry] != row) ++entry;
    for (std::uint32_t column = 0; column < width; ++column) {
      const auto drawn = static_cast<float>(1 + (random.next() >> 54));
      values[entry * width + column] += drawn / 256.0f;
    }
  }
  return vector;
}

}  // namespace tandem::sparse
