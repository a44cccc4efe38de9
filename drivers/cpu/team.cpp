// SPDX-License-Identifier: Apache-2.0
//
// Team: one pool part per worker, each taking items from a shared counter.
#include "cpu/team.h"

#include <algorithm>
#include <atomic>

namespace tandem::device::cpu {

void Team::run(std::size_t count,
               const std::function<void(std::size_t item, std::size_t worker)>& body) {
  std::atomic<std::size_t> next{0};
  const std::size_t workers = std::min(count, static_cast<std::size_t>(size()));
  pool_.run(workers, [&](std::size_t worker) {
    for (std::size_t item = next.fetch_add(1); item < count; item = next.fetch_add(1)) {
      body(item, worker);
    }
  });
}

}  // namespace tandem::device::cpu
