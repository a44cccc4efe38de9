// SPDX-License-Identifier: Apache-2.0
//
// The argument checks that all attention units share: shapes, ranges and page ids.
#include "device/attention_unit.h"

#include <bit>
#include <cmath>

#include "common/error.h"

namespace tandem::device {
namespace {

[[noreturn]] void fail(const std::string& message) { throw Error("attention", message); }

void check_sequence(const AttentionGeometry& g, std::uint32_t num_pages,
                    const AttentionBatch& batch, std::size_t index) {
  const AttentionSequence& s = batch.sequences[index];
  const std::string where = "sequence " + std::to_string(index) + ": ";
  const auto q_row = static_cast<std::size_t>(g.q_heads) * g.head_dim;
  const auto kv_row = static_cast<std::size_t>(g.kv_heads) * g.head_dim;
  if (s.q_begin < 0 || s.num_q < 0 || s.new_begin < 0 || s.num_new < 0 || s.append_at < 0 ||
      s.attend_begin < 0 || s.num_attend < 0 || s.page_begin < 0 || s.num_pages < 0) {
    fail(where + "a count or an index is negative");
  }
  if ((static_cast<std::size_t>(s.q_begin) + s.num_q) * q_row > batch.q.size()) {
    fail(where + "q_begin + num_q exceeds the rows of q");
  }
  if ((static_cast<std::size_t>(s.new_begin) + s.num_new) * kv_row > batch.k.size()) {
    fail(where + "new_begin + num_new exceeds the rows of k");
  }
  if (static_cast<std::size_t>(s.page_begin) + s.num_pages > batch.pages.size()) {
    fail(where + "page_begin + num_pages exceeds the page list");
  }
  const std::int64_t room = static_cast<std::int64_t>(s.num_pages) * g.page_tokens;
  if (static_cast<std::int64_t>(s.append_at) + s.num_new > room || s.num_attend > room) {
    fail(where + "its " + std::to_string(s.num_pages) + " pages hold only " + std::to_string(room) +
         " tokens");
  }
  if (s.attend_begin > s.num_attend) fail(where + "attend_begin exceeds num_attend");
  for (std::int32_t i = 0; i < s.num_pages; ++i) {
    const PageId page = batch.pages[static_cast<std::size_t>(s.page_begin) + i];
    if (page >= num_pages) {
      fail(where + "page " + std::to_string(page) + " is outside the pool of " +
           std::to_string(num_pages) + " pages");
    }
  }
}

}  // namespace

bool kv_has_scales(DType kv_dtype) { return kv_dtype == DType::kI8 || kv_dtype == DType::kF8E4M3; }

bool AttentionUnit::works_in_queue_of(const ComputeUnit&) const { return false; }

std::size_t page_image_bytes(const AttentionGeometry& g) {
  const std::size_t rows = static_cast<std::size_t>(g.num_layers) * 2 * g.kv_heads * g.page_tokens;
  const std::size_t scales = kv_has_scales(g.kv_dtype) ? rows * sizeof(float) : 0;
  return rows * g.head_dim * dtype_block_bytes(g.kv_dtype) + scales;
}

void check_geometry(const AttentionGeometry& g) {
  if (g.num_layers <= 0) fail("num_layers must be positive");
  if (g.kv_heads <= 0) fail("kv_heads must be positive");
  if (g.q_heads <= 0 || g.q_heads % g.kv_heads != 0) fail("q_heads must be a multiple of kv_heads");
  if (g.head_dim <= 0 || g.head_dim > 256) fail("head_dim must be in 1..256");
  if (g.page_tokens <= 0 || !std::has_single_bit(static_cast<unsigned>(g.page_tokens))) {
    fail("page_tokens must be a power of two");
  }
  if (g.kv_dtype != DType::kF16 && g.kv_dtype != DType::kBF16 && !kv_has_scales(g.kv_dtype)) {
    fail("kv_dtype " + std::string(dtype_name(g.kv_dtype)) + " is not f16, bf16, i8 or f8_e4m3");
  }
}

void check_batch(const AttentionGeometry& g, std::uint32_t num_pages, const AttentionBatch& batch,
                 const AttentionPartial& out) {
  if (batch.layer < 0 || batch.layer >= g.num_layers) {
    fail("layer " + std::to_string(batch.layer) + " is outside the " +
         std::to_string(g.num_layers) + " layers");
  }
  if (!(batch.softcap >= 0.0f) || !std::isfinite(batch.softcap)) {
    fail("softcap must be finite and not negative; 0 caps nothing");
  }
  if (batch.k.size() != batch.v.size()) fail("k and v differ in size");
  const auto q_row = static_cast<std::size_t>(g.q_heads) * g.head_dim;
  if (out.o.size() < batch.q.size() || out.lse.size() < batch.q.size() / q_row * g.q_heads) {
    fail("the result has fewer rows than q");
  }
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) check_sequence(g, num_pages, batch, i);
}

void check_kv_dtype(const AttentionGeometry& g, std::span<const DType> stored,
                    const std::string& module) {
  std::string names;
  for (const DType dtype : stored) {
    if (dtype == g.kv_dtype) return;
    names += (names.empty() ? "" : ", ") + std::string(dtype_name(dtype));
  }
  throw Error(module, "this unit stores keys and values as " + names + ", not " +
                          std::string(dtype_name(g.kv_dtype)));
}

void check_plain(const AttentionBatch& batch, const std::string& module) {
  if (batch.softcap != 0.0f) {
    throw Error(module, "this unit has no soft cap of scores; hold the sequence on the CPU");
  }
  for (const AttentionSequence& s : batch.sequences) {
    if (s.attend_begin != 0) {
      throw Error(module, "this unit has no sliding windows; hold the sequence on the CPU");
    }
  }
}

}  // namespace tandem::device
