// SPDX-License-Identifier: Apache-2.0
//
// Calls the attention_decode kernel as a C++ function: packs descriptors by the text of abi.h
// (independently of the driver), gives each compute unit its own pools, and unpacks results.
//
// A Card of `units` compute units splits KV heads into groups and pages into slices; attend()
// merges the slices' partials in double precision. Everything is public so that tests can break it.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "attention_decode/abi.h"
#include "attention_decode/numerics.h"
#include "support/reference/attention.h"

extern "C" void attention_decode(const tandem::attention_decode::IoWord* descriptor,
                                 tandem::attention_decode::IoWord* result,
                                 tandem::attention_decode::PoolWord* k_pool,
                                 tandem::attention_decode::PoolWord* v_pool,
                                 std::uint32_t descriptor_words, std::uint32_t result_words,
                                 std::uint32_t pool_words, std::uint32_t head_begin,
                                 std::uint32_t head_count, std::uint32_t slice,
                                 std::uint32_t num_slices);

namespace tandem::attention_decode {

struct KernelShape {
  std::uint32_t layers = 1, kv_heads = 1, group = 1, head_dim = 32;
  std::uint32_t kv_type = kF16, page_tokens = 16;
  std::uint32_t num_pages = 8;
  std::uint32_t chunks() const { return head_dim / kChunk; }
  std::uint32_t row_values() const { return kv_heads * head_dim; }
};

struct Unit {
  std::uint32_t head_begin = 0, head_count = 1, slice = 0, num_slices = 1;
  std::vector<PoolWord> k_pool, v_pool;
  std::vector<IoWord> result;
};

// A descriptor under construction; `words` is what the kernel reads.
struct Descriptor {
  DescriptorHeader header{};
  std::vector<IoWord> words;

  void put_header() { std::memcpy(static_cast<void*>(words.data()), &header, sizeof(header)); }
};

template <typename T>
std::uint32_t append_section(std::vector<IoWord>& words, const std::vector<T>& values) {
  const auto begin = static_cast<std::uint32_t>(words.size());
  words.resize(begin + (values.size() * sizeof(T) + kWordBytes - 1) / kWordBytes, IoWord(0));
  if (!values.empty())
    std::memcpy(static_cast<void*>(&words[begin]), values.data(), values.size() * sizeof(T));
  return begin;
}

inline Descriptor make_descriptor(const KernelShape& shape, std::uint32_t layer, float scale,
                                  const std::vector<SequenceEntry>& sequences,
                                  const std::vector<std::uint32_t>& pages,
                                  const std::vector<float>& q, const std::vector<float>& k,
                                  const std::vector<float>& v) {
  Descriptor d;
  d.words.resize(2, IoWord(0));
  DescriptorHeader& h = d.header;
  h.magic = kMagic;
  h.abi_version = kAbiVersion;
  h.operation = kAttend;
  h.layer = layer;
  h.num_layers = shape.layers;
  h.kv_heads = shape.kv_heads;
  h.group = shape.group;
  h.chunks = shape.chunks();
  h.kv_type = shape.kv_type;
  h.page_tokens = shape.page_tokens;
  h.scale_bits = float_to_bits(scale);
  h.num_sequences = static_cast<std::uint32_t>(sequences.size());
  h.num_pages = static_cast<std::uint32_t>(pages.size());
  h.num_q_rows = static_cast<std::uint32_t>(q.size() / (shape.row_values() * shape.group));
  h.num_kv_rows = static_cast<std::uint32_t>(k.size() / shape.row_values());
  h.sequences_word = append_section(d.words, sequences);
  h.pages_word = append_section(d.words, pages);
  h.q_word = append_section(d.words, q);
  h.k_word = append_section(d.words, k);
  h.v_word = append_section(d.words, v);
  h.num_words = static_cast<std::uint32_t>(d.words.size());
  d.put_header();
  return d;
}

struct Card {
  KernelShape shape;
  std::vector<Unit> units;

