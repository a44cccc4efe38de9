// SPDX-License-Identifier: Apache-2.0
//
// A model's attention geometry in the kernel's terms, and the byte sizes that follow from it.
//
// head_dim is padded to chunks of 32. A kernel page holds at most 16 tokens. A larger page of the
// unit is a run of kernel pages (page p is kernel pages p * parts .. p * parts + parts - 1); a
// smaller one leaves rows of its kernel page unused. Pure. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attention_decode/abi.h"
#include "device/attention_unit.h"
#include "xrt/attention/unit_shares.h"

namespace tandem::device::xrt_card {

struct KernelLayout {
  std::uint32_t num_layers = 0, kv_heads = 0, group = 0, head_dim = 0;
  std::uint32_t chunks = 0;
  std::uint32_t kv_type = 0;
  std::uint32_t page_tokens = 0;  // of a kernel page
  std::uint32_t page_parts = 0;   // kernel pages per page of the unit

  explicit KernelLayout(const AttentionGeometry& geometry)
      : num_layers(static_cast<std::uint32_t>(geometry.num_layers)),
        kv_heads(static_cast<std::uint32_t>(geometry.kv_heads)),
        group(static_cast<std::uint32_t>(geometry.q_heads / geometry.kv_heads)),
        head_dim(static_cast<std::uint32_t>(geometry.head_dim)),
        chunks((head_dim + attention_decode::kChunk - 1) / attention_decode::kChunk),
        kv_type(geometry.kv_dtype == DType::kI8 ? attention_decode::kI8 : attention_decode::kF16) {
    const auto tokens = static_cast<std::uint32_t>(geometry.page_tokens);
    const std::uint32_t rows = attention_decode::kPageRows;
    page_tokens = tokens < rows ? tokens : rows;
    page_parts = tokens / page_tokens;
  }

  std::uint32_t padded_dim() const { return chunks * attention_decode::kChunk; }
  std::size_t q_row_values() const {
    return static_cast<std::size_t>(kv_heads) * group * padded_dim();
  }
  std::size_t kv_row_values() const { return static_cast<std::size_t>(kv_heads) * padded_dim(); }
  std::size_t block_bytes() const {
    return static_cast<std::size_t>(attention_decode::page_block_words(kv_type, chunks)) *
           attention_decode::kWordBytes;
  }
  // One head of one kernel page in an export or import: [2 (k, v), layers] blocks.
  std::size_t head_image_bytes() const { return 2 * num_layers * block_bytes(); }
  std::size_t kernel_page_bytes() const { return kv_heads * head_image_bytes(); }
  // One pool (K or V) of a unit that keeps `pages` kernel pages of `heads` heads.
  std::size_t pool_bytes(std::uint32_t pages, std::uint32_t heads) const {
    return static_cast<std::size_t>(pages) * num_layers * heads * block_bytes();
  }
  std::size_t result_words(std::size_t q_rows, std::uint32_t heads) const {
    return 1 + q_rows * heads * attention_decode::result_block_words(group, chunks);
  }
};

}  // namespace tandem::device::xrt_card
