// SPDX-License-Identifier: Apache-2.0
//
// AnswerBuilder: writes the answer of one request from the events of its choices, as they arrive.
//
// In a stream each event is written at once. A plain answer is collected as JSON text, not as a
// tree. Its size in bytes is limited, because the length of the generated text is not known in
// advance. Threads: one at a time. Errors: ApiError if a choice has failed or the limit is
// exceeded. Ownership: borrows the plan.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/generation_service.h"
#include "server/openai/answer_memory.h"
#include "server/openai/generation_plan.h"
#include "server/openai/logprobs.h"

namespace tandem::server::openai {

class AnswerBuilder {
 public:
  AnswerBuilder(const GenerationService& service, const GenerationPlan& plan,
                std::size_t max_plain_bytes, std::shared_ptr<AnswerMemory> memory);

  // Appends the start of a stream, before anything is generated.
  void append_opening(std::string& out) const;

  // Appends the event to a stream; only stores it for a plain answer.
  void take(std::size_t choice, GenerationEvent& event, std::string& out);

  // Ends the unfinished choices with what they have (finish_reason "length").
  void cut_short(std::string& out);

  bool complete() const { return num_unfinished_ == 0; }
  bool has_output() const { return has_output_; }

  // Call it once complete: appends the rest of a stream, or the whole plain answer.
  void append_end(std::string& out);
  std::string whole();

  // Gives away the share of the memory for answers that the plain answer occupies: it is free again
  // when this is destroyed, however long the builder lives.
  std::shared_ptr<const void> take_held() { return std::move(share_); }

 private:
  struct Choice {
    bool finished = false;
    bool echoed = false;
    AnswerPiece piece;  // the answer so far, if it is not streamed
    std::unique_ptr<ChatLogprobs> chat_logprobs;
    std::unique_ptr<CompletionLogprobs> completion_logprobs;
    std::size_t bytes = 0;  // bytes of piece and log-probabilities
    int completion_tokens = 0, cached_tokens = 0;
  };

  void echo(std::size_t index, const GenerationEvent& event, AnswerPiece& piece);
  void add_logprobs(Choice& choice, const std::vector<OutputToken>& tokens);
  void take_logprobs(Choice& choice, AnswerPiece& piece);
  void keep(Choice& choice, AnswerPiece piece);
  Usage usage() const;

  const GenerationPlan& plan_;
  const std::size_t max_plain_bytes_;
  std::shared_ptr<AnswerMemory::Share> share_;
  AnswerFormat format_;
  std::vector<Choice> choices_;
  std::size_t num_unfinished_;
  std::size_t bytes_ = 0;
  bool has_output_ = false;
  int num_prompt_tokens_ = 0;
};

}  // namespace tandem::server::openai
