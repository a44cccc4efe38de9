// SPDX-License-Identifier: Apache-2.0
//
// EngineService: the server's GenerationService over a Runtime. Threads: as the interface says.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/runtime.h"
#include "server/generation_service.h"

namespace tandem::apps {

class EngineService final : public server::GenerationService {
 public:
  // `model_id` is the name clients use; `runtime` and `metrics` must outlive this.
  EngineService(Runtime& runtime, trace::Metrics& metrics, std::string model_id);

  server::ModelCard model() const override { return card_; }
  int vocab_size() const override;
  int max_request_tokens() const override;
  std::size_t longest_token_bytes() const override { return longest_token_bytes_; }
  std::vector<server::TokenId> tokenize(std::string_view text) const override;
  std::vector<server::TokenId> tokenize_chat(
      std::vector<server::ChatMessage> messages) const override;
  std::string token_bytes(server::TokenId id) const override;
  server::SubmitResult submit(server::GenerationRequest request, server::EventSink sink) override;
  void cancel(server::GenerationId id) override;
  bool healthy() const override;
  std::vector<std::string> lost_devices() const override;
  std::string metrics_text() const override;
  std::string status_json() const override;

 private:
  Runtime& runtime_;
  trace::Metrics& metrics_;
  server::ModelCard card_;
  std::size_t longest_token_bytes_;
};

// Renders a conversation with the model's template and encodes it; Error("chat", ...) when it has
// none.
std::vector<model::TokenId> encode_chat(const model::Model& model,
                                        std::span<const model::ChatMessage> messages);

}  // namespace tandem::apps
