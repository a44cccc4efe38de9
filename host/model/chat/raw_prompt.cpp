// SPDX-License-Identifier: Apache-2.0
//
// Parts with different settings are joined into one text. A mark is put into the control tokens of
// the parts that do not parse them, as in messages of a chat (chat_prompt.h).
#include "model/chat/raw_prompt.h"

#include <algorithm>

#include "common/error.h"
#include "common/utf8.h"

namespace tandem::model {
namespace {

// The first of U+FDD0..U+FDEF (noncharacters for internal use) that no part contains.
std::string mark_outside(std::span<const PromptPart> parts) {
  for (int last = 0x90; last <= 0xaf; ++last) {
    std::string mark = "\xef\xb7";
    mark += static_cast<char>(last);
    const auto holds = [&](const PromptPart& part) {
      return part.text.find(mark) != std::string::npos;
    };
    if (std::ranges::none_of(parts, holds)) return mark;
  }
  throw Error("prompt", "the parts hold every noncharacter U+FDD0..U+FDEF; leave one of them out");
}

// Neither inside the text nor across its ends does a control token remain. A mark directly after a
// token of the part before would spoil that token, so the first mark comes after a character.
std::string guarded(const Tokenizer& tokenizer, const std::string& text, const std::string& mark) {
  if (text.empty()) return text;
  const std::size_t first = next_utf8(text).length;
  const std::string begun = tokenizer.mark_control(text, mark);
  return begun.substr(0, first) + mark + begun.substr(first) + mark;
}

}  // namespace

std::vector<TokenId> encode_parts(const Tokenizer& tokenizer, std::span<const PromptPart> parts,
                                  EncodeOptions options) {
  const auto parses = [](const PromptPart& part) { return part.parse_special; };
  const bool mixed = std::ranges::any_of(parts, parses) && !std::ranges::all_of(parts, parses);
  const std::string mark = mixed ? mark_outside(parts) : std::string();
  std::string text;
  for (const PromptPart& part : parts) {
    text += mixed && !part.parse_special ? guarded(tokenizer, part.text, mark) : part.text;
  }
  options.parse_special = std::ranges::any_of(parts, parses);
  options.ignored_mark = mark;
  std::vector<TokenId> ids = tokenizer.encode(text, options);
  const auto is_bos = [&](std::size_t at) { return ids.size() > at && ids[at] == tokenizer.bos(); };
  if (options.add_special && tokenizer.bos() != kNoToken && is_bos(0) && is_bos(1)) {
    ids.erase(ids.begin());
  }
  return ids;
}

}  // namespace tandem::model
