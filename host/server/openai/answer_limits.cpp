// SPDX-License-Identifier: Apache-2.0
//
// Estimates bytes by the size of each kind of entry in JSON.
#include "server/openai/answer_limits.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "common/counted.h"
#include "server/openai/api_error.h"

namespace tandem::server::openai {
namespace {

constexpr std::uint64_t kTextBytes = 8;          // of a token
constexpr std::uint64_t kChatEntryBytes = 96;    // a token or alternative with its bytes
constexpr std::uint64_t kPromptEntryBytes = 48;  // a token or alternative of a completion

std::uint64_t entry_bytes(const GenerationPlan& plan) {
  return plan.kind == AnswerKind::kChat ? kChatEntryBytes : kPromptEntryBytes;
}

struct Size {
  std::uint64_t choices = 0, tokens = 0, entries = 0;  // entries: log-probabilities per token
  std::uint64_t echoed_bytes = 0;                      // per choice
  std::uint64_t bytes = 0;
};

Size size_of(const GenerationPlan& plan) {
  Size size;
  size.choices = plan.num_choices();
  const auto n = static_cast<std::uint64_t>(plan.choices_per_prompt);
  for (const PlannedPrompt& prompt : plan.prompts) {
    const auto tokens = static_cast<std::uint64_t>(prompt.request.max_tokens);
    const std::uint64_t entries =
        plan.logprobs ? 1 + static_cast<std::uint64_t>(prompt.request.top_logprobs.value_or(0)) : 0;
    std::uint64_t echoed = prompt.echo.size();
    if (prompt.echo_logprobs) echoed += prompt.request.prompt.size() * entries * kPromptEntryBytes;
    const std::uint64_t generated =
        plan.stream ? 0 : tokens * (kTextBytes + entries * entry_bytes(plan));
    size.tokens = std::max(size.tokens, tokens);
    size.entries = std::max(size.entries, entries);
    size.echoed_bytes = std::max(size.echoed_bytes, echoed);
    size.bytes += n * (generated + echoed);
  }
  return size;
}

}  // namespace

void limit_tokens(GenerationPlan& plan, const RequestLimits& limits, bool asked) {
  if (limits.max_tokens <= 0) return;
  const auto choices = static_cast<std::int64_t>(plan.num_choices());
  const std::int64_t each = limits.max_tokens / choices;
  for (PlannedPrompt& prompt : plan.prompts) {
    const std::int64_t wanted = prompt.request.max_tokens;
    if (wanted <= each) continue;
    if (!asked && each > 0) {
      prompt.request.max_tokens = static_cast<int>(each);
      continue;
    }
    const std::int64_t least = asked ? wanted : 1;
    throw ApiError(400,
                   "the request asks for " + counted(choices, "choice") + " x " +
                       counted(least, "token") + " = " + counted(choices * least, "token") +
                       ", but this server generates at most " + std::to_string(limits.max_tokens) +
                       " per request; lower n or max_tokens",
                   asked ? "max_tokens" : "n", "too_many_tokens");
  }
}

void limit_bytes(const GenerationPlan& plan, const RequestLimits& limits) {
  const Size size = size_of(plan);
  if (size.bytes <= limits.max_answer_bytes) return;
  std::string made = counted(size.choices, "choice");
  if (!plan.stream) made += " x " + counted(size.tokens, "token");
  if (!plan.stream && size.entries > 0) {
    made += " x " + std::to_string(size.entries) +
            (size.entries == 1 ? " log-probability" : " log-probabilities");
  }
  if (size.echoed_bytes > 0) {
    made += ", each with an echo of " + counted(size.echoed_bytes, "byte");
  }
  throw ApiError(400,
                 "the answer may take " + std::to_string(size.bytes) + " bytes (" + made +
                     "), but this server holds at most " + std::to_string(limits.max_answer_bytes) +
                     "; lower n, max_tokens or the log-probabilities" +
                     (plan.stream ? ", or leave out echo" : ", or use stream: true"),
                 "", "answer_too_large");
}

}  // namespace tandem::server::openai
