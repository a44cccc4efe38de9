// SPDX-License-Identifier: Apache-2.0
//
// LanguageModel: the parts of a language model besides its parameters.
//
// The skeleton is a GGUF file without weights: sizes and tokenizer. A checkpoint contains it.
// Ownership: owns its bytes. Threads: immutable.
#pragma once

#include <memory>
#include <string>

#include "model/tokenizer/tokenizer.h"

namespace tandem::training {

struct LanguageModel {
  std::string family = "llama";
  std::string skeleton;  // bytes of a GGUF file
  bool tied = true;      // the embedding is also the output matrix
  std::shared_ptr<const model::Tokenizer> tokenizer;
};

}  // namespace tandem::training
