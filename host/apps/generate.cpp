// SPDX-License-Identifier: Apache-2.0
//
// `tandem generate`: generates one answer to a prompt, as text or as JSON with the devices that
// ran.
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/command.h"
#include "apps/command_words.h"
#include "apps/ran_where.h"
#include "apps/run_request.h"
#include "apps/runtime.h"
#include "apps/serve/engine_service.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

struct GenerateOptions {
  RuntimeOptions runtime;
  std::string prompt;
  bool chat = false;
  bool as_json = false;
  int max_tokens = 128;
  int top_logprobs = 0;
  bool ignore_eos = false;
  std::vector<std::string> stop;
  model::SamplingParams sampling;
  std::optional<std::uint64_t> seed;
};

struct Answer {
  std::string text;
  std::vector<engine::TokenOutput> tokens;
  engine::RequestEvent last;
};

const char* finish_name(engine::FinishReason reason) {
  switch (reason) {
    case engine::FinishReason::kStop:
      return "stop";
    case engine::FinishReason::kLength:
      return "length";
    case engine::FinishReason::kCancelled:
      return "cancelled";
    case engine::FinishReason::kError:
      return "error";
  }
  return "unknown";
}

// Streams to the terminal after `echo`, which is only shown once the request has been accepted and
// answers.
Answer generate(Runtime& runtime, engine::Request request, bool stream, std::string echo) {
  Answer answer;
  answer.last =
      run_request(runtime.engine(), std::move(request), [&](const engine::RequestEvent& event) {
        if (stream) {
          std::fputs((echo + event.text).c_str(), stdout);
          std::fflush(stdout);
          echo.clear();
        }
        answer.text += event.text;
        answer.tokens.insert(answer.tokens.end(), event.tokens.begin(), event.tokens.end());
      });
  return answer;
}

nlohmann::json answer_json(const Runtime& runtime, const engine::EngineStatus& status,
                           const std::vector<model::TokenId>& prompt, const Answer& answer) {
  nlohmann::json ids = nlohmann::json::array();
  nlohmann::json logprobs = nlohmann::json::array();
  nlohmann::json top =
      nlohmann::json::array();  // one object a token, if alternatives were requested
  for (const engine::TokenOutput& token : answer.tokens) {
    ids.push_back(token.id);
    logprobs.push_back(token.logprob);
    if (token.top.empty()) continue;
    nlohmann::json alternatives = nlohmann::json::object();
    for (const model::TokenLogprob& other : token.top) {
      alternatives[std::to_string(other.id)] = other.logprob;
    }
    top.push_back(std::move(alternatives));
  }
  const engine::RequestEvent& last = answer.last;
  return {{"model", runtime.model().config().name},
          {"text", answer.text},
          {"prompt_ids", prompt},
          {"output_ids", std::move(ids)},
          {"logprobs", std::move(logprobs)},
          {"top_logprobs", std::move(top)},
          {"finish_reason", finish_name(*last.finish)},
          {"seconds",
           {{"queued", last.times.queued},
            {"prefill", last.times.prefill},
            {"decode", last.times.decode},
            {"time_to_first_token", last.times.time_to_first_token}}},
          {"moved_pages", status.moved_pages},
          {"steps", status.steps},
          {"draft_tokens", status.speculation.drafted},
          {"accepted_draft_tokens", status.speculation.accepted},
          {"devices", ran_where_json(status, runtime.model().config(), runtime.memory_speeds())}};
}

