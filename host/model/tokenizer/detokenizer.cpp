// SPDX-License-Identifier: Apache-2.0
//
// Token bytes -> text in whole UTF-8 sequences (declared in tokenizer.h).
#include "common/utf8.h"
#include "model/tokenizer/tokenizer.h"

namespace tandem::model {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Moves what is complete from `pending` to the result.
std::string take_complete(std::string& pending) {
  std::string text;
  std::size_t at = 0;
  while (at < pending.size()) {
    const Utf8Sequence sequence = next_utf8(std::string_view(pending).substr(at));
    if (sequence.incomplete) break;
    if (sequence.valid) {
      text.append(pending, at, sequence.length);
    } else {
      text += kReplacement;
    }
    at += sequence.length;
  }
  pending.erase(0, at);
  return text;
}

}  // namespace

Detokenizer::Detokenizer(const Tokenizer& tokenizer, bool at_start)
    : tokenizer_(&tokenizer), drop_space_(at_start && tokenizer.strips_leading_space()) {}

std::string Detokenizer::push(TokenId id) {
  if (id < 0 || id >= tokenizer_->vocab_size() || tokenizer_->is_control(id)) return {};
  std::string_view bytes = tokenizer_->token_bytes(id);
  if (bytes.empty()) return {};
  if (drop_space_ && bytes.front() == ' ') bytes.remove_prefix(1);
  drop_space_ = false;
  pending_ += bytes;
  return take_complete(pending_);
}

std::string Detokenizer::finish() {
  std::string text;
  if (!pending_.empty()) text = kReplacement;  // one incomplete sequence is all that is held
  pending_.clear();
  return text;
}

std::string decode(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  Detokenizer detokenizer(tokenizer, true);
  std::string text;
  for (const TokenId id : ids) text += detokenizer.push(id);
  return text + detokenizer.finish();
}

}  // namespace tandem::model
