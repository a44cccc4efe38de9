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
#include "model/chat/raw_prompt.h"

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

// `advice`: what else the caller can do when there is no usable template.
model::ChatPrompt rendered(const model::Model& model, std::span<const model::ChatMessage> messages,
                           const model::ChatInputs& inputs, const std::string& advice) {
  if (model.chat_template() != nullptr) {
    return model::render_chat(model.tokenizer(), *model.chat_template(), messages, inputs);
  }
  if (!model.chat_template_error().empty()) {
    throw model::ChatTemplateError("chat", unusable_template(model) + "; " + advice);
  }
  throw Error("chat", "model '" + model.config().name + "' has no chat template; " + advice);
}

// Attention units and the compute device that are lost.
std::vector<std::string> lost_of(const engine::EngineStatus& status) {
  std::vector<std::string> lost = status.lost_units();
  if (!status.lost_compute_id.empty()) lost.push_back(status.lost_compute_id);
  return lost;
}

// A template at fault becomes the server's own kind of error.
model::ChatPrompt rendered_for_client(const model::Model& model,
                                      server::Conversation conversation) {
  const model::ChatInputs inputs = chat_inputs(conversation);
  const auto messages = model_messages(std::move(conversation.messages));
  try {
    return rendered(model, messages, inputs, "use a completion with a plain prompt");
  } catch (const model::ChatTemplateError& error) {
    throw server::ChatTemplateFault(error.what());
  }
}

}  // namespace

std::string unusable_template(const model::Model& model) {
  std::string reason = model.chat_template_error();
  if (reason.starts_with('[')) reason.erase(0, reason.find(' ') + 1);  // the module's name
  return "the chat template of model '" + model.config().name + "' cannot be used: " + reason;
}

std::vector<model::TokenId> encode_chat(const model::Model& model,
                                        std::span<const model::ChatMessage> messages) {
  const std::string advice = "leave out --chat to complete a plain prompt";
  return model::encode_chat(model.tokenizer(), rendered(model, messages, {}, advice));
}

EngineService::EngineService(Runtime& runtime, trace::Metrics& metrics, ServiceNames names,
                             int max_waiting)
    : runtime_(runtime),
      metrics_(metrics),
      card_{std::move(names.id), static_cast<std::int64_t>(std::time(nullptr)),
            runtime.engine().max_request_tokens(), std::move(names.aliases)},
      longest_token_bytes_(longest_token(runtime.model().tokenizer())),
      max_waiting_(max_waiting) {}

int EngineService::vocab_size() const { return runtime_.model().config().vocab_size; }

int EngineService::max_request_tokens() const { return runtime_.engine().max_request_tokens(); }

std::vector<server::TokenId> EngineService::tokenize(const std::vector<server::TextPart>& parts,
                                                     const server::TokenizeOptions& options) const {
  std::vector<model::PromptPart> prompt;
  for (const server::TextPart& part : parts) prompt.push_back({part.text, part.parse_special});
  std::vector<server::TokenId> ids =
      model::encode_parts(runtime_.model().tokenizer(), prompt,
                          {.add_special = options.add_special, .max_tokens = options.max_tokens});
  if (ids.size() > options.max_tokens) throw server::PromptTooLong(ids.size());
  return ids;
}

std::vector<server::TokenId> EngineService::tokenize_chat(server::Conversation conversation) const {
  const model::ChatPrompt prompt = rendered_for_client(runtime_.model(), std::move(conversation));
  const std::size_t at_least =
      (prompt.text_bytes() + longest_token_bytes_ - 1) / longest_token_bytes_;
  const auto most = static_cast<std::size_t>(max_request_tokens());
  if (at_least > most) throw server::PromptTooLong(at_least);
  const std::size_t counted = most + server::kTokensCountedBeyond;
  std::vector<server::TokenId> ids =
      model::encode_chat(runtime_.model().tokenizer(), prompt, counted);
  if (ids.size() > counted) throw server::PromptTooLong(ids.size());
  return ids;
}

