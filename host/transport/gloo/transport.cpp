// SPDX-License-Identifier: Apache-2.0
//
// All messages in flight belong to the transport; an exchange refers to its own. Whoever waits, in
// whichever exchange, moves all of them on, so that no order of waits stops a peer.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "collectives/transport/gloo/gloo.h"
#include "collectives/transport/gloo/meeting.h"
#include "collectives/transport/gloo/mesh.h"
#include "collectives/transport/gloo/message.h"
#include "collectives/transport/gloo/sigpipe.h"

namespace tandem::collectives::gloo {
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
  void abort(const std::string& reason) noexcept override;
  std::unique_ptr<Transport> shrink(Deadline deadline) override;

  // Returns once some message of `wanted` is there, taken out of it; throws for their peers.
  std::shared_ptr<IncomingMessage> take_any(IncomingList& wanted, Deadline deadline);
  void wait_sent(const OutgoingList& sends, Deadline deadline);

 private:
  std::unique_ptr<Exchange> do_start(std::vector<Outgoing> sends,
                                     std::vector<Source> sources) override;

  // Throws what broke the group, if something has; looks at farewells when connections ended.
  void check_group();
  void progress();
  // Remembers the first error and throws it.
  [[noreturn]] void fail(Kind kind, int peer, const std::string& message);
  [[noreturn]] void lose(int peer);
  void wait(std::uint64_t seen, int peer, const char* missing, Deadline deadline);

  const Options options_;
  const int generation_;
  std::unique_ptr<Mesh> mesh_;
  // Messages live until they are done or the mesh is closed, whatever becomes of their exchanges.
  OutgoingList sending_;
  IncomingList receiving_;
  const std::string node_;
  int known_closed_ = 0;

  std::mutex mutex_;
  std::optional<TransportError> broken_;
  bool aborted_ = false;
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
    receives_.clear();  // the transport still receives what nobody wants any more
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
  const SigpipeBlock block;
  OutgoingList outgoing;
  IncomingList incoming;
  int peer = -1;
  try {
    for (const Source& source : sources) {
      peer = source.peer;
      incoming.push_back(std::make_shared<IncomingMessage>(source));
      receiving_.push_back(incoming.back());
      incoming.back()->start(*mesh_);
    }
    for (Outgoing& send : sends) {
      peer = send.peer;
      outgoing.push_back(std::make_shared<OutgoingMessage>(std::move(send)));
      sending_.push_back(outgoing.back());
      outgoing.back()->start(*mesh_);
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
  int peer = -1;
  try {
    for (const auto& message : receiving_) {
      peer = message->peer();
      message->progress(*mesh_);
    }
  } catch (const TransportError& error) {
    fail(error.kind(), error.peer(), error.what());
  } catch (const std::exception&) {
    lose(peer);
  }
  std::erase_if(receiving_, [](const auto& message) { return message->done(); });
}

std::shared_ptr<IncomingMessage> GlooTransport::take_any(IncomingList& wanted, Deadline deadline) {
  const SigpipeBlock block;
  for (;;) {
    const auto seen = mesh_->activity().count();
    check_group();
    std::vector<int> ended;  // asked first: what came before the end is then seen below
    for (const auto& message : wanted) {
      if (mesh_->closed(message->peer())) ended.push_back(message->peer());
    }
    progress();
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
      check_group();
      const bool ended = mesh_->closed(message->peer());
      progress();
      if (message->done()) break;
      if (ended) lose(message->peer());
      wait(seen, message->peer(), "a message was not taken by rank ", deadline);
    }
  }
}

void GlooTransport::wait(std::uint64_t seen, int peer, const char* missing, Deadline deadline) {
  if (mesh_->activity().wait(seen, deadline)) return;
  fail(Kind::kTimeout, peer, missing + std::to_string(peer) + " by the deadline");
}

void GlooTransport::check_group() {
  {
    const std::lock_guard lock(mutex_);
    if (broken_) throw TransportError(*broken_);
    if (aborted_) throw TransportError(Kind::kAborted, rank(), "aborted for lack of memory");
  }
  const int num_closed = mesh_->num_closed();
  if (num_closed == known_closed_) return;
  known_closed_ = num_closed;
  for (int peer = 0; peer < world(); ++peer) {
    const std::string reason = mesh_->farewell_of(peer);
    if (reason.empty()) continue;
    fail(Kind::kAborted, peer, "rank " + std::to_string(peer) + " aborted: " + reason);
  }
}

void GlooTransport::fail(Kind kind, int peer, const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (!broken_) {
    const std::string prefix = "[collectives] ";
    const bool prefixed = message.starts_with(prefix);
    broken_.emplace(kind, peer, prefixed ? message.substr(prefix.size()) : message);
  }
  throw TransportError(*broken_);
}

void GlooTransport::lose(int peer) {
  known_closed_ = 0;
  check_group();  // an abort explains it better
  fail(Kind::kPeerLost, peer,
       "rank " + std::to_string(peer) + " has left the group or died (its connection ended)");
}

void GlooTransport::abort(const std::string& reason) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (aborted_) return;
    aborted_ = true;
    try {
      for (int peer = 0; peer < world(); ++peer) {
        if (peer != rank() && mesh_->closed(peer) && mesh_->farewell_of(peer).empty()) {
          dead_.insert(peer);
        }
      }
      if (!broken_) {
        broken_.emplace(Kind::kAborted, rank(),
                        "rank " + std::to_string(rank()) + " aborted: " + reason);
      }
    } catch (const std::bad_alloc&) {
      // Later waits see aborted_; the peers are told all the same.
    }
  }
  const std::string no_reason = "no reason given";  // short enough to need no memory
  mesh_->farewell(reason.empty() ? no_reason : reason);
  mesh_->activity().bump();
}

std::unique_ptr<Transport> GlooTransport::shrink(Deadline deadline) {
  std::string reason;
  {
    const std::lock_guard lock(mutex_);
    if ((!broken_ && !aborted_) || spent_) {
      throw Error("collectives", spent_ ? "gloo: this transport has been shrunk before"
                                        : "gloo: only a broken group shrinks; abort it first");
    }
    spent_ = true;
    if (broken_) reason = broken_->what();
  }
  abort(reason);  // for peers that have not noticed
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

}  // namespace tandem::collectives::gloo
