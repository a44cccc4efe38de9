// SPDX-License-Identifier: Apache-2.0
//
// Field order follows OpenAI's documentation. Ids are random: unique, not secret.
#include "server/openai/answer_format.h"

#include <chrono>
#include <random>

#include "server/openai/json_text.h"

namespace tandem::server::openai {
namespace {

std::string random_id(const char* prefix) {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::uniform_int_distribution<std::size_t> digit(0, sizeof kDigits - 2);
  std::string id = prefix;
  for (int i = 0; i < 24; ++i) id.push_back(kDigits[digit(generator)]);
  return id;
}

const char* finish_name(const std::optional<FinishReason>& finish) {
  if (!finish) return "null";
  return *finish == FinishReason::kLength ? R"("length")" : R"("stop")";
}

void append_member(std::string& out, const char* name, int value) {
  out.append(1, '"').append(name).append("\":");
  append_number(out, std::int64_t{value});
}

void append_usage(std::string& out, const Usage& usage) {
  out += '{';
  append_member(out, "prompt_tokens", usage.prompt_tokens);
  out += ',';
  append_member(out, "completion_tokens", usage.completion_tokens);
  out += ',';
  append_member(out, "total_tokens", usage.prompt_tokens + usage.completion_tokens);
  out += R"(,"prompt_tokens_details":{)";
  append_member(out, "cached_tokens", usage.cached_tokens);
  out += "}}";
}

void append_logprobs(std::string& out, const std::string& logprobs) {
  out += logprobs.empty() ? "null" : logprobs;
}

}  // namespace

AnswerFormat::AnswerFormat(AnswerKind kind, const std::string& model, bool with_usage)
    : kind_(kind), with_usage_(with_usage) {
  const bool chat = kind == AnswerKind::kChat;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string begin = R"({"id":")" + random_id(chat ? "chatcmpl-" : "cmpl-") + R"(","object":")";
  std::string end = R"(","created":)";
  append_number(end, std::int64_t{std::chrono::duration_cast<std::chrono::seconds>(now).count()});
  end += R"(,"model":)";
  append_quoted(end, model);
  end += R"(,"choices":[)";
  whole_head_ = begin + (chat ? "chat.completion" : "text_completion") + end;
  chunk_head_ = begin + (chat ? "chat.completion.chunk" : "text_completion") + end;
}

void AnswerFormat::begin_whole(std::string& out) const { out += whole_head_; }

void AnswerFormat::append_choice(std::string& out, const AnswerPiece& choice) const {
  out += '{';
  append_member(out, "index", choice.index);
  out +=
      kind_ == AnswerKind::kChat ? R"(,"message":{"role":"assistant","content":")" : R"(,"text":")";
  out += choice.text;
  out += kind_ == AnswerKind::kChat ? R"(","refusal":null},"logprobs":)" : R"(","logprobs":)";
  append_logprobs(out, choice.logprobs);
  out.append(R"(,"finish_reason":)").append(finish_name(choice.finish)).append(1, '}');
}

void AnswerFormat::end_whole(std::string& out, const Usage& usage) const {
  out += R"(],"usage":)";
  append_usage(out, usage);
  out += '}';
}

void AnswerFormat::begin_chunk(std::string& out, int index) const {
  out += "data: ";
  out += chunk_head_;
  out += '{';
  append_member(out, "index", index);
}

// From the log-probabilities on.
void AnswerFormat::end_chunk(std::string& out, const AnswerPiece& piece) const {
  out += R"(,"logprobs":)";
  append_logprobs(out, piece.logprobs);
  out.append(R"(,"finish_reason":)").append(finish_name(piece.finish));
  out += with_usage_ ? "}],\"usage\":null}\n\n" : "}]}\n\n";
}

void AnswerFormat::append_opening_event(std::string& out, int index) const {
  if (kind_ != AnswerKind::kChat) return;
  begin_chunk(out, index);
  out += R"(,"delta":{"role":"assistant","content":""})";
  end_chunk(out, {});
}

void AnswerFormat::append_event(std::string& out, const AnswerPiece& piece) const {
  if (kind_ == AnswerKind::kCompletion) {
    begin_chunk(out, piece.index);
    out.append(R"(,"text":")").append(piece.text).append(1, '"');
    end_chunk(out, piece);
    return;
  }
  if (!piece.text.empty() || !piece.logprobs.empty()) {
    begin_chunk(out, piece.index);
    out.append(R"(,"delta":{"content":")").append(piece.text).append("\"}");
    end_chunk(out, {piece.index, {}, piece.logprobs, {}});
  }
  if (piece.finish) {  // chat ends with a separate empty delta
    begin_chunk(out, piece.index);
    out += R"(,"delta":{})";
    end_chunk(out, {piece.index, {}, {}, piece.finish});
  }
}

void AnswerFormat::append_usage_event(std::string& out, const Usage& usage) const {
  out.append("data: ").append(chunk_head_).append(R"(],"usage":)");
  append_usage(out, usage);
  out += "}\n\n";
}

void AnswerFormat::append_error_event(std::string& out, const std::string& error_body) {
  out.append("data: ").append(error_body).append("\n\n");
}

}  // namespace tandem::server::openai