// Without a template a chat is refused anyway.
bool EngineService::chat_template_reads(std::string_view name) const {
  const model::ChatTemplate* chat_template = runtime_.model().chat_template();
  return chat_template == nullptr || chat_template->reads(name);
}

std::string EngineService::token_bytes(server::TokenId id) const {
  return std::string(runtime_.model().tokenizer().token_bytes(id));
}

std::string EngineService::detokenize(const std::vector<server::TokenId>& ids) const {
  const model::Tokenizer& tokenizer = runtime_.model().tokenizer();
  const bool has_bos = !ids.empty() && ids.front() == tokenizer.bos();
  model::Detokenizer detokenizer(tokenizer, true);
  std::string text;
  for (std::size_t i = has_bos ? 1 : 0; i < ids.size(); ++i) {
    if (tokenizer.is_control(ids[i])) {
      text += detokenizer.finish();
      text += tokenizer.token_bytes(ids[i]);
    } else {
      text += detokenizer.push(ids[i]);
    }
  }
  return text + detokenizer.finish();
}

int EngineService::retry_after_seconds() const {
  return pace_->seconds_for(runtime_.engine().status().waiting);
}

server::SubmitResult EngineService::submit(std::vector<server::Submission> choices) {
  std::vector<engine::Submission> submissions;
  for (auto& [request, sink] : choices) {
    const bool with_tokens = request.top_logprobs.has_value();
    auto engine_sink = [sink = std::move(sink), with_tokens,
                        pace = pace_](engine::RequestEvent event) {
      if (event.finish) pace->count_end();
      sink(server_event(std::move(event), with_tokens));
    };
    submissions.push_back({engine_request(std::move(request)), std::move(engine_sink)});
  }
  return server::submit_counted(*pace_, static_cast<int>(choices.size()), [&] {
    return server_result(runtime_.engine().submit_all(std::move(submissions)));
  });
}

server::SubmitStatus EngineService::admission(const std::string& caller) const {
  return server_status(runtime_.engine().admission(caller));
}

void EngineService::cancel(server::GenerationId id) { runtime_.engine().cancel(id); }

bool EngineService::healthy() const {
  const engine::EngineStatus status = runtime_.engine().status();
  return !status.broken && !status.draining;
}

std::chrono::milliseconds EngineService::heartbeat_age() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(runtime_.engine().heartbeat_age());
}

std::vector<std::string> EngineService::lost_devices() const {
  return lost_of(runtime_.engine().status());
}

std::string EngineService::metrics_text() const { return metrics_.text(); }

std::string EngineService::status_json() const {
  const engine::EngineStatus status = runtime_.engine().status();
  const std::vector<std::string> lost = lost_of(status);
  const nlohmann::json result = {
      {"model", card_.id},
      {"broken", status.broken},
      {"degraded", !lost.empty()},
      {"lost_devices", lost},
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
      {"parked_sequences", status.parked_sequences},
      {"restored_tokens", status.restored_tokens},
      {"parked_bytes", status.parked_bytes},
      {"refused_steps", status.refused_steps},
      {"interrupted_steps", status.interrupted_steps},
      {"draft_tokens", status.speculation.drafted},
      {"accepted_draft_tokens", status.speculation.accepted},
      {"lost_compute", status.lost_compute_id},
      {"plan", plan_json(status.plan)},
      {"devices", ran_where_json(status, runtime_.model().config(), runtime_.memory_speeds())}};
  return result.dump();
}

std::string EngineService::sequences_json() const {
  nlohmann::json units = nlohmann::json::array();
  for (const engine::UnitStatus& unit : runtime_.engine().status().units) units.push_back(unit.id);
  nlohmann::json list = nlohmann::json::array();
  for (const engine::SequenceStatus& sequence : runtime_.engine().sequences()) {
    list.push_back(sequence_json(sequence));
  }
  return nlohmann::json{{"units", std::move(units)}, {"requests", std::move(list)}}.dump();
}

}  // namespace tandem::apps
