// SPDX-License-Identifier: Apache-2.0
//
// AnswerMemory: limits the memory of all answers without streaming, from their first token until
// their clients have taken them. Clients that read slowly or not at all therefore cannot fill the
// memory, however many there are. Small answers do not count. Units: bytes. Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace tandem::server::openai {

class AnswerMemory {
 public:
  explicit AnswerMemory(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // The share of one answer; releases its bytes when destroyed. Threads: one at a time.
  class Share {
   public:
    explicit Share(std::shared_ptr<AnswerMemory> memory) : memory_(std::move(memory)) {}
    ~Share() { memory_->held_ -= counted_; }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Sets the answer's size to `bytes`. Throws ApiError 503 if there is no room.
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
