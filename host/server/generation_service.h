// SPDX-License-Identifier: Apache-2.0
//
// GenerationService: the contract between the server and the component that generates text.
// Requests go in, events come out; both are plain structs of the server, so it knows no engine,
// model or device type.
//
// The daemon implements it over its engine (apps/serve/engine_service.h); tests implement it with a
// fake. Threads: every call comes from any thread. An event sink is called on the service's own
// thread, in order for each request, and must not block. Errors: each call states its own;
// metrics_text() and those that end in _json() do not throw.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::server {

using TokenId = std::int32_t;

struct ModelCard {
  std::string id;            // the name in /v1/models
  std::int64_t created = 0;  // Unix seconds
  int context_length = 0;
  std::vector<std::string> aliases = {};  // other names that clients may use
};

// A part of a raw prompt. With special tokens, text such as "</s>" is a control token; otherwise it
// is ordinary text.
struct TextPart {
  std::string text;
  bool parse_special = true;
};

struct TokenizeOptions {
  bool add_special = true;                                           // BOS, if the model has one
  std::size_t max_tokens = std::numeric_limits<std::size_t>::max();  // PromptTooLong beyond
};

struct ChatMessage {
  std::string role;  // "system", "user", "assistant", "tool"
  std::string content;
  // The other fields of the message (tool_calls, tool_call_id, name) as a JSON object. A "content"
  // in it (null) replaces the text above. Empty: no other fields.
  std::string fields = {};
};

// The inputs of a chat template. The texts are JSON; empty: none.
struct Conversation {
  std::vector<ChatMessage> messages;
  std::string tools = {};      // an array
  std::string variables = {};  // an object of further names, such as enable_thinking
};

// How the next token is drawn. The defaults change nothing: a draw from the model's distribution.
struct Sampling {
  float temperature = 1.0f;  // 0: greedy
  int top_k = 0;             // 0: off
  float top_p = 1.0f;        // 1: off
  float min_p = 0.0f;        // 0: off
  float repetition_penalty = 1.0f;
  float presence_penalty = 0.0f;
  float frequency_penalty = 0.0f;
  std::vector<std::pair<TokenId, float>> logit_bias;  // -100..100; -100 bans the token
  std::optional<std::uint64_t> seed;                  // none: a random one
};

// Priorities are -kWorstPriority to kWorstPriority.
inline constexpr int kWorstPriority = 1'000'000;

struct GenerationRequest {
  std::vector<TokenId> prompt;  // at least one token
  Sampling sampling;
  int max_tokens = 16;
  std::vector<std::string> stop;     // texts; the answer does not contain them
  std::vector<TokenId> stop_tokens;  // besides the model's end-of-generation tokens
  bool ignore_eos = false;           // end-of-generation tokens are ordinary
  std::optional<int> top_logprobs;   // alternatives per token; none: events carry no tokens
  bool prompt_logprobs = false;      // scores every prompt token but the first, too
  bool continues_text = true;        // false: the output starts a separate text (chat)
  std::string
      caller;  // name of the API key; identifies the caller for fair shares and cached prefixes
  int priority = 0;  // among the requests of the caller: the lower, the earlier
};

enum class FinishReason { kStop, kLength, kCancelled, kError };

struct TokenLogprob {
  TokenId id = 0;
  float logprob = 0;
};

struct OutputToken {
  TokenId id = 0;
  float logprob = 0;
  std::vector<TokenLogprob> top;  // the most likely, best first
};

struct GenerationEvent {
  std::string text;                    // new text, whole UTF-8 sequences
  std::vector<OutputToken> tokens;     // new tokens, where the request has top_logprobs
  std::vector<float> prompt_logprobs;  // once, with the first event
  std::vector<std::vector<TokenLogprob>> prompt_top;  // with them, where top_logprobs > 0
  std::optional<FinishReason> finish;                 // with the last event
  std::string error;                                  // with kError
  int prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0;
  double queue_seconds = 0;  // from submit() to the first step, with `finish`
};

