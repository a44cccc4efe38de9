// SPDX-License-Identifier: Apache-2.0
//
// One atomic sum.
#include "server/openai/answer_memory.h"

#include <string>

#include "server/openai/api_error.h"

namespace tandem::server::openai {
namespace {

constexpr std::size_t kSmallBytes = 64 * 1024;  // do not count

}  // namespace

void AnswerMemory::Share::hold(std::size_t bytes) {
  const std::size_t counts = bytes <= kSmallBytes ? 0 : bytes;
  if (counts > counted_) {
    const std::size_t more = counts - counted_;
    if (memory_->held_.fetch_add(more) + more > memory_->most_bytes_) {
      memory_->held_ -= more;
      throw ApiError(503,
                     "the answers that clients of this server have not read yet take its " +
                         std::to_string(memory_->most_bytes_) +
                         " bytes for them; try again later, or use stream: true",
                     "", "answers_too_large");
    }
  } else {
    memory_->held_ -= counted_ - counts;
  }
  counted_ = counts;
}

}  // namespace tandem::server::openai
