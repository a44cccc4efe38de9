// SPDX-License-Identifier: Apache-2.0
//
// The blank is a separate token, because the tokenizer replaces it by U+2581, which has three
// bytes.
#include "training/trainer/byte_vocabulary.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "model/tokenizer/vocabulary.h"

namespace tandem::training {

void set_byte_vocabulary(model::GgufWriter& to) {
  using model::TokenKind;
  std::vector<std::string> texts = {"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> kinds = {static_cast<std::int32_t>(TokenKind::kUnknown),
                                     static_cast<std::int32_t>(TokenKind::kControl),
                                     static_cast<std::int32_t>(TokenKind::kControl)};
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof(text), "<0x%02X>", static_cast<unsigned>(byte));
    texts.emplace_back(text);
    kinds.push_back(static_cast<std::int32_t>(TokenKind::kByte));
  }
  texts.emplace_back("\u2581");
  kinds.push_back(static_cast<std::int32_t>(TokenKind::kNormal));
  to.set_string("tokenizer.ggml.model", "llama");
  to.set_strings("tokenizer.ggml.tokens", texts);
  to.set_f32s("tokenizer.ggml.scores", std::vector<float>(texts.size(), 0.0f));
  to.set_i32s("tokenizer.ggml.token_type", kinds);
  to.set_u32("tokenizer.ggml.unknown_token_id", 0);
  to.set_u32("tokenizer.ggml.bos_token_id", 1);
  to.set_u32("tokenizer.ggml.eos_token_id", 2);
  to.set_bool("tokenizer.ggml.add_bos_token", true);
  to.set_bool("tokenizer.ggml.add_eos_token", false);
  to.set_bool("tokenizer.ggml.add_space_prefix", false);
}

}  // namespace tandem::training
