// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary of a new model without a tokenizer: one token per byte.
//
// 260 tokens of GGUF's `llama` tokenizer: <unk>, <s>, </s>, the 256 bytes, and the blank. It can
// encode every text; no blank is added before a text. Threads: any; pure functions.
#pragma once

#include "model/loader/gguf/gguf_writer.h"

namespace tandem::training {

void set_byte_vocabulary(model::GgufWriter& to);

}  // namespace tandem::training
