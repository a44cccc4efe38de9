// SPDX-License-Identifier: Apache-2.0
//
// GenerationPlan: one API request, checked and tokenised, before submission. Plain data.
#pragma once

#include <string>
#include <vector>

#include "server/generation_service.h"
#include "server/openai/answer_format.h"

namespace tandem::server::openai {

struct PlannedPrompt {
  GenerationRequest request;   // for all choices; choice i draws with seed + i
  std::string echo;            // text put before the output
  bool echo_logprobs = false;  // also echo the prompt's log-probabilities
  bool scores_only = false;    // no output: the one token that the service generates is dropped
};

struct GenerationPlan {
  AnswerKind kind = AnswerKind::kCompletion;
  std::vector<PlannedPrompt> prompts;
  int choices_per_prompt = 1;
  bool stream = false;
  bool include_usage = false;
  bool logprobs = false;
  std::string warning;  // for the header of the answer; empty: none

  std::size_t num_choices() const {
    return prompts.size() * static_cast<std::size_t>(choices_per_prompt);
  }
  // Choices are numbered prompt by prompt.
  std::size_t prompt_of(std::size_t choice) const {
    return choice / static_cast<std::size_t>(choices_per_prompt);
  }
  bool is_first_of_prompt(std::size_t choice) const {
    return choice % static_cast<std::size_t>(choices_per_prompt) == 0;
  }
};

}  // namespace tandem::server::openai
