// SPDX-License-Identifier: Apache-2.0
//
// Calls the sparse_aggregation kernel as a C++ function: packs descriptors by the text of abi.h
// (independently of the driver), unpacks results, and computes the expected ones.
//
// An Input is [source][entry] (position, value bits), sorted; f32 values are their bits. expected()
// is a loop over the sources in order, with the host's own f32 addition. Everything is public so
// that tests can break it.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "sparse_aggregation/abi.h"
#include "sparse_aggregation/tile.h"

extern "C" void sparse_aggregation(const tandem::sparse_aggregation::Word* descriptor,
                                   const tandem::sparse_aggregation::Word* positions,
                                   const tandem::sparse_aggregation::Word* values,
                                   tandem::sparse_aggregation::Word* result,
                                   std::uint32_t descriptor_words, std::uint32_t result_words);

namespace tandem::sparse_aggregation {

using Entries = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
using Input = std::vector<Entries>;

struct Settings {
  std::uint32_t value_type = kF32, reduction = kSum, format = kCoo, tile_bits = 10;
  std::uint64_t num_positions = 5000;
};

inline std::uint64_t reduce_on_host(const Settings& settings, std::uint64_t sum,
                                    std::uint64_t value) {
  if (settings.value_type == kU64) {
    return settings.reduction == kMax ? std::max(sum, value) : sum + value;
  }
  const float a = std::bit_cast<float>(static_cast<std::uint32_t>(sum));
  const float b = std::bit_cast<float>(static_cast<std::uint32_t>(value));
  const float r = settings.reduction == kMax ? (b > a || b != b ? b : a) : a + b;
  return std::bit_cast<std::uint32_t>(r);
}

inline Entries expected(const Settings& settings, const Input& input) {
  std::map<std::uint32_t, std::uint64_t> sums;
  for (const Entries& source : input) {
    for (const auto& [position, value] : source) {
      const auto [at, fresh] = sums.emplace(position, value);
      if (!fresh) at->second = reduce_on_host(settings, at->second, value);
    }
  }
  return {sums.begin(), sums.end()};
}

// A descriptor under construction; `words` is what the kernel reads.
struct Descriptor {
  DescriptorHeader header{};
  std::vector<SourceEntry> sources;
  std::vector<std::uint32_t> tiles, ends;
  std::vector<Word> words;

