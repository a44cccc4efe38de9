// SPDX-License-Identifier: Apache-2.0
//
// run_ranks(): a thread with a small stack per rank.
#include <pthread.h>

#include <exception>
#include <string>
#include <utility>

#include "common/error.h"
#include "transport/simulated/simulated.h"
#include "transport/transport_error.h"

namespace tandem::transport::simulated {
namespace {

constexpr std::size_t kStackBytes = 512 << 10;

struct RankThread {
  const std::function<void(Transport&)>* body;
  std::unique_ptr<Transport> transport;
  std::exception_ptr error;
  pthread_t thread;
};

// The first error by rank, those first that are not merely another rank's abort.
void rethrow_cause(const std::vector<RankThread>& threads) {
  std::exception_ptr aborted;
  for (const RankThread& rank : threads) {
    if (!rank.error) continue;
    try {
      std::rethrow_exception(rank.error);
    } catch (const TransportError& error) {
      if (error.kind() != TransportError::Kind::kAborted) throw;
      if (!aborted) aborted = rank.error;
    }
  }
  if (aborted) std::rethrow_exception(aborted);
}

void* run_rank(void* argument) {
  auto& self = *static_cast<RankThread*>(argument);
  try {
    (*self.body)(*self.transport);
  } catch (const std::exception& error) {
    self.error = std::current_exception();
    self.transport->abort(error.what());
  } catch (...) {
    self.error = std::current_exception();
    self.transport->abort("an unknown exception");
  }
  self.transport.reset();
  return nullptr;
}

}  // namespace

void run_ranks(const NetworkOptions& options, const std::function<void(Transport&)>& body) {
  auto transports = make_world(options);
  std::vector<RankThread> threads(transports.size());
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  std::size_t num_started = 0;
  for (RankThread& rank : threads) {
    rank.body = &body;
    rank.transport = std::move(transports[num_started]);
    if (pthread_create(&rank.thread, &attributes, run_rank, &rank) != 0) break;
    ++num_started;
  }
  pthread_attr_destroy(&attributes);
  if (num_started < threads.size()) threads[num_started].transport->abort("no more threads");
  for (std::size_t at = 0; at < num_started; ++at) pthread_join(threads[at].thread, nullptr);
  if (num_started < threads.size()) {
    throw Error("transport", "the system gives no more than " + std::to_string(num_started) +
                                 " threads; simulate fewer ranks");
  }
  rethrow_cause(threads);
}

}  // namespace tandem::transport::simulated
