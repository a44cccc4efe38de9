// SPDX-License-Identifier: Apache-2.0
//
// All messages in flight belong to the transport; an exchange refers to its own. A wait in any
// exchange makes progress for all messages, so that no order of waits stops a peer.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "transport/gloo/gloo.h"
#include "transport/gloo/meeting.h"
#include "transport/gloo/mesh.h"
#include "transport/gloo/message.h"
#include "transport/gloo/sigpipe.h"

namespace tandem::transport::gloo {
namespace {

using Kind = TransportError::Kind;
using OutgoingList = std::vector<std::shared_ptr<OutgoingMessage>>;
using IncomingList = std::vector<std::shared_ptr<IncomingMessage>>;

// Ranks share a node when they share a kernel and a network namespace.
std::string describe_node() {
  char host[256] = {};
  ::gethostname(host, sizeof(host) - 1);
  char network[64] = {};
  if (::readlink("/proc/self/ns/net", network, sizeof(network) - 1) < 0) network[0] = '\0';
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return std::string(host) + "/" + boot + "/" + network;
}

std::string aborted_text(int rank, const std::string& reason) {
  return "rank " + std::to_string(rank) + " aborted: " + reason;
}

TransportError lost(int peer) {
  return {Kind::kPeerLost, peer,
          "rank " + std::to_string(peer) + " has left the group or died (its connection ended)"};
}

class GlooTransport final : public Transport {
 public:
  GlooTransport(Options options, int generation, std::unique_ptr<Mesh> mesh)
      : Transport(options.rank, options.world),
        options_(std::move(options)),
        generation_(generation),
        mesh_(std::move(mesh)),
        node_(describe_node()) {}

  ~GlooTransport() override { mesh_->close(); }

  std::string_view kind() const override { return "gloo"; }
  std::string node_name() const override { return node_; }
  bool fails_alone() const override { return true; }
  void set_failure_scope(FailureScope scope) override { scope_ = scope; }
  void close(int peer, const std::string& reason) noexcept override;
  void abort(const std::string& reason) noexcept override;
  std::unique_ptr<Transport> shrink(Deadline deadline) override;

  // Returns once some message of `wanted` is there, taken out of it; throws for their peers.
  std::shared_ptr<IncomingMessage> take_any(IncomingList& wanted, Deadline deadline);
  void wait_sent(const OutgoingList& sends, Deadline deadline);

 private:
  std::unique_ptr<Exchange> do_start(std::vector<Outgoing> sends,
                                     std::vector<Source> sources) override;

  // Throws where this rank has aborted, and in a group where some peer has.
  void check_group();
  // Throws what ended the connection to `peer`, if anything has that this rank knows of.
  void check_connection(int peer);
  // Moves all messages on; what ends a connection is kept for those who wait for its peer.
  void progress();
  void end_connection(const TransportError& error);
  // Under mutex_: whether close() ended the connection to `peer`.
  bool closed_here(int peer) const {
    const auto found = ended_.find(peer);
    return found != ended_.end() && found->second.peer() == rank();
  }
  void say_farewell(int peer, const std::string& reason) noexcept;
  [[noreturn]] void lose(int peer);
  void wait(std::uint64_t seen, int peer, const char* missing, Deadline deadline);

  const Options options_;
  const int generation_;
  std::unique_ptr<Mesh> mesh_;
  // Messages are kept until they are done or the mesh is closed, also without their exchange.
  OutgoingList sending_;
  IncomingList receiving_;
  const std::string node_;
  FailureScope scope_ = FailureScope::kConnection;
  int known_closed_ = 0;

  std::mutex mutex_;
  std::map<int, TransportError> ended_;    // by peer: why, where this rank knows it
  std::optional<TransportError> aborted_;  // why this rank has aborted, or what made it
  bool spent_ = false;
  std::set<int> dead_;  // ended before this rank aborted, without a farewell
};

class GlooExchange final : public Exchange {
 public:
  GlooExchange(Traffic& traffic, GlooTransport& transport, OutgoingList sends,
               IncomingList receives)
      : Exchange(traffic),
        transport_(transport),
        sends_(std::move(sends)),
        receives_(std::move(receives)) {}

