// SPDX-License-Identifier: Apache-2.0
//
// The plain structs between the front (server, command line) and the engine's thread.
//
// A Request is submitted. Its RequestEvents are passed to its sink, in order; the last one has
// `finish`. Threads: plain data. The sink is called on the engine's thread and must not block: post
// to your own queue.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/sampler/sampler.h"

namespace tandem::engine {

using RequestId = std::uint64_t;

struct Request {
  std::vector<model::TokenId> prompt;  // at least one token
  model::SamplingParams sampling;
  int max_tokens = 16;
  std::vector<std::string> stop;            // texts; the stop text itself is not returned
  std::vector<model::TokenId> stop_tokens;  // besides the model's end-of-generation tokens
  bool ignore_eos = false;  // end-of-generation tokens are ordinary (stop_tokens still stop)
  // Number of alternatives per token, 0..20. Empty: the tokens' own log-probabilities are not
  // returned either.
  std::optional<int> top_logprobs;
  // Also the log-probability of every prompt token but the first, and its alternatives.
  bool prompt_logprobs = false;
  bool continues_text = true;  // output follows the prompt's text (else it starts a text: chat)
  std::string caller;          // the client's name, for fair shares of rows and for cached prefixes
  int priority = 0;            // among the requests of the caller: the lower, the earlier
};

enum class FinishReason { kStop, kLength, kCancelled, kError };

struct TokenOutput {
  model::TokenId id = model::kNoToken;
  float logprob = 0;
  std::vector<model::TokenLogprob> top;
};

struct RequestTimes {  // seconds
  double queued = 0;   // submit to first scheduled
  double prefill = 0;  // first scheduled to first token
  double decode = 0;   // first token to last
  double time_to_first_token = 0;
};

struct RequestEvent {
  RequestId id = 0;
  std::string text;                    // new text, whole UTF-8 sequences
  std::vector<TokenOutput> tokens;     // new tokens; a token may come before its text is complete
  std::vector<float> prompt_logprobs;  // once, with the first event, if requested
  // with prompt_logprobs, where top_logprobs > 0: the most likely tokens of each place, best first
  std::vector<std::vector<model::TokenLogprob>> prompt_top;
  std::optional<FinishReason> finish;
  std::string stop_text;  // the stop text that ended it, if one did
  std::string error;      // with kError
  int prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0;
  RequestTimes times;  // complete once `finish` is set
};

using EventSink = std::function<void(RequestEvent)>;

enum class SubmitStatus { kAccepted, kQueueFull, kStopping };

struct SubmitResult {
  SubmitStatus status = SubmitStatus::kAccepted;
  RequestId id = 0;
};

struct Submission {
  Request request;
  EventSink sink;
};

struct SubmitAllResult {
  SubmitStatus status = SubmitStatus::kAccepted;
  std::vector<RequestId> ids;  // one per request, in their order; empty unless accepted
};

}  // namespace tandem::engine
