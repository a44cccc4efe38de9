// SPDX-License-Identifier: Apache-2.0
//
// A transport that spoils one of the messages its rank sends, on its way out.
//
// The k-th message sent is damaged as told; all others pass. What a damaged message looks like is
// the test's choice: flipped bits at any place, a missing end, an added end, nothing at all, an
// earlier message of this rank again, or one of another group's call.
// Threads: as the transport it wraps.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collectives/frames/communicator.h"
#include "transport/transport.h"

namespace tandem::collectives::test {

enum class Damage { kFlipBit, kTruncate, kExtend, kEmpty, kReplay, kMisroute, kOtherCall };

inline const char* damage_name(Damage damage) {
  constexpr const char* kNames[] = {
      "a flipped bit", "a missing end",          "an added end",          "no bytes",
      "a replay",      "another rank's message", "another call's message"};
  return kNames[static_cast<int>(damage)];
}

struct Fault {
  Damage damage = Damage::kFlipBit;
  int message = 0;       // counted over all that the rank sends
  std::size_t byte = 0;  // of a flipped bit; modulo the length
  std::atomic<bool> done{false};
};

class FaultyExchange final : public Exchange {
 public:
  FaultyExchange(transport::Traffic& traffic, std::unique_ptr<Exchange> inner)
      : Exchange(traffic), inner_(std::move(inner)) {}
  void finish(Deadline deadline) override { inner_->finish(deadline); }

 private:
  std::optional<Incoming> do_next(Deadline deadline) override { return inner_->next(deadline); }
  std::unique_ptr<Exchange> inner_;
};

class FaultyTransport final : public Transport {
 public:
  FaultyTransport(std::unique_ptr<Transport> inner, Fault& fault)
      : Transport(inner->rank(), inner->world()), inner_(std::move(inner)), fault_(fault) {}

  std::string_view kind() const override { return inner_->kind(); }
  std::string node_name() const override { return inner_->node_name(); }
  bool fails_alone() const override { return inner_->fails_alone(); }
  void set_failure_scope(transport::FailureScope scope) override {
    inner_->set_failure_scope(scope);
  }
  void close(int peer, const std::string& reason) noexcept override { inner_->close(peer, reason); }
  void abort(const std::string& reason) noexcept override { inner_->abort(reason); }
  std::unique_ptr<Transport> shrink(Deadline deadline) override { return inner_->shrink(deadline); }

 private:
  std::unique_ptr<Exchange> do_start(std::vector<Outgoing> sends,
                                     std::vector<Source> sources) override {
    for (Outgoing& send : sends) {
      const Outgoing original = send;
      if (num_sent_++ == fault_.message) damage(send);
      sent_.push_back(original);
    }
    return std::make_unique<FaultyExchange>(counters(),
                                            inner_->start(std::move(sends), std::move(sources)));
  }

  void damage(Outgoing& send) {
    const auto bytes = send.payload.bytes();
    ByteBuffer copy(bytes.begin(), bytes.end());
    switch (fault_.damage) {
      case Damage::kFlipBit:
        copy[fault_.byte % copy.size()] ^= std::byte{4};
        break;
      case Damage::kTruncate:
        copy.resize(copy.size() - 1);
        break;
      case Damage::kExtend:
        copy.push_back(std::byte{0});
        break;
      case Damage::kEmpty:
        copy.clear();
        break;
      case Damage::kReplay:  // what the same rank got before
      case Damage::kMisroute: {
        const bool same = fault_.damage == Damage::kReplay;
        const auto* found = find([&](const Outgoing& sent) {
          return (sent.peer == send.peer) == same && !same_bytes(sent.payload, send.payload);
        });
        if (found == nullptr) return;
        send.payload = found->payload;
        fault_.done = true;
        return;
      }
      case Damage::kOtherCall:
        copy = other_call(send.peer);
        break;
    }
    send.payload = Payload(std::move(copy));
    fault_.done = true;
  }

  // The last that was sent of those that match.
  template <typename Match>
  const Outgoing* find(Match match) const {
    for (auto sent = sent_.rbegin(); sent != sent_.rend(); ++sent) {
      if (match(*sent)) return &*sent;
    }
    return nullptr;
  }

  static bool same_bytes(const Payload& a, const Payload& b) {
    return std::ranges::equal(a.bytes(), b.bytes());
  }

  ByteBuffer other_call(int peer) const {
    const Communicator other(*inner_, 77'777, Deadline::never());
    ByteBuffer message = new_message();
    append_value(message, std::uint64_t{1});
    const Payload sealed = other.seal("header exchange", std::move(message), peer);
    return {sealed.bytes().begin(), sealed.bytes().end()};
  }

  std::unique_ptr<Transport> inner_;
  Fault& fault_;
  int num_sent_ = 0;
  std::vector<Outgoing> sent_;
};

}  // namespace tandem::collectives::test
