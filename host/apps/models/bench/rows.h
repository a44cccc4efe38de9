// SPDX-License-Identifier: Apache-2.0
//
// Parses the rows of `tandem bench` from the command line, and limits them to the model's context.
//
// Pure functions. Errors: Error("bench", ...) that names the word. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::apps::bench {

enum class RowKind { kPrefill, kDecode };

struct Row {
  RowKind kind = RowKind::kDecode;
  int batch = 1;   // number of sequences in a decode step
  int tokens = 0;  // prefill: length of the prompt; decode: attended tokens, including the new one
  int asked_tokens = 0;  // value of `tokens` before it was limited to the model's context
};

// "8@4096" -> batch 8, context 4096.
Row parse_decode(const std::string& word);
Row prefill_row(int prompt_tokens);

// Limits the row to a context of this many tokens.
Row clipped(Row row, int context_length);

// The number of KV pages that the row needs.
std::uint64_t pages_of(const Row& row, int page_tokens);

std::string row_name(const Row& row);   // "decode_batch8_context4096", "prefill_512"
std::string row_title(const Row& row);  // "decode batch 8, context 4096", "prefill 512"

}  // namespace tandem::apps::bench
