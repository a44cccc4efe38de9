// SPDX-License-Identifier: Apache-2.0
//
// Submissions: the unfinished generations of one request. The destructor cancels them. Threads:
// any.
#pragma once

#include <mutex>
#include <vector>

#include "server/generation_service.h"

namespace tandem::server::openai {

class Submissions {
 public:
  explicit Submissions(GenerationService& service) : service_(service) {}
  ~Submissions() { cancel_all(); }
  Submissions(const Submissions&) = delete;
  Submissions& operator=(const Submissions&) = delete;

  // Adds the accepted generation of this choice. After cancel_all() it is cancelled at once.
  void add(std::size_t choice, GenerationId id);
  void finished(std::size_t choice);
  void cancel_all();

 private:
  struct Unfinished {
    std::size_t choice;
    GenerationId id;
  };

  GenerationService& service_;
  std::mutex mutex_;
  std::vector<Unfinished> unfinished_;
  bool cancelled_ = false;
};

}  // namespace tandem::server::openai