  void finish(Deadline deadline) override {
    transport_.wait_sent(sends_, deadline);
    sends_.clear();
    receives_.clear();  // the transport still receives the messages that were not taken
  }

 private:
  std::optional<Incoming> do_next(Deadline deadline) override {
    if (receives_.empty()) return std::nullopt;
    const auto message = transport_.take_any(receives_, deadline);
    return Incoming{message->peer(), message->take()};
  }

  GlooTransport& transport_;
  OutgoingList sends_;
  IncomingList receives_;
};

std::unique_ptr<Exchange> GlooTransport::do_start(std::vector<Outgoing> sends,
                                                  std::vector<Source> sources) {
  check_group();
  for (const Source& source : sources) check_connection(source.peer);
  for (const Outgoing& send : sends) check_connection(send.peer);
  const SigpipeBlock block;
  OutgoingList outgoing;
  IncomingList incoming;
  int peer = -1;
  try {
    for (const Source& source : sources) {
      peer = source.peer;
      incoming.push_back(std::make_shared<IncomingMessage>(source));
      incoming.back()->start(*mesh_);
      receiving_.push_back(incoming.back());
    }
    for (Outgoing& send : sends) {
      peer = send.peer;
      outgoing.push_back(std::make_shared<OutgoingMessage>(std::move(send)));
      outgoing.back()->start(*mesh_);
      sending_.push_back(outgoing.back());
    }
  } catch (const std::exception&) {  // only a closed connection makes gloo throw
    lose(peer);
  }
  progress();
  return std::make_unique<GlooExchange>(counters(), *this, std::move(outgoing),
                                        std::move(incoming));
}

void GlooTransport::progress() {
  std::erase_if(sending_, [](const auto& message) { return message->done(); });
  for (const auto& message : receiving_) {
    try {
      message->progress(*mesh_);
    } catch (const TransportError& error) {
      end_connection(error);
      mesh_->interrupt(error.peer());
    } catch (const std::exception&) {  // only a closed connection makes gloo throw
      end_connection(lost(message->peer()));
    }
  }
  std::erase_if(receiving_, [](const auto& message) { return message->done(); });
}

std::shared_ptr<IncomingMessage> GlooTransport::take_any(IncomingList& wanted, Deadline deadline) {
  const SigpipeBlock block;
  for (;;) {
    const auto seen = mesh_->activity().count();
    std::vector<int> ended;  // asked first: what came before the end is then seen below
    for (const auto& message : wanted) {
      if (mesh_->closed(message->peer())) ended.push_back(message->peer());
    }
    progress();
    check_group();
    for (const auto& message : wanted) check_connection(message->peer());
    for (auto at = wanted.begin(); at != wanted.end(); ++at) {
      if (!(*at)->done()) continue;
      auto message = std::move(*at);
      wanted.erase(at);
      return message;
    }
    if (!ended.empty()) lose(ended.front());
    wait(seen, wanted.front()->peer(), "no message from rank ", deadline);
  }
}

void GlooTransport::wait_sent(const OutgoingList& sends, Deadline deadline) {
  const SigpipeBlock block;
  for (const auto& message : sends) {
    for (;;) {
      const auto seen = mesh_->activity().count();
      const bool ended = mesh_->closed(message->peer());
      progress();
      check_group();
      check_connection(message->peer());
      if (message->done()) break;
      if (ended) lose(message->peer());
      wait(seen, message->peer(), "a message was not taken by rank ", deadline);
    }
  }
}

void GlooTransport::wait(std::uint64_t seen, int peer, const char* missing, Deadline deadline) {
  if (mesh_->activity().wait(seen, deadline)) return;
  throw TransportError(Kind::kTimeout, peer, missing + std::to_string(peer) + " by the deadline");
}

void GlooTransport::check_group() {
  {
    const std::lock_guard lock(mutex_);
    if (aborted_) throw TransportError(*aborted_);
  }
  if (scope_ == FailureScope::kConnection) return;
  if (const int num_closed = mesh_->num_closed(); num_closed != known_closed_) {
    known_closed_ = num_closed;
    for (int peer = 0; peer < world(); ++peer) {
      if (mesh_->farewell_of(peer).empty()) continue;
      end_connection(lost(peer));
      check_connection(peer);
    }
  }
  const std::lock_guard lock(mutex_);
  if (!ended_.empty()) throw TransportError(ended_.begin()->second);
}

void GlooTransport::check_connection(int peer) {
  const std::lock_guard lock(mutex_);
  if (const auto found = ended_.find(peer); found != ended_.end()) {
    throw TransportError(found->second);
  }
}

// A farewell explains it better than the error that this rank met.
void GlooTransport::end_connection(const TransportError& error) {
  const std::string reason = mesh_->farewell_of(error.peer());
  const std::lock_guard lock(mutex_);
  if (reason.empty()) {
    ended_.emplace(error.peer(), error);
  } else {
    ended_.emplace(error.peer(), TransportError(Kind::kAborted, error.peer(),
                                                aborted_text(error.peer(), reason)));
  }
}

void GlooTransport::lose(int peer) {
  known_closed_ = 0;
  end_connection(lost(peer));
  check_group();  // in a group an abort of another rank explains it better
  check_connection(peer);
  throw lost(peer);
}

void GlooTransport::close(int peer, const std::string& reason) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    ended_.emplace(peer, TransportError(Kind::kAborted, rank(), aborted_text(rank(), reason)));
  } catch (const std::bad_alloc&) {
    // The connection ends all the same.
  }
  say_farewell(peer, reason);
  mesh_->activity().bump();
}

