// SPDX-License-Identifier: Apache-2.0
//
// AnswerFormat: writes pieces of generated text as the JSON of OpenAI's API, as one answer or in
// chunks.
//
// One object per request holds the id, the time and the model name, which all chunks repeat. It
// writes text, not trees: a chunk costs a few appended strings. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/generation_service.h"

namespace tandem::server::openai {

enum class AnswerKind { kCompletion, kChat };

struct AnswerPiece {
  int index = 0;         // of the choice
  std::string text;      // as JSON without the quotes
  std::string logprobs;  // as JSON; empty: null
  std::optional<FinishReason> finish;
};

struct Usage {
  int prompt_tokens = 0;
  int completion_tokens = 0;
  int cached_tokens = 0;  // of the prompt tokens
};

class AnswerFormat {
 public:
  // `with_usage`: chunks have "usage": null, because the last chunk has the usage.
  AnswerFormat(AnswerKind kind, const std::string& model, bool with_usage);

  // A whole answer: its beginning, the choices separated by commas, its end.
  void begin_whole(std::string& out) const;
  void append_choice(std::string& out, const AnswerPiece& choice) const;
  void end_whole(std::string& out, const Usage& usage) const;

  // Server-sent events ("data: ...\n\n").
  void append_opening_event(std::string& out,
                            int index) const;  // chat: the role; otherwise nothing
  void append_event(std::string& out, const AnswerPiece& piece) const;
  void append_usage_event(std::string& out, const Usage& usage) const;
  static void append_error_event(std::string& out, const std::string& error_body);
  static void append_done_event(std::string& out) { out += "data: [DONE]\n\n"; }

 private:
  void begin_chunk(std::string& out, int index) const;
  void end_chunk(std::string& out, const AnswerPiece& piece) const;

  AnswerKind kind_;
  bool with_usage_;
  std::string whole_head_, chunk_head_;  // text before the list of choices
};

}  // namespace tandem::server::openai