using EventSink = std::function<void(GenerationEvent)>;

using GenerationId = std::uint64_t;

enum class SubmitStatus { kAccepted, kQueueFull, kStopping };

// One of the choices of a client's request.
struct Submission {
  GenerationRequest request;
  EventSink sink;
};

struct SubmitResult {
  SubmitStatus status = SubmitStatus::kAccepted;
  std::vector<GenerationId> ids = {};  // one per choice, in their order; empty unless accepted
};

// Tokenising continues for this many tokens beyond the limit, so that errors can state the length
// of a prompt that is slightly too long.
constexpr std::size_t kTokensCountedBeyond = 4096;

// The prompt does not fit into a request. Tokenising stopped early, so its exact length may be
// unknown.
struct PromptTooLong : std::runtime_error {
  explicit PromptTooLong(std::size_t at_least)
      : std::runtime_error("the prompt is too long"), at_least_tokens(at_least) {}
  std::size_t at_least_tokens;
};

// The model's chat template is unusable: an error of the served model, not of the request.
struct ChatTemplateFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class GenerationService {
 public:
  virtual ~GenerationService() = default;

  virtual ModelCard model() const = 0;
  virtual int vocab_size() const = 0;

  // The longest prompt + output of one request, in tokens.
  virtual int max_request_tokens() const = 0;

  // The maximum bytes of text in one token. The length of a text then shows that it cannot fit. 0:
  // unknown.
  virtual std::size_t longest_token_bytes() const { return 0; }

  // The parts form one text. Throws PromptTooLong when max_tokens is exceeded, and Error if the
  // text cannot be encoded.
  virtual std::vector<TokenId> tokenize(const std::vector<TextPart>& parts,
                                        const TokenizeOptions& options) const = 0;

  // Throws Error("chat", ...) if the model has no template or the template refuses the
  // conversation; ChatTemplateFault if the template is unusable; PromptTooLong if the rendered text
  // cannot fit.
  virtual std::vector<TokenId> tokenize_chat(Conversation conversation) const = 0;

  // Whether the chat template reads this variable or field. Other fields have no effect.
  virtual bool chat_template_reads(std::string_view /*name*/) const { return true; }

  virtual std::string token_bytes(TokenId id) const = 0;

  // The text of these tokens. Leaves out a BOS at the front; other control tokens appear as text.
  virtual std::string detokenize(const std::vector<TokenId>& ids) const = 0;

  // Accepts all choices of a request (at least one, of one caller), or none. Throws Error when one
  // can never be served: a field is out of range, or it is too long.
  virtual SubmitResult submit(std::vector<Submission> choices) = 0;

  // The status that submit() would return now for a request of this caller, of any size.
  virtual SubmitStatus admission(const std::string& /*caller*/) const {
    return SubmitStatus::kAccepted;
  }

  // The maximum number of waiting generations. A request with more is never admitted.
  virtual int max_waiting() const { return std::numeric_limits<int>::max(); }

  // The Retry-After for a client that was refused because the queue is full.
  virtual int retry_after_seconds() const { return 1; }

  // The sink gets kCancelled. Unknown and finished ids are ignored.
  virtual void cancel(GenerationId id) = 0;

  virtual bool healthy() const = 0;

  // The age of the last iteration of the service's thread. It grows while the thread runs one step
  // or hangs; it stays small while the service waits for work.
  virtual std::chrono::milliseconds heartbeat_age() const { return {}; }

  // The devices that are lost while other devices still serve.
  virtual std::vector<std::string> lost_devices() const { return {}; }
  virtual std::string metrics_text() const = 0;  // Prometheus text exposition format 0.0.4

  // What runs where, as a JSON object, for GET /status.
  virtual std::string status_json() const { return "{}"; }

  // The state of each request and the places of its pages, as a JSON object.
  virtual std::string sequences_json() const { return "{}"; }

  // The findings of emulated cards in kernels, as a JSON object.
  virtual std::string card_reports_json() const { return "{}"; }
};

}  // namespace tandem::server
