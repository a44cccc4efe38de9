// SPDX-License-Identifier: Apache-2.0
//
// AnswerFormat: pieces of generated text -> the JSON objects of OpenAI's API, whole or in chunks.
//
// One object per request holds the id, the time and the model name that all chunks repeat. Bytes
// that are not UTF-8 become U+FFFD. Threads: one.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/generation_service.h"

namespace tandem::server::openai {

enum class AnswerKind { kCompletion, kChat };

struct AnswerPiece {
  int index = 0;  // of the choice
  std::string text;
  nlohmann::ordered_json logprobs = nullptr;
  std::optional<FinishReason> finish;
};

struct Usage {
  int prompt_tokens = 0;
  int completion_tokens = 0;
  int cached_tokens = 0;  // of the prompt tokens
};

class AnswerFormat {
 public:
  // `with_usage`: chunks have "usage": null, since the last one will have the usage.
  AnswerFormat(AnswerKind kind, std::string model, bool with_usage);

  std::string whole(const std::vector<AnswerPiece>& choices, const Usage& usage) const;

  // Server-sent events ("data: ...\n\n").
  std::string opening_event(int index) const;  // chat: the role; completions: empty
  std::string event(const AnswerPiece& piece) const;
  std::string usage_event(const Usage& usage) const;
  static std::string error_event(const std::string& error_body);
  static std::string done_event() { return "data: [DONE]\n\n"; }

 private:
  nlohmann::ordered_json envelope(const char* object) const;
  std::string chunk_event(nlohmann::ordered_json choice) const;

  AnswerKind kind_;
  std::string model_;
  bool with_usage_;
  std::string id_;
  std::int64_t created_;
};

}  // namespace tandem::server::openai
