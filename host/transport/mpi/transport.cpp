// SPDX-License-Identifier: Apache-2.0
//
// Exchanges. Progress moves the messages; this file decides how long and how often to poll.
#include "transport/mpi/transport.h"

#include <utility>
#include <vector>

#include "transport/mpi/backoff.h"
#include "transport/mpi/progress.h"

namespace tandem::transport::mpi {
namespace {

class MpiExchange final : public Exchange {
 public:
  MpiExchange(Traffic& traffic, Progress& progress, std::uint64_t sends,
              std::vector<Source> sources)
      : Exchange(traffic), progress_(progress), sends_(sends), sources_(std::move(sources)) {}

  ~MpiExchange() override { progress_.forget(sends_); }

  void finish(Deadline deadline) override {
    for (const Source& source : sources_) progress_.drop(source);
    sources_.clear();
    Patience patience;
    while (const auto peer = progress_.unsent_peer(sends_)) {
      wait(patience, deadline, *peer, "has not taken its message");
    }
  }

 private:
  std::optional<Incoming> do_next(Deadline deadline) override {
    Patience patience;
    while (!sources_.empty()) {
      for (std::size_t at = 0; at < sources_.size(); ++at) {
        auto payload = progress_.take(sources_[at]);
        if (!payload) continue;
        const int peer = sources_[at].peer;
        sources_.erase(sources_.begin() + static_cast<std::ptrdiff_t>(at));
        return Incoming{peer, std::move(*payload)};
      }
      wait(patience, deadline, sources_.front().peer, "sent no message");
    }
    return std::nullopt;
  }

  struct Patience {
    Backoff backoff;
    bool spent = false;  // the deadline had passed before the last round of progress
  };

  // One round of progress; then the caller checks again. Throws if a round after the deadline has
  // not brought the awaited message, even if others progress.
  void wait(Patience& patience, Deadline deadline, int peer, const char* missing) {
    if (patience.spent) {
      const TransportError error(
          TransportError::Kind::kTimeout, peer,
          "rank " + std::to_string(peer) + " " + missing + " by the deadline");
      progress_.fail(error);
      throw error;
    }
    patience.spent = deadline.expired();
    if (progress_.poll()) {
      patience.backoff.reset();
    } else if (!patience.spent) {
      patience.backoff.pause();
    }
  }

  Progress& progress_;
  std::uint64_t sends_;
  std::vector<Source> sources_;
};

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(const TransportParts& parts)
      : Transport(parts.rank, parts.world),
        node_name_(parts.node_name),
        progress_(parts.communicator, parts.lock, parts.max_part_bytes) {}

  std::string_view kind() const override { return "mpi"; }
  std::string node_name() const override { return node_name_; }
  // The MPI standard leaves MPI undefined after an error, so no connection fails alone.
  bool fails_alone() const override { return false; }
  void set_failure_scope(FailureScope) override {}
  void close(int, const std::string& reason) noexcept override { progress_.abort(reason); }
  void abort(const std::string& reason) noexcept override { progress_.abort(reason); }

  std::unique_ptr<Transport> shrink(Deadline) override {
    throw Error("transport",
                "an MPI job cannot continue without a rank: its launcher ends all of them when one "
                "dies; use the gloo transport for groups that shrink");
  }

 private:
  std::unique_ptr<Exchange> do_start(std::vector<Outgoing> sends,
                                     std::vector<Source> sources) override {
    const std::uint64_t id = progress_.send(std::move(sends));
    return std::make_unique<MpiExchange>(counters(), progress_, id, std::move(sources));
  }

  std::string node_name_;
  Progress progress_;
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(const TransportParts& parts) {
  return std::make_unique<MpiTransport>(parts);
}

}  // namespace tandem::transport::mpi
