// SPDX-License-Identifier: Apache-2.0
//
// GenerationCall: one API request in progress: its submissions to the service, and their events
// merged into one answer or one stream.
//
// Threads: everything on the connection's strand; the sinks given to the service only post there.
// Ownership: kept by the exchange until answered or abandoned; sinks hold it weakly, so that they
// may outlive it and the server. Errors: a submission that is refused or fails cancels the others;
// before a stream has begun that is an HTTP status, afterwards an error event.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/generation_service.h"
#include "server/http/exchange.h"
#include "server/openai/answer_format.h"
#include "server/openai/api_error.h"
#include "server/openai/logprobs.h"

namespace tandem::server::openai {

struct PlannedChoice {
  GenerationRequest request;
  std::string echo;            // text put before the output
  bool echo_logprobs = false;  // and the log-probabilities of the prompt
  bool scores_only = false;    // no output wanted; the one token the engine must make is dropped
};

struct GenerationPlan {
  AnswerKind kind = AnswerKind::kCompletion;
  std::vector<PlannedChoice> choices;  // prompt by prompt
  int choices_per_prompt = 1;
  bool stream = false;
  bool include_usage = false;
  bool logprobs = false;
};

class GenerationCall final : public http::PendingAnswer,
                             public std::enable_shared_from_this<GenerationCall> {
 public:
  // Submits all choices and keeps itself on the exchange. Throws ApiError (429, 503, 400) when one
  // is refused; the others are then cancelled.
  static void start(http::Exchange& exchange, GenerationService& service, GenerationPlan plan);

  GenerationCall(http::Exchange& exchange, GenerationService& service, GenerationPlan plan);
  void abandon() override;

 private:
  struct Choice {
    GenerationId id = 0;
    bool submitted = false;
    bool finished = false;
    bool echoed = false;
    AnswerPiece whole;  // what a plain answer has gathered
    std::vector<OutputToken> tokens;
    std::unique_ptr<CompletionLogprobs> completion_logprobs;
  };

  void submit_all();
  void on_event(std::size_t index, GenerationEvent event);
  void take_piece(std::size_t index, GenerationEvent& event);
  nlohmann::ordered_json logprobs_of(Choice& choice) const;
  void count_usage(std::size_t index, const GenerationEvent& event);
  void finish();
  void fail(const ApiError& error);
  void cancel_unfinished();

  http::Exchange& exchange_;
  GenerationService& service_;
  GenerationPlan plan_;
  AnswerFormat format_;
  std::vector<Choice> choices_;
  std::size_t num_unfinished_ = 0;
  Usage usage_;
  bool over_ = false;  // answered, failed or abandoned
};

}  // namespace tandem::server::openai
