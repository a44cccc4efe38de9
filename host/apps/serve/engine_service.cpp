// SPDX-License-Identifier: Apache-2.0
//
// The server's contract over model and engine.
#include "apps/serve/engine_service.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "apps/ran_where.h"
#include "apps/serve/service_messages.h"
#include "common/error.h"
#include "model/chat/chat_prompt.h"

namespace tandem::apps {
namespace {

// At least 4: an unknown token may represent one character of 4 bytes.
std::size_t longest_token(const model::Tokenizer& tokenizer) {
  std::size_t longest = 4;
  for (model::TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    longest = std::max(longest, tokenizer.token_bytes(id).size());
  }
  return longest;
}

model::ChatPrompt rendered(const model::Model& model,
                           std::span<const model::ChatMessage> messages) {
  if (model.chat_template() == nullptr) {
    throw Error("chat", "model '" + model.config().name +
                            "' has no chat template; use a completion with a plain prompt");
  }
  return model::render_chat(model.tokenizer(), *model.chat_template(), messages, true);
}

}  // namespace

std::vector<model::TokenId> encode_chat(const model::Model& model,
                                        std::span<const model::ChatMessage> messages) {
  return model::encode_chat(model.tokenizer(), rendered(model, messages));
}

EngineService::EngineService(Runtime& runtime, trace::Metrics& metrics, std::string model_id)
    : runtime_(runtime),
      metrics_(metrics),
      card_{std::move(model_id), static_cast<std::int64_t>(std::time(nullptr)),
            runtime.engine().max_request_tokens()},
      longest_token_bytes_(longest_token(runtime.model().tokenizer())) {}

int EngineService::vocab_size() const { return runtime_.model().config().vocab_size; }

int EngineService::max_request_tokens() const { return runtime_.engine().max_request_tokens(); }

std::vector<server::TokenId> EngineService::tokenize(std::string_view text) const {
  return runtime_.model().tokenizer().encode(text, {.add_special = true, .parse_special = false});
}

std::vector<server::TokenId> EngineService::tokenize_chat(
    std::vector<server::ChatMessage> messages) const {
  const model::ChatPrompt prompt = rendered(runtime_.model(), model_messages(std::move(messages)));
  const std::size_t at_least =
      (prompt.text_bytes() + longest_token_bytes_ - 1) / longest_token_bytes_;
  if (at_least > static_cast<std::size_t>(max_request_tokens())) {
    throw server::PromptTooLong(at_least);
  }
  return model::encode_chat(runtime_.model().tokenizer(), prompt);
}

std::string EngineService::token_bytes(server::TokenId id) const {
  return std::string(runtime_.model().tokenizer().token_bytes(id));
}

server::SubmitResult EngineService::submit(server::GenerationRequest request,
                                           server::EventSink sink) {
  const bool with_tokens = request.top_logprobs.has_value();
  auto engine_sink = [sink = std::move(sink), with_tokens](engine::RequestEvent event) {
    sink(server_event(std::move(event), with_tokens));
  };
  return server_result(
      runtime_.engine().submit(engine_request(std::move(request)), std::move(engine_sink)));
}

void EngineService::cancel(server::GenerationId id) { runtime_.engine().cancel(id); }

bool EngineService::healthy() const {
  const engine::EngineStatus status = runtime_.engine().status();
  return !status.broken && !status.draining;
}

std::vector<std::string> EngineService::lost_devices() const {
  const engine::EngineStatus status = runtime_.engine().status();
  std::vector<std::string> lost = status.lost_units();
  if (!status.lost_compute_id.empty()) lost.push_back(status.lost_compute_id);
  return lost;
}

std::string EngineService::metrics_text() const { return metrics_.text(); }

std::string EngineService::status_json() const {
  const engine::EngineStatus status = runtime_.engine().status();
  const nlohmann::json result = {{"model", card_.id},
                                 {"broken", status.broken},
                                 {"degraded", !lost_devices().empty()},
                                 {"lost_devices", lost_devices()},
                                 {"draining", status.draining},
                                 {"running", status.running},
                                 {"waiting", status.waiting},
                                 {"steps", status.steps},
                                 {"prompt_tokens", status.prompt_tokens},
                                 {"cached_tokens", status.cached_tokens},
                                 {"generated_tokens", status.generated_tokens},
                                 {"preemptions", status.preemptions},
                                 {"rebuilt_sequences", status.rebuilt_sequences},
                                 {"moved_pages", status.moved_pages},
                                 {"refused_steps", status.refused_steps},
                                 {"lost_compute", status.lost_compute_id},
                                 {"devices", ran_where_json(status, runtime_.model().config())}};
  return result.dump();
}

}  // namespace tandem::apps
