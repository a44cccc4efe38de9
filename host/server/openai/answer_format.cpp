// SPDX-License-Identifier: Apache-2.0
//
// Field order follows OpenAI's documentation. Ids are 96 random bits: unique, not secret.
#include "server/openai/answer_format.h"

#include <chrono>
#include <random>

namespace tandem::server::openai {
namespace {

using nlohmann::ordered_json;

std::string random_id(const char* prefix) {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::uniform_int_distribution<std::size_t> digit(0, sizeof kDigits - 2);
  std::string id = prefix;
  for (int i = 0; i < 24; ++i) id.push_back(kDigits[digit(generator)]);
  return id;
}

ordered_json finish_name(const std::optional<FinishReason>& finish) {
  if (!finish) return nullptr;
  return *finish == FinishReason::kLength ? "length" : "stop";
}

ordered_json usage_object(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
}

std::string dump(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string as_event(const std::string& json) { return "data: " + json + "\n\n"; }

}  // namespace

AnswerFormat::AnswerFormat(AnswerKind kind, std::string model, bool with_usage)
    : kind_(kind),
      model_(std::move(model)),
      with_usage_(with_usage),
      id_(random_id(kind == AnswerKind::kChat ? "chatcmpl-" : "cmpl-")),
      created_(std::chrono::duration_cast<std::chrono::seconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count()) {}

ordered_json AnswerFormat::envelope(const char* object) const {
  return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_}};
}

std::string AnswerFormat::whole(const std::vector<AnswerPiece>& choices, const Usage& usage) const {
  const bool chat = kind_ == AnswerKind::kChat;
  ordered_json body = envelope(chat ? "chat.completion" : "text_completion");
  ordered_json list = ordered_json::array();
  for (const AnswerPiece& piece : choices) {
    ordered_json choice = {{"index", piece.index}};
    if (chat) {
      choice["message"] = {{"role", "assistant"}, {"content", piece.text}, {"refusal", nullptr}};
    } else {
      choice["text"] = piece.text;
    }
    choice["logprobs"] = piece.logprobs;
    choice["finish_reason"] = finish_name(piece.finish);
    list.push_back(std::move(choice));
  }
  body["choices"] = std::move(list);
  body["usage"] = usage_object(usage);
  return dump(body);
}

std::string AnswerFormat::chunk_event(ordered_json choice) const {
  ordered_json body =
      envelope(kind_ == AnswerKind::kChat ? "chat.completion.chunk" : "text_completion");
  body["choices"] = ordered_json::array({std::move(choice)});
  if (with_usage_) body["usage"] = nullptr;
  return as_event(dump(body));
}

std::string AnswerFormat::opening_event(int index) const {
  if (kind_ != AnswerKind::kChat) return {};
  return chunk_event({{"index", index},
                      {"delta", {{"role", "assistant"}, {"content", ""}}},
                      {"logprobs", nullptr},
                      {"finish_reason", nullptr}});
}

std::string AnswerFormat::event(const AnswerPiece& piece) const {
  if (kind_ == AnswerKind::kCompletion) {
    return chunk_event({{"index", piece.index},
                        {"text", piece.text},
                        {"logprobs", piece.logprobs},
                        {"finish_reason", finish_name(piece.finish)}});
  }
  std::string events;
  if (!piece.text.empty() || !piece.logprobs.is_null()) {
    events = chunk_event({{"index", piece.index},
                          {"delta", {{"content", piece.text}}},
                          {"logprobs", piece.logprobs},
                          {"finish_reason", nullptr}});
  }
  if (piece.finish) {  // chat ends with a separate empty delta
    events += chunk_event({{"index", piece.index},
                           {"delta", ordered_json::object()},
                           {"logprobs", nullptr},
                           {"finish_reason", finish_name(piece.finish)}});
  }
  return events;
}

std::string AnswerFormat::usage_event(const Usage& usage) const {
  ordered_json body =
      envelope(kind_ == AnswerKind::kChat ? "chat.completion.chunk" : "text_completion");
  body["choices"] = ordered_json::array();
  body["usage"] = usage_object(usage);
  return as_event(dump(body));
}

std::string AnswerFormat::error_event(const std::string& error_body) {
  return as_event(error_body);
}

}  // namespace tandem::server::openai