void run(const GenerateOptions& options) {
  if (options.as_json && spdlog::get_level() == spdlog::level::info)
    spdlog::set_level(spdlog::level::warn);
  // Refuses bad parameters before anything is loaded.
  [[maybe_unused]] const model::Sampler checked(options.sampling, 1);
  Runtime runtime(options.runtime, nullptr);
  const model::Model& model = runtime.model();
  engine::Request request;
  const model::ChatMessage message{"user", options.prompt};
  request.prompt = options.chat ? encode_chat(model, {&message, 1})
                                : model.tokenizer().encode(options.prompt, {.add_special = true});
  if (request.prompt.empty())
    throw Error("generate", "the prompt has no tokens; give some text with --prompt");
  request.continues_text = !options.chat;
  request.sampling = options.sampling;
  request.sampling.seed = options.seed;
  request.max_tokens = options.max_tokens;
  request.stop = options.stop;
  request.ignore_eos = options.ignore_eos;
  if (options.as_json) request.top_logprobs = options.top_logprobs;
  const std::vector<model::TokenId> prompt = request.prompt;

  const Answer answer = generate(runtime, std::move(request), !options.as_json,
                                 options.chat ? std::string() : options.prompt);
  const engine::EngineStatus status = runtime.engine().status();
  if (options.as_json) {
    // JSON cannot hold bytes that are not UTF-8; the detokeniser has replaced them already.
    fmt::print("{}\n", answer_json(runtime, status, prompt, answer).dump(2));
    return;
  }
  const engine::RequestTimes& times = answer.last.times;
  const auto decoded = static_cast<double>(answer.tokens.empty() ? 0 : answer.tokens.size() - 1);
  fmt::print("\n\n");
  std::fflush(stdout);
  fmt::print(stderr, "{} tokens, first after {:.1f} ms, then {:.1f} tokens/s ({})\n{}",
             answer.tokens.size(), times.time_to_first_token * 1e3,
             times.decode > 0 ? decoded / times.decode : 0.0, finish_name(*answer.last.finish),
             ran_where_table(status, model.config()));
}

}  // namespace

void add_generate(CLI::App& app) {
  CLI::App* command = app.add_subcommand("generate", "Answer one prompt on the terminal");
  auto o = std::make_shared<GenerateOptions>();
  o->sampling.temperature = 0;
  command->add_option("-p,--prompt", o->prompt, "text to continue, or with --chat to answer")
      ->required();
  command->add_flag("--chat", o->chat, "treat the prompt as a user's message");
  command->add_option("-n,--max-tokens", o->max_tokens, "maximum number of tokens of the answer")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_flag("--json", o->as_json, "print one JSON object instead of text");
  command
      ->add_option("--temperature", o->sampling.temperature,
                   "how random the choice of tokens is (0: always the most likely token)")
      ->capture_default_str()
      ->group("Sampling");
  command->add_option("--top-k", o->sampling.top_k, "sample among the k most likely (0: all)")
      ->group("Sampling");
  command
      ->add_option(
          "--top-p", o->sampling.top_p,
          "sample among the most likely tokens whose probabilities add up to this (1: all)")
      ->group("Sampling");
  command
      ->add_option(
          "--min-p", o->sampling.min_p,
          "leave out tokens that are less likely than this share of the most likely one (0: none)")
      ->group("Sampling");
  command
      ->add_option("--repetition-penalty", o->sampling.repetition_penalty,
                   "divide the logits of tokens that occurred before by this (1: no change; above "
                   "1: fewer repetitions)")
      ->group("Sampling");
  command
      ->add_option("--presence-penalty", o->sampling.presence_penalty,
                   "penalty per token used before")
      ->group("Sampling");
  command
      ->add_option("--frequency-penalty", o->sampling.frequency_penalty,
                   "penalty per earlier use of a token")
      ->group("Sampling");
  command->add_option("--seed", o->seed, "makes sampling repeatable")
      ->check(count_value())
      ->group("Sampling");
  command->add_option("--stop", o->stop, "text that ends the answer; may be repeated")
      ->group("Sampling");
  command->add_flag("--ignore-eos", o->ignore_eos, "continue after the end-of-text token")
      ->group("Sampling");
  command->add_option("--top-logprobs", o->top_logprobs, "alternatives to report per token (JSON)")
      ->check(CLI::Range(0, 20))
      ->group("Sampling");
  add_runtime_options(*command, o->runtime);
  command->callback([o] { run(*o); });
}

}  // namespace tandem::apps
