// SPDX-License-Identifier: Apache-2.0
//
// Without a BOS a window's first token is not predicted by the window itself.
#include "training/trainer/text_batches.h"

namespace tandem::training {
namespace {

std::uint64_t window_tokens(const TokenText& text, const LanguageModel& model) {
  const bool has_head = model.tokenizer->bos() != model::kNoToken;
  return has_head || text.size() == 0 ? text.size() : text.size() - 1;
}

}  // namespace

TextBatches::TextBatches(const TokenText& text, const LanguageModel& model, const TextSizes& sizes)
    : text_(text),
      model_(model),
      sizes_(sizes),
      windows_(window_tokens(text, model), static_cast<std::uint64_t>(sizes.context), sizes.seed),
      rows_(sizes.batch, sizes.context) {}

TokenBatch TextBatches::at(std::uint64_t first) {
  const model::TokenId bos = model_.tokenizer->bos();
  const std::uint64_t extra = bos == model::kNoToken ? 1 : 0;
  for (int row = 0; row < sizes_.batch; ++row) {
    const std::uint64_t begin = windows_.begin(first + static_cast<std::uint64_t>(row));
    rows_.fill(row, text_, begin, static_cast<std::uint64_t>(sizes_.context) + extra, bos);
  }
  return rows_.view();
}

}  // namespace tandem::training