void GlooTransport::say_farewell(int peer, const std::string& reason) noexcept {
  const std::string no_reason = "no reason given";  // short enough to need no memory
  mesh_->farewell(peer, reason.empty() ? no_reason : reason);
}

void GlooTransport::abort(const std::string& reason) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (aborted_) return;
    try {
      for (int peer = 0; peer < world(); ++peer) {
        if (peer != rank() && mesh_->closed(peer) && mesh_->farewell_of(peer).empty() &&
            !closed_here(peer)) {
          dead_.insert(peer);
        }
      }
      aborted_.emplace(Kind::kAborted, rank(), aborted_text(rank(), reason));
    } catch (const std::bad_alloc&) {
      aborted_.emplace(Kind::kAborted, rank(), "out of memory");
    }
  }
  for (int peer = 0; peer < world(); ++peer) {
    if (peer != rank()) say_farewell(peer, reason);
  }
  mesh_->activity().bump();
}

std::unique_ptr<Transport> GlooTransport::shrink(Deadline deadline) {
  {
    const std::lock_guard lock(mutex_);
    if (!aborted_ || spent_) {
      throw Error("transport", spent_ ? "gloo: this transport has been shrunk before"
                                      : "gloo: only a broken group shrinks; abort it first");
    }
    spent_ = true;
  }
  const auto members = agree_on_survivors(options_, generation_ + 1, dead_, deadline);
  Options next = options_;
  next.world = static_cast<int>(members.size());
  next.rank =
      static_cast<int>(std::lower_bound(members.begin(), members.end(), rank()) - members.begin());
  next.deadline = deadline;
  auto mesh = meet(next, generation_ + 1);
  return std::make_unique<GlooTransport>(std::move(next), generation_ + 1, std::move(mesh));
}

}  // namespace

bool available() { return true; }

std::unique_ptr<Transport> connect(const Options& options) {
  return std::make_unique<GlooTransport>(options, 0, meet(options, 0));
}

}  // namespace tandem::transport::gloo
