// SPDX-License-Identifier: Apache-2.0
//
// Cost: a few appended strings per token and alternative, only for requests with log-probabilities.
#include "server/openai/logprobs.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "common/utf8.h"
#include "server/openai/json_text.h"

namespace tandem::server::openai {
namespace {

constexpr float kLowestLogprob = -9999.0f;

float finite(float logprob) { return std::max(logprob, kLowestLogprob); }

std::string escaped_bytes(std::string_view bytes) {
  std::string result;
  for (const char c : bytes) {
    char text[8];
    std::snprintf(text, sizeof text, "\\x%02x", static_cast<unsigned char>(c));
    result += text;
  }
  return result;
}

void append_comma(std::string& list) {
  if (!list.empty()) list += ',';
}

// A chat token without its closing brace.
void append_chat_entry(std::string& out, const std::string& bytes, float logprob) {
  out += R"({"token":)";
  append_quoted(out, is_valid_utf8(bytes) ? bytes : escaped_bytes(bytes));
  out += R"(,"logprob":)";
  append_number(out, finite(logprob));
  out += R"(,"bytes":[)";
  bool first = true;
  for (const char c : bytes) {
    if (!std::exchange(first, false)) out += ',';
    append_number(out, std::int64_t{static_cast<unsigned char>(c)});
  }
  out += ']';
}

std::string completion_token(std::string_view bytes) {
  return is_valid_utf8(bytes) ? std::string(bytes) : "bytes:" + escaped_bytes(bytes);
}

// The part of the token that begins `text`: all of it, all but an artificial leading space, or
// nothing for a control token that was added.
std::string_view covered_part(std::string_view text, std::string_view token) {
  if (text.starts_with(token)) return token;
  if (token.starts_with(' ') && text.starts_with(token.substr(1))) return token.substr(1);
  return {};
}

}  // namespace

void ChatLogprobs::add(const std::vector<OutputToken>& tokens) {
  for (const OutputToken& token : tokens) {
    append_comma(content_);
    append_chat_entry(content_, service_->token_bytes(token.id), token.logprob);
    content_ += R"(,"top_logprobs":[)";
    for (const TokenLogprob& alternative : token.top) {
      if (&alternative != token.top.data()) content_ += ',';
      append_chat_entry(content_, service_->token_bytes(alternative.id), alternative.logprob);
      content_ += '}';
    }
    content_ += "]}";
  }
}

void ChatLogprobs::take(std::string& out) {
  out += R"({"content":[)";
  out += std::exchange(content_, {});
  out += R"(],"refusal":null})";
}

CompletionLogprobs::CompletionLogprobs(const GenerationService& service, int num_top)
    : service_(&service), num_top_(num_top) {}

std::size_t CompletionLogprobs::bytes() const {
  return tokens_.size() + logprobs_.size() + tops_.size() + offsets_.size();
}

void CompletionLogprobs::begin_token(std::string_view bytes) {
  for (std::string* list : {&tokens_, &logprobs_, &tops_, &offsets_}) append_comma(*list);
  append_quoted(tokens_, completion_token(bytes));
  append_number(offsets_, static_cast<std::int64_t>(offset_));
}

void CompletionLogprobs::add_prompt(const std::vector<TokenId>& tokens,
                                    const GenerationEvent& event, std::string_view text) {
  const std::vector<float>& logprobs = event.prompt_logprobs;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string bytes = service_->token_bytes(tokens[i]);
    const std::string_view covered = covered_part(text, bytes);
    const bool lacks_space = covered.size() + 1 == bytes.size() && bytes.front() == ' ';
    begin_token(lacks_space && !covered.empty() ? covered : std::string_view(bytes));
    if (i > 0 && i - 1 < logprobs.size()) {
      append_number(logprobs_, finite(logprobs[i - 1]));
      const bool has_top = i - 1 < event.prompt_top.size();
      append_top({tokens[i], logprobs[i - 1],
                  has_top ? event.prompt_top[i - 1] : std::vector<TokenLogprob>()});
    } else {
      logprobs_ += "null";
      tops_ += "null";
    }
    offset_ += count_code_points(covered);
    text.remove_prefix(covered.size());
  }
}

void CompletionLogprobs::add(const std::vector<OutputToken>& tokens) {
  for (const OutputToken& token : tokens) {
    const std::string bytes = service_->token_bytes(token.id);
    begin_token(bytes);
    append_number(logprobs_, finite(token.logprob));
    append_top(token);
    offset_ += count_code_points(bytes);
  }
}

// OpenAI always lists the drawn token in addition to the most likely. Names are keys, so the first
// of two tokens with one name stands for both.
void CompletionLogprobs::append_top(const OutputToken& token) {
  if (num_top_ == 0) {
    tops_ += "null";
    return;
  }
  std::vector<std::string> names;
  const auto append = [&](TokenId id, float logprob) {
    std::string name = completion_token(service_->token_bytes(id));
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    tops_ += names.empty() ? '{' : ',';
    append_quoted(tops_, name);
    tops_ += ':';
    append_number(tops_, finite(logprob));
    names.push_back(std::move(name));
  };
  for (const TokenLogprob& alternative : token.top) append(alternative.id, alternative.logprob);
  append(token.id, token.logprob);
  tops_ += '}';
}

void CompletionLogprobs::take(std::string& out) {
  out += R"({"tokens":[)" + std::exchange(tokens_, {});
  out += R"(],"token_logprobs":[)" + std::exchange(logprobs_, {});
  out += R"(],"top_logprobs":)";
  out += num_top_ > 0 ? "[" + tops_ + "]" : "null";
  tops_.clear();
  out += R"(,"text_offset":[)" + std::exchange(offsets_, {}) + "]}";
}

}  // namespace tandem::server::openai
