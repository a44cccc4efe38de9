// SPDX-License-Identifier: Apache-2.0
//
// Choice of the tokenizer by tokenizer.ggml.model.
#include "model/tokenizer/read_tokenizer.h"

#include "model/tokenizer/bpe_tokenizer.h"
#include "model/tokenizer/spm_tokenizer.h"

namespace tandem::model {

std::unique_ptr<Tokenizer> read_tokenizer(const GgufFile& file) {
  const std::string_view kind = file.require_string("tokenizer.ggml.model");
  if (kind == "llama") return std::make_unique<SpmTokenizer>(file, read_vocabulary(file));
  if (kind == "gpt2") return std::make_unique<BpeTokenizer>(file, read_vocabulary(file));
  throw file.field_error("tokenizer.ggml.model", "tokenizer '" + std::string(kind) +
                                                     "' is not supported; supported: llama, gpt2");
}

}  // namespace tandem::model
