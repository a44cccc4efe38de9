// SPDX-License-Identifier: Apache-2.0
//
// Cost: a few string copies per token and alternative; only for requests that ask.
#include "server/openai/logprobs.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/utf8.h"

namespace tandem::server::openai {
namespace {

using nlohmann::ordered_json;

constexpr float kLowestLogprob = -9999.0f;

double finite(float logprob) { return std::max(logprob, kLowestLogprob); }

std::string escaped_bytes(std::string_view bytes) {
  std::string result;
  for (const char c : bytes) {
    char text[8];
    std::snprintf(text, sizeof text, "\\x%02x", static_cast<unsigned char>(c));
    result += text;
  }
  return result;
}

ordered_json byte_array(std::string_view bytes) {
  ordered_json result = ordered_json::array();
  for (const char c : bytes) result.push_back(static_cast<unsigned char>(c));
  return result;
}

ordered_json chat_entry(const std::string& bytes, float logprob) {
  return {{"token", is_valid_utf8(bytes) ? bytes : escaped_bytes(bytes)},
          {"logprob", finite(logprob)},
          {"bytes", byte_array(bytes)}};
}

std::string completion_token(const std::string& bytes) {
  return is_valid_utf8(bytes) ? bytes : "bytes:" + escaped_bytes(bytes);
}

// How many bytes of `text` the token covers: its whole length, one less for an artificial leading
// space, or 0 for a control token that was added.
std::size_t covered_bytes(std::string_view text, std::string_view token) {
  if (text.substr(0, token.size()) == token) return token.size();
  if (!token.empty() && token.front() == ' ') {
    token.remove_prefix(1);
    if (text.substr(0, token.size()) == token) return token.size();
  }
  return 0;
}

}  // namespace

ordered_json chat_logprobs(const std::vector<OutputToken>& tokens,
                           const GenerationService& service) {
  ordered_json content = ordered_json::array();
  for (const OutputToken& token : tokens) {
    ordered_json entry = chat_entry(service.token_bytes(token.id), token.logprob);
    ordered_json top = ordered_json::array();
    for (const TokenLogprob& alternative : token.top) {
      top.push_back(chat_entry(service.token_bytes(alternative.id), alternative.logprob));
    }
    entry["top_logprobs"] = std::move(top);
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

CompletionLogprobs::CompletionLogprobs(const GenerationService& service, int num_top)
    : service_(&service), num_top_(num_top) {}

void CompletionLogprobs::add_prompt(const std::vector<TokenId>& tokens,
                                    const std::vector<float>& logprobs, std::string_view text) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string bytes = service_->token_bytes(tokens[i]);
    Row row;
    row.token = completion_token(bytes);
    row.has_logprob = i > 0 && i - 1 < logprobs.size();
    if (row.has_logprob) row.logprob = logprobs[i - 1];
    row.offset = offset_;
    const std::size_t covered = covered_bytes(text, bytes);
    offset_ += count_code_points(text.substr(0, covered));
    text.remove_prefix(covered);
    rows_.push_back(std::move(row));
  }
}

void CompletionLogprobs::add(const std::vector<OutputToken>& tokens) {
  for (const OutputToken& token : tokens) {
    const std::string bytes = service_->token_bytes(token.id);
    rows_.push_back({completion_token(bytes), true, token.logprob, token.top, offset_});
    // OpenAI always lists the drawn token in addition to the most likely.
    const auto same = [&](const TokenLogprob& top) { return top.id == token.id; };
    if (num_top_ > 0 && std::none_of(token.top.begin(), token.top.end(), same)) {
      rows_.back().top.push_back({token.id, token.logprob});
    }
    offset_ += count_code_points(bytes);
  }
}

ordered_json CompletionLogprobs::take() {
  ordered_json tokens = ordered_json::array(), logprobs = ordered_json::array();
  ordered_json tops = ordered_json::array(), offsets = ordered_json::array();
  for (const Row& row : rows_) {
    tokens.push_back(row.token);
    logprobs.push_back(row.has_logprob ? ordered_json(finite(row.logprob)) : nullptr);
    ordered_json top = nullptr;
    for (const TokenLogprob& alternative : row.top) {
      const std::string name = completion_token(service_->token_bytes(alternative.id));
      top[name] = finite(alternative.logprob);
    }
    tops.push_back(std::move(top));
    offsets.push_back(row.offset);
  }
  rows_.clear();
  return {{"tokens", std::move(tokens)},
          {"token_logprobs", std::move(logprobs)},
          {"top_logprobs", num_top_ > 0 ? std::move(tops) : ordered_json(nullptr)},
          {"text_offset", std::move(offsets)}};
}

}  // namespace tandem::server::openai
