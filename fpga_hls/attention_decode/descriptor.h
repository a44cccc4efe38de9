// SPDX-License-Identifier: Apache-2.0
//
// Reads and checks a descriptor. No value of it becomes an address before it is checked against the
// sizes that come as scalar arguments.
//
// check_attend() visits every sequence and every page once before anything is written, so a bad
// descriptor leaves the pools unchanged. Sums of 32-bit fields use 64 bits. Cost: one word per 16
// pages and per 2 sequences.
#pragma once

#include "numerics.h"

namespace tandem {
namespace attention_decode {

// The share of one compute unit, from its scalar arguments.
struct UnitShare {
  std::uint32_t descriptor_words;  // sizes of the buffers in words
  std::uint32_t result_words;
  std::uint32_t pool_words;  // size of each pool, K and V, in words
  std::uint32_t head_begin;
  std::uint32_t head_count;
  std::uint32_t slice;
  std::uint32_t num_slices;
};

using kernel_status::Verdict;
using kernel_status::verdict;

inline DescriptorHeader read_header(const IoWord* descriptor) {
  const IoWord first = descriptor[0];
  const IoWord second = descriptor[1];
  DescriptorHeader h;
  h.magic = first[0];
  h.abi_version = first[1];
  h.num_words = first[2];
  h.operation = first[3];
  h.layer = first[4];
  h.num_layers = first[5];
  h.kv_heads = first[6];
  h.group = first[7];
  h.chunks = first[8];
  h.kv_type = first[9];
  h.page_tokens = first[10];
  h.scale_bits = first[11];
  h.num_sequences = first[12];
  h.num_pages = first[13];
  h.num_q_rows = first[14];
  h.num_kv_rows = first[15];
  h.sequences_word = second[0];
  h.pages_word = second[1];
  h.q_word = second[2];
  h.k_word = second[3];
  h.v_word = second[4];
  h.tag = second[5];
  return h;
}

inline SequenceEntry read_sequence(const IoWord* descriptor, const DescriptorHeader& h,
                                   std::uint32_t index) {
  const IoWord word = descriptor[h.sequences_word + index / 2];
  const std::uint32_t at = (index & 1u) * 8;
  SequenceEntry s;
  s.q_begin = word[at];
  s.num_q = word[at + 1];
  s.new_begin = word[at + 2];
  s.num_new = word[at + 3];
  s.append_at = word[at + 4];
  s.num_attend = word[at + 5];
  s.page_begin = word[at + 6];
  s.num_pages = word[at + 7];
  return s;
}

inline std::uint32_t read_page(const IoWord* descriptor, const DescriptorHeader& h,
                               std::uint32_t index) {
#pragma HLS inline
  return descriptor[h.pages_word + index / kWordFloats][index % kWordFloats];
}

// Index of the first word of a block in the pool: own head `head` (0 .. head_count-1) of `page`,
// which this unit holds.
inline std::uint64_t block_word(const DescriptorHeader& h, const UnitShare& unit,
                                std::uint32_t page, std::uint32_t layer, std::uint32_t head) {
#pragma HLS inline
  const std::uint64_t own_page = page / unit.num_slices;
  return ((own_page * h.num_layers + layer) * unit.head_count + head) *
         page_block_words(h.kv_type, h.chunks);
}

inline bool page_fits(const DescriptorHeader& h, const UnitShare& unit, std::uint32_t page) {
  const std::uint64_t last = block_word(h, unit, page, h.num_layers - 1, unit.head_count - 1);
  return last + page_block_words(h.kv_type, h.chunks) <= unit.pool_words;
}

// True when `rows` rows of `row_words` words from word `begin` on are inside the descriptor.
inline bool section_fits(const DescriptorHeader& h, std::uint32_t begin, std::uint64_t rows,
                         std::uint64_t row_words) {
#pragma HLS inline
  return begin >= 2 && begin + rows * row_words <= h.num_words;
}

inline Verdict check_header(const DescriptorHeader& h, const UnitShare& unit) {
  const std::uint32_t kMaxHeads = 1u << 11;  // keeps every product of counts below within 64 bits
  const Verdict identity =
      kernel_status::check_identity(h.magic, h.abi_version, kMagic, kAbiVersion);
  if (identity.status != kOk) return identity;
  if (h.num_words < 2 || h.num_words > unit.descriptor_words) {
    return verdict(kBadSection, h.num_words);
  }
  if (h.num_layers == 0 || h.num_layers > kMaxHeads || h.layer >= h.num_layers || h.kv_heads == 0 ||
      h.kv_heads > kMaxHeads || h.group == 0 || h.group > kMaxHeads || h.chunks == 0 ||
      h.chunks > kMaxChunks || h.kv_type > kI8 || h.page_tokens == 0 || h.page_tokens > kPageRows) {
    return verdict(kBadShape, 0);
  }
  if (unit.head_count == 0 || unit.head_count > h.kv_heads ||
      unit.head_begin > h.kv_heads - unit.head_count || unit.num_slices == 0 ||
      unit.slice >= unit.num_slices) {
    return verdict(kBadUnit, 0);
  }
  const std::uint64_t q_words =
      static_cast<std::uint64_t>(h.kv_heads) * h.group * float_row_words(h.chunks);
  const std::uint64_t kv_words = static_cast<std::uint64_t>(h.kv_heads) * float_row_words(h.chunks);
  if (!section_fits(h, h.sequences_word, (static_cast<std::uint64_t>(h.num_sequences) + 1) / 2,
                    1) ||
      !section_fits(h, h.pages_word,
                    (static_cast<std::uint64_t>(h.num_pages) + kWordFloats - 1) / kWordFloats, 1)) {
    return verdict(kBadSection, 0);
  }
  if (h.operation == kAttend && (!section_fits(h, h.q_word, h.num_q_rows, q_words) ||
                                 !section_fits(h, h.k_word, h.num_kv_rows, kv_words) ||
                                 !section_fits(h, h.v_word, h.num_kv_rows, kv_words))) {
    return verdict(kBadSection, 1);
  }
  return verdict(kOk, 0);
}

inline bool sequence_fits(const DescriptorHeader& h, const SequenceEntry& s) {
  const std::uint64_t room = static_cast<std::uint64_t>(s.num_pages) * h.page_tokens;
  return static_cast<std::uint64_t>(s.q_begin) + s.num_q <= h.num_q_rows &&
         static_cast<std::uint64_t>(s.new_begin) + s.num_new <= h.num_kv_rows &&
         static_cast<std::uint64_t>(s.page_begin) + s.num_pages <= h.num_pages &&
         static_cast<std::uint64_t>(s.append_at) + s.num_new <= room && s.num_attend <= room &&
         s.num_attend < 0x80000000u;
}

inline Verdict check_attend(const IoWord* descriptor, const DescriptorHeader& h,
                            const UnitShare& unit) {
  const std::uint64_t result_words = 1 + static_cast<std::uint64_t>(h.num_q_rows) *
                                             unit.head_count *
                                             result_block_words(h.group, h.chunks);
  if (result_words > unit.result_words) return verdict(kBadResult, 0);
check_sequences:
  for (std::uint32_t i = 0; i < h.num_sequences; ++i) {
    const SequenceEntry s = read_sequence(descriptor, h, i);
    if (!sequence_fits(h, s)) return verdict(kBadSequence, i);
    bool pages_fit = true;
  check_pages:
    for (std::uint32_t j = 0; j < s.num_pages; ++j) {
#pragma HLS pipeline II = 1
      const std::uint32_t page = read_page(descriptor, h, s.page_begin + j);
      // The units of other slices check their pages, because the number of pages differs between
      // slices.
      pages_fit = pages_fit && (page % unit.num_slices != unit.slice || page_fits(h, unit, page));
    }
    if (!pages_fit) return verdict(kBadPage, i);
  }
  return verdict(kOk, static_cast<std::uint32_t>(result_words));
}

}  // namespace attention_decode
}  // namespace tandem
