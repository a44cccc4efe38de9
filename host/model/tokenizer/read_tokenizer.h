// SPDX-License-Identifier: Apache-2.0
//
// Tokenizers from GGUF metadata: tokenizer.ggml.model "llama" (SentencePiece-style) or "gpt2"
// (byte-level BPE). The tokenizer copies what it needs and outlives the file.
// Errors: Error("gguf", ...) naming file, field and offset.
#pragma once

#include <memory>

#include "model/loader/gguf/gguf_file.h"
#include "model/tokenizer/tokenizer.h"

namespace tandem::model {

std::unique_ptr<Tokenizer> read_tokenizer(const GgufFile& file);

}  // namespace tandem::model
