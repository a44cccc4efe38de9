// SPDX-License-Identifier: Apache-2.0
//
// Two slots above all tags carry control messages: a greeting and a farewell. The receive of the
// farewell is posted before the greeting is sent, so a farewell can be sent at any later time.
#include "transport/gloo/mesh.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "transport/gloo/link.h"
#include "transport/gloo/sigpipe.h"

namespace tandem::transport::gloo {

namespace tcp = ::gloo::transport::tcp;

namespace {

constexpr std::uint64_t kGreetingSlot = std::uint64_t{1} << 24;
constexpr std::uint64_t kFarewellSlot = kGreetingSlot + 1;
constexpr std::size_t kControlBytes = 512;
// The time that close() gives to gloo's loop, which runs every 10 ms.
constexpr auto kCloseTime = std::chrono::seconds(2);

using ControlText = std::array<char, kControlBytes>;  // ends with a zero

ControlText control_text(const std::string& text) {
  ControlText result{};
  std::copy_n(text.begin(), std::min(text.size(), kControlBytes - 1), result.begin());
  return result;
}

std::string text_of(const ControlText& text) {
  return {text.data(), ::strnlen(text.data(), text.size())};
}

std::shared_ptr<tcp::Device> make_device(const Options& options) {
  tcp::attr attributes;
  attributes.iface = options.interface;
  attributes.hostname = options.address;
  try {
    const SigpipeBlock block;  // for gloo's thread
    return std::make_shared<tcp::Device>(tcp::CreateDeviceAttr(attributes));
  } catch (const std::exception& error) {
    const std::string name = options.interface.empty() ? options.address : options.interface;
    throw Error("transport", "gloo: cannot listen on '" + name +
                                 "'; name an interface or an address of this host (" +
                                 error.what() + ")");
  }
}

std::string greeting(const std::string& group, int from, int to) {
  return "tandem " + group + " " + std::to_string(from) + " " + std::to_string(to);
}

TransportError lost_while_forming(int peer) {
  return {TransportError::Kind::kPeerLost, peer,
          "rank " + std::to_string(peer) + " closed its connection while the group formed"};
}

}  // namespace

std::uint64_t Activity::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

void Activity::bump() {
  {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  changed_.notify_all();
}

bool Activity::wait(std::uint64_t seen, Deadline deadline) const {
  std::unique_lock lock(mutex_);
  const auto happened = [&] { return count_ != seen; };
  if (deadline.is_never()) {
    changed_.wait(lock, happened);
    return true;
  }
  return changed_.wait_until(lock, deadline.time_point(), happened);
}

int Region::num_sent() {
  const std::lock_guard lock(m_);
  return sendCompletions_;
}

int Region::num_received() {
  const std::lock_guard lock(m_);
  return recvCompletions_;
}

struct Mesh::Control {
  struct Message {
    ControlText text{};
    std::unique_ptr<Region> region;
  };
  std::vector<Message> greetings_in, greetings_out, farewells_in, farewells_out;  // [world]
  std::unique_ptr<std::once_flag[]> said_farewell;                                // [world]
};

Mesh::Mesh(const Options& options, int rank, int world)
    : rank_(rank), world_(world), closed_(static_cast<std::size_t>(world)) {
  control_ = std::make_unique<Control>();
  auto device = make_device(options);
  context_ = std::make_shared<LinkContext>(std::move(device), rank, world, activity_, closed_);
  try {
    for (int peer = 0; peer < world; ++peer) {
      if (peer != rank) context_->createPair(peer);
    }
  } catch (const std::exception& error) {
    throw Error("transport", std::string("gloo: cannot listen for peers (") + error.what() + ")");
  }
}

Mesh::~Mesh() {
  close();
  control_.reset();
  context_.reset();  // ends gloo's thread
}

Link& Mesh::link(int peer) { return static_cast<Link&>(*context_->getPair(peer)); }

std::string Mesh::addresses() const {
  std::string all;
  for (int peer = 0; peer < world_; ++peer) {
    std::vector<char> bytes(tcp::Address().bytes().size());
    if (peer != rank_) bytes = context_->getPair(peer)->address().bytes();
    all.append(bytes.begin(), bytes.end());
  }
  return all;
}

void Mesh::connect(int peer, const std::string& addresses, Deadline deadline,
                   const std::function<void()>& watch) {
  const std::size_t bytes = tcp::Address().bytes().size();
  const std::size_t at = static_cast<std::size_t>(rank_) * bytes;
  if (addresses.size() != static_cast<std::size_t>(world_) * bytes) {
    throw Error("transport",
                "gloo: rank " + std::to_string(peer) +
                    " uses another version of the protocol; use one build on all ranks");
  }
  const std::string address = addresses.substr(at, bytes);
  try {
    link(peer).connect_by(deadline, {address.begin(), address.end()}, watch);
  } catch (const TransportError&) {
    throw;
  } catch (const std::exception& error) {
    throw TransportError(
        TransportError::Kind::kPeerLost, peer,
        "rank " + std::to_string(peer) + " cannot be reached (" + error.what() + ")");
  }
}

void Mesh::greet(const std::string& group, Deadline deadline) {
  const SigpipeBlock block;
  const auto num_ranks = static_cast<std::size_t>(world_);
  control_->greetings_in.resize(num_ranks);
  control_->greetings_out.resize(num_ranks);
  control_->farewells_in.resize(num_ranks);
  control_->farewells_out.resize(num_ranks);
  control_->said_farewell = std::make_unique<std::once_flag[]>(num_ranks);
  for (int peer = 0; peer < world_; ++peer) {
    if (peer != rank_) post_control(peer, greeting(group, rank_, peer));
  }
  for (int peer = 0; peer < world_; ++peer) {
    if (peer == rank_) continue;
    await_greeting(peer, deadline);
    const auto& received = control_->greetings_in[static_cast<std::size_t>(peer)];
    if (text_of(received.text) != greeting(group, peer, rank_)) {
      throw TransportError(
          TransportError::Kind::kGarbage, peer,
          "what connected as rank " + std::to_string(peer) + " is not of group " + group);
    }
  }
}

void Mesh::post_control(int peer, const std::string& greeting) {
  const auto at = static_cast<std::size_t>(peer);
  auto& farewell = control_->farewells_in[at];
  auto& received = control_->greetings_in[at];
  auto& sent = control_->greetings_out[at];
  auto& last = control_->farewells_out[at];
  sent.text = control_text(greeting);
  for (auto* message : {&farewell, &received, &sent, &last}) {
    message->region = make_region(message->text.data(), kControlBytes);
  }
  try {
    farewell.region->recv(peer, kFarewellSlot, 0, kControlBytes);
    received.region->recv(peer, kGreetingSlot, 0, kControlBytes);
    sent.region->send(peer, kGreetingSlot, 0, kControlBytes);
  } catch (const std::exception&) {
    throw lost_while_forming(peer);
  }
}

void Mesh::await_greeting(int peer, Deadline deadline) {
  auto& received = control_->greetings_in[static_cast<std::size_t>(peer)];
  for (;;) {
    const auto seen = activity_.count();
    const bool ended = closed(peer);
    if (received.region->num_received() > 0) return;
    if (ended) throw lost_while_forming(peer);
    if (!activity_.wait(seen, deadline)) {
      throw TransportError(
          TransportError::Kind::kTimeout, peer,
          "rank " + std::to_string(peer) + " connected but did not greet by the deadline");
    }
  }
}

std::unique_ptr<Region> Mesh::make_region(const void* bytes, std::size_t size) {
  return std::make_unique<Region>(context_, const_cast<void*>(bytes), size);
}

int Mesh::num_closed() const {
  return static_cast<int>(
      std::count_if(closed_.begin(), closed_.end(), [](const auto& flag) { return flag.load(); }));
}

std::string Mesh::farewell_of(int peer) {
  if (peer == rank_) return {};
  auto& message = control_->farewells_in[static_cast<std::size_t>(peer)];
  return message.region->num_received() > 0 ? text_of(message.text) : std::string();
}

void Mesh::farewell(int peer, const std::string& reason) noexcept {
  const auto at = static_cast<std::size_t>(peer);
  std::call_once(control_->said_farewell[at], [&] {
    const SigpipeBlock block;
    auto& message = control_->farewells_out[at];
    message.text = control_text(reason);
    try {
      message.region->send(peer, kFarewellSlot, 0, kControlBytes);
    } catch (const std::exception&) {
      // The connection has ended already.
    }
    link(peer).interrupt();
  });
}

void Mesh::interrupt(int peer) noexcept { link(peer).interrupt(); }

void Mesh::close() noexcept {
  for (int peer = 0; peer < world_; ++peer) {
    if (peer != rank_ && context_->getPair(peer) != nullptr) link(peer).interrupt();
  }
  const Deadline deadline = Deadline::after(kCloseTime);
  const auto all_closed = [this] {
    for (int peer = 0; peer < world_; ++peer) {
      if (peer != rank_ && !closed(peer) && link(peer).connected()) return false;
    }
    return true;
  };
  for (;;) {
    const auto seen = activity_.count();
    if (all_closed() || !activity_.wait(seen, deadline)) return;
  }
}

}  // namespace tandem::transport::gloo
