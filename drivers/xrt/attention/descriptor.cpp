// SPDX-License-Identifier: Apache-2.0
//
// The layout is that of fpga_hls/attention_decode/abi.h.
#include "xrt/attention/descriptor.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tandem::device::xrt_card {
namespace {

namespace kernel = attention_decode;

constexpr std::size_t words_for(std::size_t bytes) {
  return (bytes + kernel::kWordBytes - 1) / kernel::kWordBytes;
}

kernel::DescriptorHeader base_header(const KernelLayout& layout, std::uint32_t tag) {
  kernel::DescriptorHeader h{};
  h.magic = kernel::kMagic;
  h.abi_version = kernel::kAbiVersion;
  h.num_layers = layout.num_layers;
  h.kv_heads = layout.kv_heads;
  h.group = layout.group;
  h.chunks = layout.chunks;
  h.kv_type = layout.kv_type;
  h.page_tokens = layout.page_tokens;
  h.tag = tag;
  return h;
}

// Places parts one after the other, after the header.
class Parts {
 public:
  std::uint32_t add(std::size_t bytes) {
    const auto begin = static_cast<std::uint32_t>(words_);
    words_ += words_for(bytes);
    return begin;
  }
  std::size_t words() const { return words_; }

 private:
  std::size_t words_ = words_for(sizeof(kernel::DescriptorHeader));
};

void finish(DescriptorPlan& plan, const Parts& parts) {
  plan.header.num_words = static_cast<std::uint32_t>(parts.words());
  plan.size_bytes = parts.words() * kernel::kWordBytes;
}

// Copies `count` rows of `heads` vectors, each padded with zeros from head_dim to padded_dim.
float* copy_padded(const KernelLayout& layout, const float* from, std::size_t vectors, float* to) {
  const std::size_t dim = layout.head_dim, padded = layout.padded_dim();
  if (vectors == 0) return to;
  if (dim == padded) {
    std::memcpy(to, from, vectors * dim * sizeof(float));
    return to + vectors * dim;
  }
  for (std::size_t i = 0; i < vectors; ++i, from += dim, to += padded) {
    std::memcpy(to, from, dim * sizeof(float));
    std::memset(to + dim, 0, (padded - dim) * sizeof(float));
  }
  return to;
}

void write_tables(const KernelLayout& layout, const AttentionBatch& batch,
                  const kernel::DescriptorHeader& h, std::byte* to) {
  auto* entries =
      reinterpret_cast<kernel::SequenceEntry*>(to + h.sequences_word * kernel::kWordBytes);
  auto* pages = reinterpret_cast<std::uint32_t*>(to + h.pages_word * kernel::kWordBytes);
  std::uint32_t q_row = 0, kv_row = 0, page_at = 0;
  for (const AttentionSequence& s : batch.sequences) {
    kernel::SequenceEntry& e = *entries++;
    e.q_begin = q_row;
    e.num_q = static_cast<std::uint32_t>(s.num_q);
    e.new_begin = kv_row;
    e.num_new = static_cast<std::uint32_t>(s.num_new);
    e.append_at = static_cast<std::uint32_t>(s.append_at);
    e.num_attend = static_cast<std::uint32_t>(s.num_attend);
    e.page_begin = page_at;
    e.num_pages = static_cast<std::uint32_t>(s.num_pages) * layout.page_parts;
    for (const PageId page : batch.pages.subspan(s.page_begin, s.num_pages)) {
      for (std::uint32_t part = 0; part < layout.page_parts; ++part) {
        pages[page_at++] = page * layout.page_parts + part;
      }
    }
    q_row += e.num_q;
    kv_row += e.num_new;
  }
}

// One head of one query, from every slice of its group.
struct HeadPartials {
  std::span<const std::byte* const> results;
  std::size_t o_offset, lse_offset;

  const float* o(std::size_t slice) const {
    return reinterpret_cast<const float*>(results[slice] + o_offset);
  }
  float lse(std::size_t slice) const {
    return *reinterpret_cast<const float*>(results[slice] + lse_offset);
  }
};

void merge_head(const HeadPartials& partials, std::size_t dim, float* o, float* lse) {
  const std::size_t slices = partials.results.size();
  if (slices == 1) {
    std::memcpy(o, partials.o(0), dim * sizeof(float));
    *lse = partials.lse(0);
    return;
  }
  constexpr float kEmpty = -std::numeric_limits<float>::infinity();
  float peak = kEmpty;
  for (std::size_t i = 0; i < slices; ++i) peak = std::fmax(peak, partials.lse(i));
  std::memset(o, 0, dim * sizeof(float));
  float sum = 0.0f;
  for (std::size_t i = 0; i < slices; ++i) {
    if (partials.lse(i) == kEmpty) continue;
    const float weight = std::exp(partials.lse(i) - peak);
    const float* part = partials.o(i);
    sum += weight;
    for (std::size_t d = 0; d < dim; ++d) o[d] += weight * part[d];
  }
  *lse = sum == 0.0f ? kEmpty : peak + std::log(sum);
  const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
  for (std::size_t d = 0; d < dim; ++d) o[d] *= inverse;
}

}  // namespace

