// SPDX-License-Identifier: Apache-2.0
//
// Calls the service without holding the lock.
#include "server/openai/submissions.h"

namespace tandem::server::openai {

void Submissions::add(std::size_t choice, GenerationId id) {
  {
    const std::lock_guard lock(mutex_);
    if (!cancelled_) {
      unfinished_.push_back({choice, id});
      return;
    }
  }
  service_.cancel(id);
}

void Submissions::finished(std::size_t choice) {
  const std::lock_guard lock(mutex_);
  std::erase_if(unfinished_, [&](const Unfinished& one) { return one.choice == choice; });
}

void Submissions::cancel_all() {
  std::vector<Unfinished> cancelled;
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    cancelled.swap(unfinished_);
  }
  for (const Unfinished& one : cancelled) service_.cancel(one.id);
}

}  // namespace tandem::server::openai
