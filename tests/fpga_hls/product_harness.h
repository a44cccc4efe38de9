// SPDX-License-Identifier: Apache-2.0
//
// Calls the sparse_product kernel as a C++ function: packs matrices by the text of abi.h
// (independently of the driver), and computes the expected bits and their bound.
//
// A Matrix is [row][entry] (column, value), columns ascending. Everything is public so that tests
// can break it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "sparse_product/abi.h"
#include "sparse_product/stages.h"

extern "C" void sparse_product(const tandem::sparse_product::Word* matrix,
                               const tandem::sparse_product::Word* entries,
                               const tandem::sparse_product::Word* x,
                               tandem::sparse_product::Word* result, std::uint32_t matrix_words,
                               std::uint32_t x_words, std::uint32_t result_words,
                               std::uint32_t tag);

namespace tandem::sparse_product {

struct Matrix {
  std::uint32_t columns = 1;
  std::vector<std::vector<std::pair<std::uint32_t, float>>> rows;
};

// A packed matrix; `words` is what the kernel reads.
struct PackedMatrix {
  MatrixHeader header{};
  std::vector<Segment> segments;
  std::vector<Word> words;

  // Writes header and segments again, after a test has changed them.
  void put_tables() {
    std::memcpy(static_cast<void*>(words.data()), &header, sizeof header);
    std::memcpy(static_cast<void*>(&words[header.segments_word]), segments.data(),
                segments.size() * sizeof(Segment));
  }
  std::uint32_t add(const std::vector<std::uint32_t>& values) {
    const std::size_t begin = words.size();
    words.resize(begin + (values.size() + 15) / 16, Word(0xdeadbeefu));
    if (!values.empty()) {
      std::memcpy(static_cast<void*>(&words[begin]), values.data(), values.size() * 4);
    }
    return static_cast<std::uint32_t>(begin);
  }
};

// Groups of the entries of a row in a tile.
inline std::vector<std::uint32_t> groups_of(const Matrix& m, std::size_t row, std::uint32_t tile) {
  std::vector<std::uint32_t> words;
  std::size_t filled = 0;
  for (const auto& [column, value] : m.rows[row]) {
    if (column / kTileColumns != tile) continue;
    if (filled % 8 == 0) {
      words.insert(words.end(), 8, kNoEntry);
      words.insert(words.end(), 8, 0u);
    }
    words[words.size() - 16 + filled % 8] = column % kTileColumns;
    words[words.size() - 8 + filled % 8] = std::bit_cast<std::uint32_t>(value);
    ++filled;
  }
  return words;
}

inline PackedMatrix pack(const Matrix& m) {
  PackedMatrix p;
  const auto rows = static_cast<std::uint32_t>(m.rows.size());
  const std::uint32_t tiles = num_tiles(m.columns);
  p.segments.resize(std::size_t{num_blocks(rows)} * tiles);
  p.words.resize(1, Word(0));
  p.header.segments_word = p.add(std::vector<std::uint32_t>(p.segments.size() * 4));
  for (std::uint32_t s = 0; s < p.segments.size(); ++s) {
    const std::uint32_t first = s / tiles * kBlockRows;
    std::vector<std::uint32_t> lengths, groups;
    for (std::uint32_t row = first; row < first + block_rows(rows, s / tiles); ++row) {
      const std::vector<std::uint32_t> own = groups_of(m, row, s % tiles);
      lengths.push_back(static_cast<std::uint32_t>(own.size() / 16));
      groups.insert(groups.end(), own.begin(), own.end());
      p.segments[s].num_steps += own.empty() ? 1 : lengths.back();
    }
    p.segments[s].num_groups = static_cast<std::uint32_t>(groups.size() / 16);
    p.segments[s].lengths_word = p.add(lengths);
    p.segments[s].groups_word = p.add(groups);
  }
  p.header.magic = kMagic;
  p.header.abi_version = kAbiVersion;
  p.header.num_words = static_cast<std::uint32_t>(p.words.size());
  p.header.num_rows = rows;
  p.header.num_columns = m.columns;
  p.put_tables();
  return p;
}

inline float tree(const float (&v)[8]) {
  return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

// The row's sum in the order of abi.h, with the host's own f32 arithmetic.
inline float expected(const Matrix& m, std::size_t row, const std::vector<float>& x) {
  float sum = 0;
  for (std::uint32_t tile = 0; tile < num_tiles(m.columns); ++tile) {
    const std::vector<std::uint32_t> words = groups_of(m, row, tile);
    float sums[2][8] = {};
    for (std::size_t g = 0; g < words.size() / 16; ++g) {
      float products[8] = {};
      for (std::size_t lane = 0; lane < 8; ++lane) {
        const std::uint32_t column = words[g * 16 + lane];
        if (column == kNoEntry) continue;
        products[lane] = std::bit_cast<float>(words[g * 16 + 8 + lane]) *
                         x[std::size_t{tile} * kTileColumns + column];
      }
      float& to = sums[g / 8 % 2][g % 8];
      to = g < 16 ? tree(products) : to + tree(products);
    }
    sum += tree(sums[0]) + tree(sums[1]);
  }
  return sum;
}

struct Answer {
  ResultHeader header{};
  std::vector<float> y;
  bool guard_is_whole = false;
};

// Runs the kernel with a guard word behind the result.
inline Answer run(const PackedMatrix& p, const std::vector<float>& x, std::uint32_t room,
                  std::uint32_t x_words) {
  std::vector<Word> vector(value_words(static_cast<std::uint32_t>(x.size())), Word(0));
  std::memcpy(static_cast<void*>(vector.data()), x.data(), x.size() * 4);
  std::vector<Word> result(room + 1, Word(0x5a5aa5a5u));
  ::sparse_product(p.words.data(), p.words.data(), vector.data(), result.data(),
                   static_cast<std::uint32_t>(p.words.size()), x_words, room, 77);
  Answer answer;
  std::memcpy(&answer.header, result.data(), sizeof answer.header);
  if (answer.header.status == kOk) {
    answer.y.resize(p.header.num_rows);
    std::memcpy(answer.y.data(), result.data() + 1, answer.y.size() * 4);
  }
  answer.guard_is_whole = result[room][0] == 0x5a5aa5a5u;
  return answer;
}

inline Answer run(const PackedMatrix& p, const std::vector<float>& x) {
  return run(p, x, result_words(p.header.num_rows),
             value_words(static_cast<std::uint32_t>(x.size())));
}

}  // namespace tandem::sparse_product
