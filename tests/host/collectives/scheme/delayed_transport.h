// SPDX-License-Identifier: Apache-2.0
//
// DelayedTransport: a decorator that lets messages leave and arrive late, by random amounts.
//
// Orders of arrival that a quiet machine never shows come up; what is sent and counted is as under
// the transport inside. Delays are up to 200 us, one in four calls. Threads: as the one inside.
#pragma once

#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "transport/transport.h"

namespace tandem::test {

class DelayedTransport final : public transport::Transport {
 public:
  DelayedTransport(std::unique_ptr<transport::Transport> inside, std::uint64_t seed)
      : Transport(inside->rank(), inside->world()), inside_(std::move(inside)), random_(seed) {}

  std::string_view kind() const override { return inside_->kind(); }
  std::string node_name() const override { return inside_->node_name(); }
  bool fails_alone() const override { return inside_->fails_alone(); }
  void set_failure_scope(transport::FailureScope scope) override {
    inside_->set_failure_scope(scope);
  }
  void close(int peer, const std::string& reason) noexcept override {
    inside_->close(peer, reason);
  }
  void abort(const std::string& reason) noexcept override { inside_->abort(reason); }
  std::unique_ptr<Transport> shrink(Deadline deadline) override {
    return inside_->shrink(deadline);
  }

 private:
  class DelayedExchange final : public transport::Exchange {
   public:
    DelayedExchange(DelayedTransport& transport, std::unique_ptr<Exchange> inside)
        : Exchange(transport.counters()), transport_(transport), inside_(std::move(inside)) {}
    void finish(Deadline deadline) override { inside_->finish(deadline); }

   private:
    std::optional<transport::Incoming> do_next(Deadline deadline) override {
      transport_.wait();
      return inside_->next(deadline);
    }

    DelayedTransport& transport_;
    std::unique_ptr<Exchange> inside_;
  };

  std::unique_ptr<transport::Exchange> do_start(std::vector<transport::Outgoing> sends,
                                                std::vector<transport::Source> sources) override {
    wait();
    return std::make_unique<DelayedExchange>(*this,
                                             inside_->start(std::move(sends), std::move(sources)));
  }

  void wait() {
    if (random_() % 4 != 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % 200));
  }

  std::unique_ptr<Transport> inside_;
  std::mt19937_64 random_;
};

}  // namespace tandem::test