  // Writes header and tables again, after a test has changed them.
  void put_tables() {
    put(0, &header, sizeof(header));
    put(header.sources_word, sources.data(), sources.size() * sizeof(SourceEntry));
    put(header.tiles_word, tiles.data(), tiles.size() * 4);
    put(header.ends_word, ends.data(), ends.size() * 4);
  }
  void put(std::size_t word, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(static_cast<void*>(&words[word]), from, bytes);
  }
  std::uint32_t add(const void* from, std::size_t bytes) {
    const std::size_t begin = words.size();
    words.resize(begin + (bytes + kWordBytes - 1) / kWordBytes, Word(0xdeadbeefu));
    put(begin, from, bytes);
    return static_cast<std::uint32_t>(begin);
  }
};

inline Descriptor make_descriptor(const Settings& settings, const Input& input) {
  Descriptor d;
  const auto n = static_cast<std::uint32_t>(input.size());
  std::map<std::uint32_t, std::vector<std::uint32_t>> counts;  // tile -> [source]
  for (std::uint32_t s = 0; s < n; ++s) {
    for (const auto& [position, value] : input[s]) {
      auto& row = counts[position >> settings.tile_bits];
      row.resize(n);
      ++row[s];
    }
  }
  const std::uint32_t row = ends_row_words(n) * kWordPositions;
  std::vector<std::uint32_t> taken(row, 0);
  for (const auto& [tile, count] : counts) {
    d.tiles.push_back(tile);
    for (std::uint32_t s = 0; s < n; ++s) taken[s] += count[s];
    d.ends.insert(d.ends.end(), taken.begin(), taken.end());
  }
  d.sources.resize(n);
  DescriptorHeader& h = d.header;
  d.words.resize(1, Word(0));
  h.sources_word = d.add(d.sources.data(), n * sizeof(SourceEntry));
  h.tiles_word = d.add(d.tiles.data(), d.tiles.size() * 4);
  h.ends_word = d.add(d.ends.data(), d.ends.size() * 4);
  for (std::uint32_t s = 0; s < n; ++s) {
    std::vector<std::uint32_t> positions, small;
    std::vector<std::uint64_t> large;
    for (const auto& [position, value] : input[s]) {
      positions.push_back(position);
      small.push_back(static_cast<std::uint32_t>(value));
      large.push_back(value);
    }
    d.sources[s].num_entries = static_cast<std::uint32_t>(positions.size());
    d.sources[s].positions_word = d.add(positions.data(), positions.size() * 4);
    d.sources[s].values_word = settings.value_type == kU64 ? d.add(large.data(), large.size() * 8)
                                                           : d.add(small.data(), small.size() * 4);
  }
  h.magic = kMagic;
  h.abi_version = kAbiVersion;
  h.num_words = static_cast<std::uint32_t>(d.words.size());
  h.value_type = settings.value_type;
  h.reduction = settings.reduction;
  h.format = settings.format;
  h.tile_bits = settings.tile_bits;
  h.num_sources = n;
  h.num_tiles = static_cast<std::uint32_t>(d.tiles.size());
  h.last_position = static_cast<std::uint32_t>(settings.num_positions - 1);
  h.tag = 77;
  d.put_tables();
  return d;
}

struct Answer {
  ResultHeader header{};
  Entries entries;
  std::vector<Word> words;
};

inline std::uint64_t value_at(const Settings& settings, const std::vector<Word>& words,
                              std::size_t first_word, std::size_t index) {
  const std::size_t per_word = kWordBytes / value_bytes(settings.value_type);
  std::uint64_t value = 0;
  std::memcpy(&value,
              reinterpret_cast<const char*>(words.data() + first_word + index / per_word) +
                  index % per_word * value_bytes(settings.value_type),
              value_bytes(settings.value_type));
  return value;
}

inline void unpack(const Settings& settings, const Descriptor& d, Answer& answer) {
  const auto* lanes = reinterpret_cast<const std::uint32_t*>(answer.words.data());
  if (settings.format == kCoo) {
    for (std::size_t i = 0; i < answer.header.num_entries; ++i) {
      const std::size_t record = 1 + i / 16 * record_words(settings.value_type);
      answer.entries.emplace_back(lanes[record * 16 + i % 16],
                                  value_at(settings, answer.words, record + 1, i % 16));
    }
    return;
  }
  const std::size_t tile_words = std::size_t{1} << (settings.tile_bits - kMinTileBits);
  const std::size_t values = 1 + d.tiles.size() * tile_words;
  for (std::size_t t = 0; t < d.tiles.size(); ++t) {
    for (std::uint32_t bit = 0; bit < 1u << settings.tile_bits; ++bit) {
      if ((lanes[(1 + t * tile_words) * 16 + bit / 32] >> bit % 32 & 1) == 0) continue;
      answer.entries.emplace_back((d.tiles[t] << settings.tile_bits) + bit,
                                  value_at(settings, answer.words, values, answer.entries.size()));
    }
  }
}

constexpr std::uint32_t kGuard = 0x5a5aa5a5u;

// Runs the kernel on a result buffer of `result_words` with a guard word behind it.
inline Answer run(const Settings& settings, const Descriptor& d, std::uint32_t result_words) {
  Answer answer;
  answer.words.assign(result_words + 1, Word(kGuard));
  ::sparse_aggregation(d.words.data(), d.words.data(), d.words.data(), answer.words.data(),
                       static_cast<std::uint32_t>(d.words.size()), result_words);
  std::memcpy(&answer.header, answer.words.data(), sizeof(answer.header));
  if (answer.header.status == kOk) unpack(settings, d, answer);
  return answer;
}

inline Answer run(const Settings& settings, const Descriptor& d) {
  std::uint64_t entries = 0;
  for (const SourceEntry& source : d.sources) entries += source.num_entries;
  return run(settings, d,
             static_cast<std::uint32_t>(result_words(
                 settings.format, settings.value_type, settings.tile_bits,
                 static_cast<std::uint32_t>(d.tiles.size()), static_cast<std::uint32_t>(entries))));
}

}  // namespace tandem::sparse_aggregation