  Card(const KernelShape& s, std::uint32_t groups, std::uint32_t slices) : shape(s) {
    const std::uint32_t per_group = (s.kv_heads + groups - 1) / groups;
    for (std::uint32_t begin = 0; begin < s.kv_heads; begin += per_group) {
      for (std::uint32_t slice = 0; slice < slices; ++slice) {
        Unit unit;
        unit.head_begin = begin;
        unit.head_count = std::min(per_group, s.kv_heads - begin);
        unit.slice = slice;
        unit.num_slices = slices;
        const std::uint32_t own_pages = (s.num_pages + slices - 1 - slice) / slices;
        // Garbage, as memory of a card has: nothing may depend on rows that were not appended.
        unit.k_pool.resize(static_cast<std::size_t>(own_pages) * s.layers * unit.head_count *
                               page_block_words(s.kv_type, s.chunks()),
                           PoolWord(0x7e7f));
        unit.v_pool = unit.k_pool;
        units.push_back(std::move(unit));
      }
    }
  }

  ResultHeader run(Unit& unit, const Descriptor& d, std::size_t result_words) {
    unit.result.assign(result_words, IoWord(0));
    ::attention_decode(d.words.data(), unit.result.data(), unit.k_pool.data(), unit.v_pool.data(),
                       static_cast<std::uint32_t>(d.words.size()),
                       static_cast<std::uint32_t>(result_words),
                       static_cast<std::uint32_t>(unit.k_pool.size()), unit.head_begin,
                       unit.head_count, unit.slice, unit.num_slices);
    ResultHeader header;
    std::memcpy(&header, unit.result.data(), sizeof(header));
    return header;
  }

  std::size_t result_words(const Unit& unit, const Descriptor& d) const {
    return 1 + static_cast<std::size_t>(d.header.num_q_rows) * unit.head_count *
                   result_block_words(shape.group, shape.chunks());
  }

  // The partial of one unit for one q row: only its heads, in AttentionAnswer's order.
  reference::AttentionAnswer answer_of(const Unit& unit, std::uint32_t row) const {
    reference::AttentionAnswer answer;
    const std::uint32_t block_words = result_block_words(shape.group, shape.chunks());
    for (std::uint32_t head = 0; head < unit.head_count; ++head) {
      const IoWord* block = &unit.result[1 + (row * unit.head_count + head) * block_words];
      const auto* values = reinterpret_cast<const float*>(block);
      const std::uint32_t o_values = shape.group * shape.head_dim;
      answer.o.insert(answer.o.end(), values, values + o_values);
      answer.lse.insert(answer.lse.end(), values + o_values, values + o_values + shape.group);
    }
    return answer;
  }

  // Runs every unit; answers of all q rows, [q_heads] each. `status` receives the worst.
  std::vector<reference::AttentionAnswer> attend(const Descriptor& d, std::uint32_t* status) {
    *status = kOk;
    for (Unit& unit : units) {
      const ResultHeader header = run(unit, d, result_words(unit, d));
      if (header.status != kOk) *status = header.status;
    }
    std::vector<reference::AttentionAnswer> answers(d.header.num_q_rows);
    for (std::uint32_t row = 0; row < d.header.num_q_rows; ++row) {
      for (std::size_t u = 0; u < units.size(); u += units[u].num_slices) {
        std::vector<reference::AttentionAnswer> partials;
        for (std::uint32_t slice = 0; slice < units[u].num_slices; ++slice) {
          partials.push_back(answer_of(units[u + slice], row));
        }
        // One partial stands for itself: merging would take a NaN for an empty one.
        const auto merged = partials.size() == 1 ? partials[0] : reference::merge_answers(partials);
        answers[row].o.insert(answers[row].o.end(), merged.o.begin(), merged.o.end());
        answers[row].lse.insert(answers[row].lse.end(), merged.lse.begin(), merged.lse.end());
      }
    }
    return answers;
  }
};

}  // namespace tandem::attention_decode
