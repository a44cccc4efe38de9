// SPDX-License-Identifier: Apache-2.0
//
// TextBatches: returns the windows of a text as batches. The number of the first sample selects a
// batch.
//
// Samples are counted over all epochs and ranks (windows.h). Ownership: borrows text and model.
// Threads: one. Errors: those of Windows.
#pragma once

#include <cstdint>

#include "training/trainer/language_model.h"
#include "training/trainer/token_text.h"
#include "training/trainer/windows.h"

namespace tandem::training {

struct TextSizes {
  int batch = 8;      // windows of a pass
  int context = 256;  // tokens of a window
  std::uint64_t seed = 1;
};

class TextBatches {
 public:
  TextBatches(const TokenText& text, const LanguageModel& model, const TextSizes& sizes);

  void require(std::uint64_t samples) const { windows_.require(samples); }
  // Samples [first, first + batch); valid until the next call.
  TokenBatch at(std::uint64_t first);
  // The buffer of the batches, for other uses between two calls.
  TokenRows& rows() { return rows_; }

 private:
  const TokenText& text_;
  const LanguageModel& model_;
  TextSizes sizes_;
  Windows windows_;
  TokenRows rows_;
};

}  // namespace tandem::training
