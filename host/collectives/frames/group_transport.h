// SPDX-License-Identifier: Apache-2.0
//
// GroupTransport: the connections of a transport as a group that fails together.
//
// The first TransportError of any connection breaks the group: every later call of this rank throws
// that same error. The rank that sees it first calls abort() with the reason, which reaches every
// peer (Communicator does, and names the phase). Collective calls need this, because after a
// failure no rank knows which messages of a call have arrived. Owns the transport. Cost: a virtual
// call per step. Threads and other errors: as Transport.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "transport/transport.h"

namespace tandem::collectives {

class GroupTransport final : public transport::Transport {
 public:
  explicit GroupTransport(std::unique_ptr<transport::Transport> connections);

  std::string_view kind() const override { return connections_->kind(); }
  std::string node_name() const override { return connections_->node_name(); }
  int whole_rank(int rank) const override { return connections_->whole_rank(rank); }
  bool fails_alone() const override { return false; }
  void set_failure_scope(transport::FailureScope) override {}
  void close(int peer, const std::string& reason) noexcept override;  // as abort()
  void abort(const std::string& reason) noexcept override;
  // The survivors are a GroupTransport again.
  std::unique_ptr<Transport> shrink(Deadline deadline) override;

  // Stores `error` if it is the first one.
  void fail(const transport::TransportError& error) noexcept;

 private:
  std::unique_ptr<transport::Exchange> do_start(std::vector<transport::Outgoing> sends,
                                                std::vector<transport::Source> sources) override;
  void throw_if_broken() const;

  std::unique_ptr<transport::Transport> connections_;
  mutable std::mutex mutex_;
  std::optional<transport::TransportError> broken_;
};

}  // namespace tandem::collectives
