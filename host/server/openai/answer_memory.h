// SPDX-License-Identifier: Apache-2.0
//
// AnswerMemory: a bound on what all answers that are not streamed hold together, from their first
// token until their clients have taken them. So clients that read slowly, or not at all, cannot
// fill the memory however many they are. Small answers do not count. Units: bytes. Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace tandem::server::openai {

class AnswerMemory {
 public:
  explicit AnswerMemory(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // Of one answer; gives its bytes back when it is destroyed. Threads: one at a time.
  class Share {
   public:
    explicit Share(std::shared_ptr<AnswerMemory> memory) : memory_(std::move(memory)) {}
    ~Share() { memory_->held_ -= counted_; }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // The answer has `bytes` now. Throws ApiError 503 where there is no room for more.
    void hold(std::size_t bytes);

   private:
    std::shared_ptr<AnswerMemory> memory_;
    std::size_t counted_ = 0;
  };

 private:
  const std::size_t most_bytes_;
  std::atomic<std::size_t> held_{0};
};

}  // namespace tandem::server::openai
