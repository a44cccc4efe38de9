// SPDX-License-Identifier: Apache-2.0
//
// A transport around another one that measures how long its rank spends in calls of it. The rest of
// a collective call's time is the rank's own work.
//
// Borrows the inner transport. Threads: one. Everything else is the inner transport's.
#pragma once

#include <memory>

#include "collectives/transport/transport.h"

namespace tandem::bench {

class TimedTransport final : public collectives::Transport {
 public:
  explicit TimedTransport(collectives::Transport& inner)
      : Transport(inner.rank(), inner.world()), inner_(inner) {}

  double seconds_inside() const { return seconds_inside_; }

  std::string_view kind() const override { return inner_.kind(); }
  std::string node_name() const override { return inner_.node_name(); }
  void abort(const std::string& reason) noexcept override { inner_.abort(reason); }
  std::unique_ptr<Transport> shrink(Deadline deadline) override { return inner_.shrink(deadline); }

 private:
  std::unique_ptr<collectives::Exchange> do_start(
      std::vector<collectives::Outgoing> sends, std::vector<collectives::Source> sources) override;

  collectives::Transport& inner_;
  double seconds_inside_ = 0;
};

}  // namespace tandem::bench
