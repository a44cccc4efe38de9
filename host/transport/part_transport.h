// SPDX-License-Identifier: Apache-2.0
//
// PartTransport: some ranks of a transport as a world of their own.
//
// Rank i of it is members[i]. Several parts may share a transport where any two ranks have at most
// one of them in common, because their messages have the same tags; the whole world's messages must
// all have been received before. A failure ends the whole transport, so fails_alone() is false.
// Ownership: borrows the transport. Threads: those of the transport, for all of its parts together.
// Errors: those of the transport, with its numbers of ranks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace tandem::transport {

class PartTransport final : public Transport {
 public:
  // members: ascending; this rank is one of them.
  PartTransport(Transport& whole, std::vector<int> members);

  std::string_view kind() const override { return whole_.kind(); }
  std::string node_name() const override { return whole_.node_name(); }
  int whole_rank(int rank) const override {
    return whole_.whole_rank(members_[static_cast<std::size_t>(rank)]);
  }
  bool fails_alone() const override { return false; }
  void set_failure_scope(FailureScope scope) override { whole_.set_failure_scope(scope); }
  void close(int peer, const std::string& reason) noexcept override;
  void abort(const std::string& reason) noexcept override { whole_.abort(reason); }
  std::unique_ptr<Transport> shrink(Deadline deadline) override;  // Error

 private:
  std::unique_ptr<Exchange> do_start(std::vector<Outgoing> sends,
                                     std::vector<Source> sources) override;

  Transport& whole_;
  const std::vector<int> members_;
};

}  // namespace tandem::transport
