// SPDX-License-Identifier: Apache-2.0
//
// GenerationService: all that the HTTP front knows of what answers its requests.
//
// Tests implement it with a fake; the daemon implements it over engine and model (host/apps).
// Threads: every call from any thread; submit's sink is called on the service's own thread and must
// not block.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/request.h"
#include "model/chat/chat_template.h"

namespace tandem::server {

struct ModelCard {
  std::string id;            // as /v1/models lists it
  std::int64_t created = 0;  // Unix seconds
  int context_length = 0;
};

// A prompt that cannot fit into a request, found out before all of it was tokenised.
struct PromptTooLong : std::runtime_error {
  explicit PromptTooLong(std::size_t at_least)
      : std::runtime_error("the prompt is too long"), at_least_tokens(at_least) {}
  std::size_t at_least_tokens;
};

class GenerationService {
 public:
  virtual ~GenerationService() = default;

  virtual ModelCard model() const = 0;
  virtual int vocab_size() const = 0;

  // The longest prompt + output one request may have, in tokens.
  virtual int max_request_tokens() const = 0;

  // No token of a plain text stands for more bytes, which tells a text that can never fit from its
  // length; 0: not known.
  virtual std::size_t longest_token_bytes() const { return 0; }

  virtual std::vector<model::TokenId> tokenize(std::string_view text) const = 0;

  // Throws Error("chat", ...) when the model has no template or the template refuses the
  // conversation; may throw PromptTooLong, since only the rendered text tells its length.
  virtual std::vector<model::TokenId> tokenize_chat(
      std::span<const model::ChatMessage> messages) const = 0;

  virtual std::string token_bytes(model::TokenId id) const = 0;

  // Throws Error when the request could never be served (see Engine::submit).
  virtual engine::SubmitResult submit(engine::Request request, engine::EventSink sink) = 0;
  virtual void cancel(engine::RequestId id) = 0;

  virtual bool healthy() const = 0;
  virtual std::string metrics_text() const = 0;  // Prometheus text exposition format 0.0.4

  // What runs where, as a JSON object, for GET /status.
  virtual std::string status_json() const { return "{}"; }
};

}  // namespace tandem::server
