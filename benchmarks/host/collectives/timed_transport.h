// SPDX-License-Identifier: Apache-2.0
//
// A transport around another one that measures how long its rank spends in calls of it. The rest of
// a collective call's time is the rank's own work.
//
// Borrows the inner transport. Threads: one. Everything else is the inner transport's.
#pragma once

#include <memory>

#include "transport/transport.h"

namespace tandem::bench {

class TimedTransport final : public transport::Transport {
 public:
  explicit TimedTransport(transport::Transport& inner)
      : Transport(inner.rank(), inner.world()), inner_(inner) {}

  double seconds_inside() const { return seconds_inside_; }

  std::string_view kind() const override { return inner_.kind(); }
  std::string node_name() const override { return inner_.node_name(); }
  bool fails_alone() const override { return inner_.fails_alone(); }
  void set_failure_scope(transport::FailureScope scope) override {
    inner_.set_failure_scope(scope);
  }
  void close(int peer, const std::string& reason) noexcept override { inner_.close(peer, reason); }
  void abort(const std::string& reason) noexcept override { inner_.abort(reason); }
  std::unique_ptr<Transport> shrink(Deadline deadline) override { return inner_.shrink(deadline); }

 private:
  std::unique_ptr<transport::Exchange> do_start(std::vector<transport::Outgoing> sends,
                                                std::vector<transport::Source> sources) override;

  transport::Transport& inner_;
  double seconds_inside_ = 0;
};

}  // namespace tandem::bench
