// SPDX-License-Identifier: Apache-2.0
//
// The texts of tokens that are known to end a turn or a text, for files that do not mark them.
#include "model/tokenizer/vocabulary.h"

#include <algorithm>

namespace tandem::model {
namespace {

constexpr std::string_view kEndTexts[] = {"<|eot_id|>",
                                          "<|eom_id|>",
                                          "<|im_end|>",
                                          "<|end|>",
                                          "<end_of_turn>",
                                          "<|endoftext|>",
                                          "<|end_of_text|>",
                                          "<|end_of_turn|>",
                                          "<EOT>",
                                          "<|EOT|>",
                                          "<\xef\xbd\x9c"
                                          "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>"};

}  // namespace

void mark_known_ends(Vocabulary& vocabulary) {
  for (std::size_t id = 0; id < vocabulary.texts.size(); ++id) {
    const auto* found = std::find(std::begin(kEndTexts), std::end(kEndTexts), vocabulary.texts[id]);
    if (found == std::end(kEndTexts)) continue;
    vocabulary.ends_generation[id] = true;
    // Some files call these tokens ordinary; users would see their text.
    if (vocabulary.kinds[id] == TokenKind::kNormal) vocabulary.kinds[id] = TokenKind::kControl;
  }
}

}  // namespace tandem::model
