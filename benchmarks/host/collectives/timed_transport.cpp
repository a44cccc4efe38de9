// SPDX-License-Identifier: Apache-2.0
//
// Adds the time of start(), next() and finish() to the transport's total.
#include "host/collectives/timed_transport.h"

#include <chrono>
#include <utility>

namespace tandem::bench {
namespace {

using transport::Exchange;
using transport::Incoming;

class Stopwatch {
 public:
  explicit Stopwatch(double& total) : total_(total) {}
  ~Stopwatch() {
    total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class TimedExchange final : public Exchange {
 public:
  TimedExchange(transport::Traffic& traffic, std::unique_ptr<Exchange> inner, double& total)
      : Exchange(traffic), inner_(std::move(inner)), total_(total) {}

  void finish(Deadline deadline) override {
    const Stopwatch stopwatch(total_);
    inner_->finish(deadline);
  }

 private:
  std::optional<Incoming> do_next(Deadline deadline) override {
    const Stopwatch stopwatch(total_);
    return inner_->next(deadline);
  }

  std::unique_ptr<Exchange> inner_;
  double& total_;
};

}  // namespace

std::unique_ptr<Exchange> TimedTransport::do_start(std::vector<transport::Outgoing> sends,
                                                   std::vector<transport::Source> sources) {
  const Stopwatch stopwatch(seconds_inside_);
  return std::make_unique<TimedExchange>(
      counters(), inner_.start(std::move(sends), std::move(sources)), seconds_inside_);
}

}  // namespace tandem::bench
