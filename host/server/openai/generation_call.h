// SPDX-License-Identifier: Apache-2.0
//
// GenerationCall: one API request in progress. It submits the choices to the service and merges
// their events into one answer or one stream.
//
// Threads: all on the connection's strand; the sinks of the service only post there. Ownership: the
// exchange keeps the call until it is answered or abandoned. Sinks hold it weakly, so that they may
// outlive it and the server. Errors: when one submission is refused or fails, the others are
// cancelled. The client gets an HTTP status, or an error event if the stream has begun.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/access/request_record.h"
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
  bool scores_only = false;    // no output: the one token that the service generates is dropped
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
  // Submits all choices and keeps itself on the exchange. When one is refused, cancels the others
  // and throws ApiError (429, 503, 400).
  static void start(http::Exchange& exchange, GenerationService& service, GenerationPlan plan);

  GenerationCall(http::Exchange& exchange, GenerationService& service, GenerationPlan plan);
  void abandon() override;

 private:
  struct Choice {
    GenerationId id = 0;
    bool submitted = false;
    bool finished = false;
    bool echoed = false;
    int counted_tokens = 0;  // in the record
    AnswerPiece whole;       // the answer so far, where it is not streamed
    std::vector<OutputToken> tokens;
    std::unique_ptr<CompletionLogprobs> completion_logprobs;
  };

  void submit_all();
  void on_event(std::size_t index, GenerationEvent event);
  void take_piece(std::size_t index, GenerationEvent& event);
  nlohmann::ordered_json logprobs_of(Choice& choice) const;
  void note_progress(std::size_t index, const GenerationEvent& event);
  void count_usage(std::size_t index, const GenerationEvent& event);
  void finish();
  void fail(const ApiError& error);
  void cancel_unfinished();

  http::Exchange& exchange_;
  GenerationService& service_;
  const std::shared_ptr<RequestRecord> record_;
  GenerationPlan plan_;
  AnswerFormat format_;
  std::vector<Choice> choices_;
  std::size_t num_unfinished_ = 0;
  Usage usage_;
  bool over_ = false;  // answered, failed or abandoned
};

}  // namespace tandem::server::openai
