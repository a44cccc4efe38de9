// SPDX-License-Identifier: Apache-2.0
//
// A rank that throws aborts its group, so that the others end too.
#include "apps/collectives/simulated_ranks.h"

#include <exception>
#include <thread>
#include <vector>

#include "apps/collectives/launch_ranks.h"
#include "transport/simulated/simulated.h"

namespace tandem::apps {
void run_simulated_ranks(
    const SimulatedLinks& links,
    const std::function<void(collectives::Group& group, const VirtualClock& clock)>& body) {
  transport::simulated::NetworkOptions network;
  network.world = links.world;
  network.bandwidth_bytes_per_s = links.gbit_per_s * 1e9 / 8;
  network.latency_s = links.latency_us * 1e-6;
  auto transports = transport::simulated::make_world(network);
  std::vector<std::exception_ptr> errors(transports.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < transports.size(); ++rank) {
    threads.emplace_back([&errors, &body, rank, own = std::move(transports[rank])]() mutable {
      const transport::Transport& transport = *own;
      collectives::Group group(std::move(own));
      try {
        body(group, [&] { return transport::simulated::now(transport); });
      } catch (const std::exception& error) {
        errors[rank] = std::current_exception();
        if (!group.broken()) group.abort(error.what());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  rethrow_cause(errors);
}

}  // namespace tandem::apps
