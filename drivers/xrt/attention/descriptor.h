// SPDX-License-Identifier: Apache-2.0
//
// Packs a batch into the kernel's descriptor; unpacks and merges the units' results.
//
// Rows of q, k and v are packed densely in the order of the sequence table, so rows of no sequence
// are not sent. `result_rows` gives the destination of each packed query row. Partials of page
// slices are merged exactly: L = ln sum exp(L_i), O = sum exp(L_i - L) O_i; a NaN stays in its
// head. Pure, except for the written bytes. Cost: one pass over the rows. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention_decode/abi.h"
#include "device/attention_unit.h"
#include "xrt/attention/kernel_layout.h"

namespace tandem::device::xrt_card {

// Sizes and places of a descriptor's parts, computed before the bytes are written.
struct DescriptorPlan {
  attention_decode::DescriptorHeader header{};
  std::size_t size_bytes = 0;
  std::vector<std::uint32_t> result_rows;  // [num_q_rows] row of q and of the result
};

DescriptorPlan plan_attend(const KernelLayout& layout, const AttentionBatch& batch,
                           std::uint32_t tag);
void write_attend(const KernelLayout& layout, const AttentionBatch& batch,
                  const DescriptorPlan& plan, std::span<std::byte> to);

// An export (payload_bytes = 0) or import of one kernel page; the payload starts at header.q_word.
DescriptorPlan plan_page_move(const KernelLayout& layout, attention_decode::Operation operation,
                              std::size_t payload_bytes, std::uint32_t tag);
void write_page_move(const DescriptorPlan& plan, std::uint32_t kernel_page,
                     std::span<std::byte> to);

// results[i]: the result of shares[i], header included.
void unpack_results(const KernelLayout& layout, std::span<const UnitShare> shares,
                    std::span<const std::byte* const> results,
                    std::span<const std::uint32_t> result_rows, const AttentionPartial& out);

// Empty if the result belongs to the descriptor with `tag`; otherwise the fault.
std::string result_fault(const attention_decode::ResultHeader& header, std::uint32_t tag);

}  // namespace tandem::device::xrt_card