DescriptorPlan plan_attend(const KernelLayout& layout, const AttentionBatch& batch,
                           std::uint32_t tag) {
  DescriptorPlan plan;
  kernel::DescriptorHeader& h = plan.header;
  h = base_header(layout, tag);
  h.operation = kernel::kAttend;
  h.layer = static_cast<std::uint32_t>(batch.layer);
  h.scale_bits = std::bit_cast<std::uint32_t>(batch.scale);
  h.num_sequences = static_cast<std::uint32_t>(batch.sequences.size());
  for (const AttentionSequence& s : batch.sequences) {
    for (std::int32_t i = 0; i < s.num_q; ++i) {
      plan.result_rows.push_back(static_cast<std::uint32_t>(s.q_begin + i));
    }
    h.num_kv_rows += static_cast<std::uint32_t>(s.num_new);
    h.num_pages += static_cast<std::uint32_t>(s.num_pages) * layout.page_parts;
  }
  h.num_q_rows = static_cast<std::uint32_t>(plan.result_rows.size());
  Parts parts;
  h.sequences_word = parts.add(h.num_sequences * sizeof(kernel::SequenceEntry));
  h.pages_word = parts.add(h.num_pages * sizeof(std::uint32_t));
  h.q_word = parts.add(h.num_q_rows * layout.q_row_values() * sizeof(float));
  h.k_word = parts.add(h.num_kv_rows * layout.kv_row_values() * sizeof(float));
  h.v_word = parts.add(h.num_kv_rows * layout.kv_row_values() * sizeof(float));
  finish(plan, parts);
  return plan;
}

void write_attend(const KernelLayout& layout, const AttentionBatch& batch,
                  const DescriptorPlan& plan, std::span<std::byte> to) {
  const kernel::DescriptorHeader& h = plan.header;
  std::memcpy(to.data(), &h, sizeof(h));
  write_tables(layout, batch, h, to.data());
  auto* q = reinterpret_cast<float*>(to.data() + h.q_word * std::size_t{kernel::kWordBytes});
  auto* k = reinterpret_cast<float*>(to.data() + h.k_word * std::size_t{kernel::kWordBytes});
  auto* v = reinterpret_cast<float*>(to.data() + h.v_word * std::size_t{kernel::kWordBytes});
  const std::size_t q_heads = static_cast<std::size_t>(layout.kv_heads) * layout.group;
  for (const AttentionSequence& s : batch.sequences) {
    const std::size_t q_at = s.q_begin * q_heads * layout.head_dim;
    const std::size_t kv_at =
        static_cast<std::size_t>(s.new_begin) * layout.kv_heads * layout.head_dim;
    const std::size_t kv_vectors = static_cast<std::size_t>(s.num_new) * layout.kv_heads;
    q = copy_padded(layout, batch.q.data() + q_at, s.num_q * q_heads, q);
    k = copy_padded(layout, batch.k.data() + kv_at, kv_vectors, k);
    v = copy_padded(layout, batch.v.data() + kv_at, kv_vectors, v);
  }
}

DescriptorPlan plan_page_move(const KernelLayout& layout, kernel::Operation operation,
                              std::size_t payload_bytes, std::uint32_t tag) {
  DescriptorPlan plan;
  plan.header = base_header(layout, tag);
  plan.header.operation = operation;
  plan.header.num_pages = 1;
  Parts parts;
  plan.header.sequences_word = parts.add(0);
  plan.header.pages_word = parts.add(sizeof(std::uint32_t));
  plan.header.q_word = parts.add(payload_bytes);
  finish(plan, parts);
  return plan;
}

void write_page_move(const DescriptorPlan& plan, std::uint32_t kernel_page,
                     std::span<std::byte> to) {
  std::memcpy(to.data(), &plan.header, sizeof(plan.header));
  std::memcpy(to.data() + plan.header.pages_word * std::size_t{kernel::kWordBytes}, &kernel_page,
              sizeof(kernel_page));
}

void unpack_results(const KernelLayout& layout, std::span<const UnitShare> shares,
                    std::span<const std::byte* const> results,
                    std::span<const std::uint32_t> result_rows, const AttentionPartial& out) {
  const std::size_t dim = layout.head_dim;
  const std::size_t q_heads = static_cast<std::size_t>(layout.kv_heads) * layout.group;
  const std::size_t o_bytes = layout.padded_dim() * sizeof(float);
  const std::size_t block_bytes =
      std::size_t{kernel::result_block_words(layout.group, layout.chunks)} * kernel::kWordBytes;
  for (std::size_t first = 0; first < shares.size(); first += shares[first].num_slices) {
    const UnitShare& share = shares[first];
    const auto slices = results.subspan(first, share.num_slices);
    for (std::size_t row = 0; row < result_rows.size(); ++row) {
      for (std::uint32_t own = 0; own < share.head_count; ++own) {
        const std::size_t block = kernel::kWordBytes + (row * share.head_count + own) * block_bytes;
        for (std::uint32_t g = 0; g < layout.group; ++g) {
          const std::size_t head =
              result_rows[row] * q_heads + (share.head_begin + own) * std::size_t{layout.group} + g;
          merge_head({slices, block + g * o_bytes, block + layout.group * o_bytes + g * 4}, dim,
                     out.o.data() + head * dim, out.lse.data() + head);
        }
      }
    }
  }
}

std::string result_fault(const kernel::ResultHeader& header, std::uint32_t tag) {
  if (header.magic != kernel::kMagic) return "the kernel returned no result header";
  if (header.abi_version != kernel::kAbiVersion) {
    return "the kernel image speaks version " + std::to_string(header.abi_version) +
           " of the descriptor, this program version " + std::to_string(kernel::kAbiVersion) +
           ": build both from the same sources";
  }
  if (header.tag != tag) return "the kernel returned the result of an earlier descriptor";
  if (header.status != kernel::kOk) {
    return "the kernel refused its descriptor: status " + std::to_string(header.status) +
           ", detail " + std::to_string(header.detail);
  }
  return "";
}

}  // namespace tandem::device::xrt_card
