// SPDX-License-Identifier: Apache-2.0
//
// The interface of the attention_decode kernel and its driver: the descriptor of one (layer,
// sub-batch), its result, and the blocks that store KV pages.
//
// A descriptor is a sequence of 64-byte words: DescriptorHeader (2 words), SequenceEntry table,
// page table (u32), q rows, k rows, v rows; the header gives the first word of each part. All
// compute units of a card get the same descriptor. The scalar arguments of a unit select its KV
// heads [head_begin, head_begin + head_count) and its pages with page % num_slices == slice; its
// pools hold only those.
//
// The result is one ResultHeader word, then one block per (q row, own KV head). Little-endian;
// every row of head_dim values is padded with zeros to a multiple of 32. C++14, no dependency:
// compiled by Vitis HLS and by the host.
#pragma once

#include <cstdint>

#include "../kernel_status/status.h"

namespace tandem {
namespace attention_decode {

constexpr std::uint32_t kAbiVersion = 1;
constexpr std::uint32_t kMagic = 0x44544154u;  // "TATD"

constexpr int kWordBytes = 64;   // one beat of a 512-bit bus
constexpr int kWordFloats = 16;  // f32 or u32 values in a word
constexpr int kPageRows = 16;    // token rows of a page block
constexpr int kChunk = 32;       // head_dim is counted in chunks of this many values
constexpr int kMaxChunks = 8;    // head_dim up to 256

enum Operation : std::uint32_t {
  kAttend = 1,      // append the new rows, then answer the queries
  kExportPage = 2,  // copy page `pages[0]` to the result: [own heads, 2 (k, v), layers] blocks
  kImportPage = 3,  // copy page `pages[0]` from q_word on: [all KV heads, 2 (k, v), layers] blocks
};

// Element type of the pools.
enum KvType : std::uint32_t {
  kF16 = 0,
  kI8 = 1,  // one f32 scale, max|x| / 127, per token and head
};

using kernel_status::kBadMagic;
using kernel_status::kBadSection;
using kernel_status::kBadShape;
using kernel_status::kBadVersion;
using kernel_status::kOk;
using kernel_status::kRunning;
using kernel_status::Status;

// The statuses of this kernel alone.
constexpr Status kBadSequence = 6;  // detail: the sequence
constexpr Status kBadPage = 7;      // detail: the sequence with a page outside the pool
constexpr Status kBadResult = 8;    // the result does not fit its buffer
constexpr Status kBadUnit = 9;      // the scalar arguments contradict the header
static_assert(kBadSequence == kernel_status::kFirstOwnStatus,
              "own statuses follow the common ones");

// 32 u32 fields in this order; two words.
struct DescriptorHeader {
  std::uint32_t magic;
  std::uint32_t abi_version;
  std::uint32_t num_words;  // length of the whole descriptor
  std::uint32_t operation;
  std::uint32_t layer;
  std::uint32_t num_layers;
  std::uint32_t kv_heads;
  std::uint32_t group;  // query heads per KV head
  std::uint32_t chunks;
  std::uint32_t kv_type;
  std::uint32_t page_tokens;  // rows in use of a page block, 1..16
  std::uint32_t scale_bits;   // f32, applied to q k^T
  std::uint32_t num_sequences;
  std::uint32_t num_pages;  // entries of the page table
  std::uint32_t num_q_rows;
  std::uint32_t num_kv_rows;
  std::uint32_t sequences_word;
  std::uint32_t pages_word;
  std::uint32_t q_word;  // [num_q_rows, kv_heads, group, 32 * chunks] f32
  std::uint32_t k_word;  // [num_kv_rows, kv_heads, 32 * chunks] f32
  std::uint32_t v_word;  // the same shape as k
  std::uint32_t tag;     // comes back in the result
  std::uint32_t reserved[10];
};
static_assert(sizeof(DescriptorHeader) == 2 * kWordBytes, "two words");

// 8 u32 fields in this order; two entries a word. Tokens count over the sequence's page list.
struct SequenceEntry {
  std::uint32_t q_begin;
  std::uint32_t num_q;
  std::uint32_t new_begin;
  std::uint32_t num_new;
  std::uint32_t append_at;
  std::uint32_t num_attend;
  std::uint32_t page_begin;
  std::uint32_t num_pages;
};
static_assert(sizeof(SequenceEntry) * 2 == kWordBytes, "two entries a word");

// 16 u32 fields in this order; one word.
struct ResultHeader {
  std::uint32_t magic;
  std::uint32_t abi_version;  // the version of the kernel
  std::uint32_t status;
  std::uint32_t detail;
  std::uint32_t num_words;     // length of the result, header included
  std::uint32_t kv_words_low;  // 64-byte words of K and V read to attend
  std::uint32_t kv_words_high;
  std::uint32_t tag;  // copied from the descriptor: distinguishes a result from an earlier one
  std::uint32_t reserved[8];
};
static_assert(sizeof(ResultHeader) == kWordBytes, "one word");

// Words of one row of f32 values (q, k, v in a descriptor, O in a result).
constexpr std::uint32_t float_row_words(std::uint32_t chunks) { return 2 * chunks; }

// Words of one token's row in a page block. f16: value d of the row is u16 lane d % 32 of word
// d / 32. i8: value d is in lane d % 32 of word d / 64, the low byte when d / 32 is even.
constexpr std::uint32_t page_row_words(std::uint32_t kv_type, std::uint32_t chunks) {
  return kv_type == kI8 ? (chunks + 1) / 2 : chunks;
}

// A page block holds one head's K (or V) of one page and layer: for i8 first a word of scales (u16
// lane t the low and lane 16 + t the high half of the f32 of row t), then 16 rows. A pool is
// [own pages, num_layers, own heads] blocks.
constexpr std::uint32_t page_block_words(std::uint32_t kv_type, std::uint32_t chunks) {
  return (kv_type == kI8 ? 1 : 0) + kPageRows * page_row_words(kv_type, chunks);
}

// A result block answers one (q row, own KV head): O [group, 32 * chunks] f32, then LSE [group] f32
// padded to words.
constexpr std::uint32_t result_block_words(std::uint32_t group, std::uint32_t chunks) {
  return group * float_row_words(chunks) + (group + kWordFloats - 1) / kWordFloats;
}

}  // namespace attention_decode
}  // namespace tandem
