// SPDX-License-Identifier: Apache-2.0
//
// EngineService: the server's GenerationService over a Runtime. Threads: as the interface says.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/runtime.h"
#include "apps/serve/card_reports.h"
#include "server/generation_service.h"
#include "server/queue_pace.h"

namespace tandem::apps {

struct ServiceNames {
  std::string id;  // the name that clients use
  std::vector<std::string> aliases;
};

class EngineService final : public server::GenerationService {
 public:
  // `runtime` and `metrics` must outlive this.
  // `max_waiting`: the limit in the engine's options.
  EngineService(Runtime& runtime, trace::Metrics& metrics, ServiceNames names, int max_waiting);

  server::ModelCard model() const override { return card_; }
  int vocab_size() const override;
  int max_request_tokens() const override;
  std::size_t longest_token_bytes() const override { return longest_token_bytes_; }
  std::vector<server::TokenId> tokenize(const std::vector<server::TextPart>& parts,
                                        const server::TokenizeOptions& options) const override;
  std::vector<server::TokenId> tokenize_chat(server::Conversation conversation) const override;
  bool chat_template_reads(std::string_view name) const override;
  std::string token_bytes(server::TokenId id) const override;
  std::string detokenize(const std::vector<server::TokenId>& ids) const override;
  int max_waiting() const override { return max_waiting_; }
  int retry_after_seconds() const override;
  server::SubmitResult submit(std::vector<server::Submission> choices) override;
  server::SubmitStatus admission(const std::string& caller) const override;
  void cancel(server::GenerationId id) override;
  bool healthy() const override;
  std::chrono::milliseconds heartbeat_age() const override;
  std::vector<std::string> lost_devices() const override;
  std::string metrics_text() const override;
  std::string status_json() const override;
  std::string sequences_json() const override;
  std::string card_reports_json() const override { return apps::card_reports_json(); }

 private:
  Runtime& runtime_;
  trace::Metrics& metrics_;
  server::ModelCard card_;
  std::size_t longest_token_bytes_;
  const int max_waiting_;
  // shared with the sinks of requests, which may outlive this object
  std::shared_ptr<server::QueuePace> pace_ = std::make_shared<server::QueuePace>();
};

// The error text for a chat template that cannot be used. Call it only if chat_template_error() has
// a reason.
std::string unusable_template(const model::Model& model);

// Renders a conversation with the model's template and encodes it. Errors: Error("chat", ...) if
// the model has no template, ChatTemplateError if it cannot be used.
std::vector<model::TokenId> encode_chat(const model::Model& model,
                                        std::span<const model::ChatMessage> messages);

}  // namespace tandem::apps
