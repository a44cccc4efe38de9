// SPDX-License-Identifier: Apache-2.0
//
// A raw prompt -> tokens. Its parts are encoded as one text, but control tokens such as "</s>" are
// found only in parts that parse them. So text of a user can stand beside a template's tokens.
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

// Where BOS is added, the result begins with exactly one, also if the text begins with its text.
// `options`: parse_special and ignored_mark do not count.
std::vector<TokenId> encode_parts(const Tokenizer& tokenizer, std::span<const PromptPart> parts,
                                  EncodeOptions options);

}  // namespace tandem::model
