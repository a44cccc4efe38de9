// SPDX-License-Identifier: Apache-2.0
//
// LanguageModel: what every model of text has beside its parameters.
//
// The skeleton is a GGUF file without weights: sizes, tokenizer. A checkpoint keeps it.
// Ownership: owns its bytes. Threads: immutable.
#pragma once

#include <memory>
#include <string>

#include "model/tokenizer/tokenizer.h"

namespace tandem::training {

struct LanguageModel {
  std::string family = "llama";
  std::string skeleton;  // bytes of a GGUF file
  bool tied = true;      // the embedding is the output matrix too
  std::shared_ptr<const model::Tokenizer> tokenizer;
};

}  // namespace tandem::training
