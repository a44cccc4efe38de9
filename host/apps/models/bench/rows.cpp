// SPDX-License-Identifier: Apache-2.0
//
// Rows from words and back.
#include "apps/models/bench/rows.h"

#include <algorithm>
#include <charconv>

#include "common/error.h"

namespace tandem::apps::bench {
namespace {

constexpr int kMaxBatch = 4096, kMaxTokens = 1 << 24;

// The number that is all of `text`, or 0.
int number(const std::string& text, int most) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && value > 0 && value <= most ? value : 0;
}

}  // namespace

Row parse_decode(const std::string& word) {
  const std::size_t at = std::min(word.find('@'), word.size());
  Row row;
  row.batch = number(word.substr(0, at), kMaxBatch);
  row.tokens = at < word.size() ? number(word.substr(at + 1), kMaxTokens) : 0;
  row.asked_tokens = row.tokens;
  if (row.batch == 0 || row.tokens == 0) {
    throw Error("bench", "--decode takes BATCH@CONTEXT such as 8@4096, not '" + word + "'");
  }
  return row;
}

Row prefill_row(int prompt_tokens) { return {RowKind::kPrefill, 1, prompt_tokens, prompt_tokens}; }

Row clipped(Row row, int context_length) {
  row.tokens = std::min(row.tokens, context_length);
  return row;
}

std::uint64_t pages_of(const Row& row, int page_tokens) {
  return static_cast<std::uint64_t>(row.batch) *
         static_cast<std::uint64_t>((row.tokens + page_tokens - 1) / page_tokens);
}

std::string row_name(const Row& row) {
  if (row.kind == RowKind::kPrefill) return "prefill_" + std::to_string(row.tokens);
  return "decode_batch" + std::to_string(row.batch) + "_context" + std::to_string(row.tokens);
}

std::string row_title(const Row& row) {
  if (row.kind == RowKind::kPrefill) return "prefill " + std::to_string(row.tokens);
  return "decode batch " + std::to_string(row.batch) + ", context " + std::to_string(row.tokens);
}

}  // namespace tandem::apps::bench
