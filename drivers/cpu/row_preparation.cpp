// SPDX-License-Identifier: Apache-2.0
//
// PreparedRows: pick, norm and gate give one row, which is then converted to every form.
#include "cpu/row_preparation.h"

#include <algorithm>
#include <cstring>

#include "cpu/kernels/float_products/bf16_products.h"
#include "cpu/kernels/float_products/matmul.h"
#include "cpu/kernels/quantized_products/packed_format.h"
#include "cpu/kernels/rows/rows.h"

namespace tandem::device::cpu {
namespace {

template <typename Memory>
void grow(Memory& memory, std::size_t size) {
  if (memory.size() < size) memory.resize(size);
}

// Returns x itself if nothing changes it.
const float* changed_row(const RowSource& source, std::size_t row, float* to) {
  const std::size_t at = source.picks.empty() ? row : static_cast<std::size_t>(source.picks[row]);
  const float* x = source.x + at * source.width;
  if (source.norm != nullptr) {
    rms_norm_row(x, source.norm, source.norm_epsilon, source.width, to);
    return to;
  }
  if (source.up != nullptr) {
    const auto gate = source.activation == Activation::kSilu ? swiglu : geglu;
    gate(x, source.up + at * source.width, source.width, to);
    return to;
  }
  return x;
}

}  // namespace

void PreparedRows::begin(const RowSource& source, const RowForms& forms) {
  source_ = source;
  forms_ = forms;
  changes_ = source.norm != nullptr || source.up != nullptr || !source.picks.empty();
  const std::size_t values = source.rows * source.width;
  if (changes_ && (forms.plain || forms.panels)) grow(plain_, values);
  if (forms.panels) {
    grow(panels_, (source.rows + kPanelRows - 1) / kPanelRows * kPanelRows * source.width);
  }
  if (forms.quantized) {
    constexpr std::size_t kChunkInputs = kChunkBlocks * kBlockInputs;
    grow(chunks_, (source.width + kChunkInputs - 1) / kChunkInputs * source.rows);
  }
  if (forms.bf16) {
    grow(bf16_, (source.width + kBf16Chunk - 1) / kBf16Chunk * source.rows * kBf16Chunk);
  }
}

bool PreparedRows::needs_work() const {
  return forms_.panels || forms_.quantized || forms_.bf16 || (forms_.plain && changes_);
}

void PreparedRows::prepare(std::size_t first, std::size_t last, std::vector<float>& row) {
  const std::size_t width = source_.width;
  const bool keeps = changes_ && (forms_.plain || forms_.panels);
  grow(row, width);
  for (std::size_t i = first; i < last; ++i) {
    float* to = keeps ? plain_.data() + i * width : row.data();
    const float* x = changed_row(source_, i, to);
    if (keeps && x != to) std::memcpy(to, x, width * sizeof(float));
    if (forms_.quantized) quantize_row(x, width, chunks_.data() + i, source_.rows);
    for (std::size_t at = 0; forms_.bf16 && at < width; at += kBf16Chunk) {
      std::uint16_t* chunk = bf16_.data() + at * source_.rows + i * kBf16Chunk;
      const std::size_t count = std::min(kBf16Chunk, width - at);
      round_to_bf16(x + at, count, chunk);
      if (count % 2 != 0) chunk[count] = 0;
    }
  }
  if (!forms_.panels) return;
  for (std::size_t panel = first / kPanelRows; panel * kPanelRows < last; ++panel) {
    pack_panel(plain(), source_.rows, width, panel, panels_.data() + panel * kPanelRows * width);
  }
}

}  // namespace tandem::device::cpu
