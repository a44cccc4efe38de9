// SPDX-License-Identifier: Apache-2.0
//
// Encodes a raw prompt as tokens. Its parts are encoded as one text, but control tokens such as
// "</s>" are found only in parts that parse them. So a user's text can be placed beside a
// template's tokens.
//
// Threads: any. Errors: Error("prompt", ...) when parts that differ leave no noncharacter unused.
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
// BOS. `options`: parse_special and ignored_mark do not count.
std::vector<TokenId> encode_parts(const Tokenizer& tokenizer, std::span<const PromptPart> parts,
                                  EncodeOptions options);

}  // namespace tandem::model
