// SPDX-License-Identifier: Apache-2.0
//
// Tokenizers from tokenizer.json (and the files next to it in a published directory).
//
// Supports model "BPE", byte-level or SentencePiece-like (json_pipeline.h); ids equal those of the
// tokenizers library. BOS, EOS and whether they are added come from tokenizer_config.json,
// otherwise from the post_processor; the ids that end generation also from generation_config.json
// and config.json. The tokenizer copies what it needs. Cost: linear in the file; merges are not
// kept as text. Errors: Error("safetensors", "DIR/tokenizer.json: field 'model.type': ...").
#pragma once

#include <memory>

#include "model/loader/hub/texts.h"
#include "model/tokenizer/tokenizer.h"

namespace tandem::model {

// `vocab_size`: rows of the embedding. It may exceed the number of tokens (the rest is never
// encoded) or be smaller (added tokens without a row are left out). 0: the number of tokens.
std::unique_ptr<Tokenizer> read_tokenizer_json(const HubTexts& texts, int vocab_size);

}  // namespace tandem::model
