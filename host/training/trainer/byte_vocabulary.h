// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary of a model from scratch that names no tokenizer: a token per byte.
//
// 260 tokens of GGUF's `llama` tokenizer: <unk>, <s>, </s>, the 256 bytes, and the blank. Every
// text is encoded; no space is put before it. Threads: any; pure functions.
#pragma once

#include "model/loader/gguf/gguf_writer.h"

namespace tandem::training {

void set_byte_vocabulary(model::GgufWriter& to);

}  // namespace tandem::training
