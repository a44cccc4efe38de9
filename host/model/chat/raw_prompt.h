// SPDX-License-Identifier: Apache-2.0
//
// Encodes a raw prompt as tokens. Its parts are encoded as one text, but control tokens such as
// "</s>" are found only in parts that parse them. A user's text can therefore be placed next to a
// template's tokens.
//
// Threads: any. Errors: Error("prompt", ...) if parts differ in this and no noncharacter is unused.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace tandem::model {

struct PromptPart {
  std::string text;
  bool parse_special = true;
};

// If BOS is added, the result begins with exactly one BOS, also if the text begins with the text of
// BOS. Ignores parse_special and ignored_mark of `options`.
std::vector<TokenId> encode_parts(const Tokenizer& tokenizer, std::span<const PromptPart> parts,
                                  EncodeOptions options);

}  // namespace tandem::model
