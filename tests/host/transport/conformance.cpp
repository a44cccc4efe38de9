// SPDX-License-Identifier: Apache-2.0
//
// Contents are words that count up from a seed of (source, destination, tag): cheap to make and to
// compare at 64 MiB, and different everywhere.
#include "host/transport/conformance.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

namespace tandem::test {
namespace {

using transport::ByteBuffer;
using transport::Exchange;
using transport::Incoming;
using transport::Payload;

std::uint64_t seed_of(int source, int destination, transport::Tag tag) {
  const auto pair =
      static_cast<std::uint64_t>(source) << 16 | static_cast<std::uint64_t>(destination & 0xffff);
  return (pair << 24 | tag) * 0x9e3779b97f4a7c15ull;
}

ByteBuffer contents(std::size_t bytes, std::uint64_t seed) {
  ByteBuffer buffer(bytes);
  std::size_t at = 0;
  for (; at + sizeof(seed) <= bytes; at += sizeof(seed), seed += 0x100000001b3ull) {
    std::memcpy(buffer.data() + at, &seed, sizeof(seed));
  }
  if (at < bytes) std::memcpy(buffer.data() + at, &seed, bytes - at);
  return buffer;
}

Payload text_payload(std::string_view text) {
  ByteBuffer buffer(text.size());
  std::memcpy(buffer.data(), text.data(), text.size());
  return Payload(std::move(buffer));
}

std::string text_of(const Payload& payload) {
  return {reinterpret_cast<const char*>(payload.bytes().data()), payload.size()};
}

// Another size for every ordered pair, zero among them, on both sides of usual inline limits.
std::size_t pair_bytes(int source, int destination, int world) {
  const auto pair = static_cast<std::size_t>(source * world + destination);
  constexpr std::size_t kMost = std::size_t{1} << 18;
  return pair % 5 == 0 ? 0 : pair * 7919 % kMost + pair % 3;
}

}  // namespace

Conformance::Conformance(transport::Transport& transport, Deadline deadline)
    : transport_(transport), deadline_(deadline) {}

void Conformance::expect(bool holds, const std::string& what) const {
  if (!holds) throw ConformanceError("rank " + std::to_string(rank()) + ": " + what);
}

Conformance::Outgoing Conformance::outgoing(int to, std::size_t bytes, Tag tag) const {
  return {to, Payload(contents(bytes, seed_of(rank(), to, tag))), tag};
}

void Conformance::expect_message(const Incoming& message, std::size_t bytes, Tag tag) const {
  const std::string name =
      "the message of tag " + std::to_string(tag) + " from rank " + std::to_string(message.peer);
  expect(message.payload.size() == bytes, name + " has " + std::to_string(message.payload.size()) +
                                              " bytes, not " + std::to_string(bytes));
  const ByteBuffer wanted = contents(bytes, seed_of(message.peer, rank(), tag));
  expect(bytes == 0 || std::memcmp(message.payload.bytes().data(), wanted.data(), bytes) == 0,
         name + " has other contents");
}

void Conformance::take_all(Exchange& exchange, const std::vector<std::size_t>& sizes, Tag tag,
                           std::size_t expected_messages) const {
  std::vector<bool> seen(sizes.size(), false);
  for (std::size_t taken = 0; taken < expected_messages; ++taken) {
    const auto message = exchange.next(deadline_);
    expect(message.has_value(), "an exchange ended before all its messages came");
    const auto peer = static_cast<std::size_t>(message->peer);
    expect(peer < seen.size() && !seen[peer], "a peer's message came twice");
    seen[peer] = true;
    expect_message(*message, sizes[peer], tag);
  }
  expect(!exchange.next(deadline_).has_value(), "an exchange brought more than it was asked for");
  exchange.finish(deadline_);
}

void Conformance::names() {
  expect(!transport_.kind().empty(), "a transport without a kind");
  expect(!transport_.node_name().empty(), "a transport without a node name");
  const Tag tag = next_tag_++;
  std::vector<Outgoing> sends;
  std::vector<Source> sources;
  for (int distance = 1; distance < world(); ++distance) {
    sends.push_back({at_distance(distance), text_payload(transport_.kind()), tag});
    sources.push_back({at_distance(-distance), tag});
  }
  const auto exchange = transport_.start(std::move(sends), std::move(sources));
  while (const auto message = exchange->next(deadline_)) {
    expect(text_of(message->payload) == transport_.kind(), "ranks differ in the transport's kind");
  }
  exchange->finish(deadline_);
}

void Conformance::sizes(std::size_t largest_bytes) {
  if (world() == 1) return;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{4095}, std::size_t{65536},
        std::size_t{1000003}, std::size_t{8} << 20, largest_bytes}) {
    if (bytes > largest_bytes) continue;
    const Tag tag = next_tag_++;
    std::vector<Outgoing> sends;
    sends.push_back(outgoing(at_distance(1), bytes, tag));
    const auto exchange = transport_.start(std::move(sends), {{at_distance(-1), tag}});
    take_all(*exchange, std::vector<std::size_t>(static_cast<std::size_t>(world()), bytes), tag, 1);
  }
}

void Conformance::all_to_all_of_distinct_sizes() {
  for (int round = 0; round < 3; ++round) {
    const Tag tag = next_tag_++;
    std::vector<Outgoing> sends;
    std::vector<Source> sources;
    std::vector<std::size_t> sizes(static_cast<std::size_t>(world()));
    for (int distance = 1; distance < world(); ++distance) {
      const int to = at_distance(distance);
      const int from = at_distance(-distance);
      sends.push_back(outgoing(to, pair_bytes(rank(), to, world()), tag));
      sources.push_back({from, tag});
      sizes[static_cast<std::size_t>(from)] = pair_bytes(from, rank(), world());
    }
    const std::size_t num_sources = sources.size();
    const auto exchange = transport_.start(std::move(sends), std::move(sources));
    take_all(*exchange, sizes, tag, num_sources);
  }
}

void Conformance::overlapping_exchanges() {
  if (world() == 1) return;
  constexpr Tag kExchanges = 24;
  const Tag first = next_tag_;
  next_tag_ += kExchanges;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  const auto bytes_of = [](Tag number) { return std::size_t{1} << (number % 19); };
  for (Tag number = 0; number < kExchanges; ++number) {
    const int distance = 1 + static_cast<int>(number) % (world() - 1);
    std::vector<Outgoing> sends;
    sends.push_back(outgoing(at_distance(distance), bytes_of(number), first + number));
    exchanges.push_back(
        transport_.start(std::move(sends), {{at_distance(-distance), first + number}}));
  }
  for (Tag number = kExchanges; number-- > 0;) {
    take_all(*exchanges[number],
             std::vector<std::size_t>(static_cast<std::size_t>(world()), bytes_of(number)),
             first + number, 1);
  }
}

void Conformance::one_payload_to_several() {
  // As much data per rank in a large world as in one of two ranks.
  const std::size_t large = (std::size_t{6} << 20) / static_cast<std::size_t>(world());
  for (const std::size_t bytes : {std::size_t{100}, large}) {
    const Tag tag = next_tag_++;
    const Payload payload(contents(bytes, seed_of(rank(), 0, tag)));
    std::vector<Outgoing> sends;
    std::vector<Source> sources;
    for (int distance = 1; distance < world(); ++distance) {
      sends.push_back({at_distance(distance), payload, tag});
      sources.push_back({at_distance(-distance), tag});
    }
    const auto exchange = transport_.start(std::move(sends), std::move(sources));
    while (const auto message = exchange->next(deadline_)) {
      const ByteBuffer wanted = contents(bytes, seed_of(message->peer, 0, tag));
      expect(message->payload.size() == bytes &&
                 std::memcmp(message->payload.bytes().data(), wanted.data(), bytes) == 0,
             "a payload sent to several peers arrived changed");
    }
    exchange->finish(deadline_);
  }
}

// Everyone sends three messages to the next rank before anybody asks for one; they are asked for in
// another order, in steps of their own.
void Conformance::early_messages() {
  if (world() == 1) return;
  constexpr Tag kMessages = 3;
  const Tag first = next_tag_;
  next_tag_ += kMessages;
  const std::size_t bytes[kMessages] = {5, 300000, 0};
  std::vector<std::unique_ptr<Exchange>> sending;
  for (Tag number = 0; number < kMessages; ++number) {
    std::vector<Outgoing> sends;
    sends.push_back(outgoing(at_distance(1), bytes[number], first + number));
    sending.push_back(transport_.start(std::move(sends), {}));
  }
  for (const Tag number : {Tag{2}, Tag{0}, Tag{1}}) {
    const auto receiving = transport_.start({}, {{at_distance(-1), first + number}});
    take_all(*receiving, std::vector<std::size_t>(static_cast<std::size_t>(world()), bytes[number]),
             first + number, 1);
  }
  for (const auto& exchange : sending) {
    expect(!exchange->next(deadline_).has_value(), "a step without sources brought a message");
    exchange->finish(deadline_);
  }
}

// Rank 0 gathers, then scatters; the others send or receive one message.
void Conformance::lopsided_steps() {
  const auto bytes_of = [](int peer) { return static_cast<std::size_t>(peer) * 40000; };
  const Tag gather = next_tag_++;
  const Tag scatter = next_tag_++;
  std::vector<std::size_t> sizes(static_cast<std::size_t>(world()));
  std::vector<Outgoing> sends;
  std::vector<Source> sources;
  for (int peer = 1; peer < world(); ++peer) {
    sizes[static_cast<std::size_t>(peer)] = bytes_of(peer);
    if (rank() == 0) {
      sources.push_back({peer, gather});
      sends.push_back(outgoing(peer, bytes_of(peer), scatter));
    }
  }
  if (rank() == 0) {
    const std::size_t num_sources = sources.size();
    const auto gathering = transport_.start({}, std::move(sources));
    take_all(*gathering, sizes, gather, num_sources);
    transport_.start(std::move(sends), {})->finish(deadline_);
    return;
  }
  sends.push_back(outgoing(0, bytes_of(rank()), gather));
  transport_.start(std::move(sends), {})->finish(deadline_);
  const auto exchange = transport_.start({}, {{0, scatter}});
  sizes[0] = bytes_of(rank());
  take_all(*exchange, sizes, scatter, 1);
  transport_.start({}, {})->finish(deadline_);
}

void Conformance::dropped_messages() {
  if (world() == 1) return;
  const std::vector<std::size_t> sizes(static_cast<std::size_t>(world()), 200000);
  for (const bool take : {false, false, true}) {
    const Tag tag = next_tag_++;
    std::vector<Outgoing> sends;
    sends.push_back(outgoing(at_distance(1), sizes[0], tag));
    const auto exchange = transport_.start(std::move(sends), {{at_distance(-1), tag}});
    if (take) {
      take_all(*exchange, sizes, tag, 1);
    } else {
      exchange->finish(deadline_);
    }
  }
}

void Conformance::counters() {
  const auto before = transport_.traffic();
  all_to_all_of_distinct_sizes();  // three steps
  const auto counted = transport_.traffic() - before;
  expect(counted.steps == 3, "three steps were counted as " + std::to_string(counted.steps));
  expect(counted.peers.size() == static_cast<std::size_t>(world()), "counters of another world");
  for (int peer = 0; peer < world(); ++peer) {
    transport::PeerTraffic wanted;
    if (peer != rank()) {
      wanted = {3 * pair_bytes(rank(), peer, world()), 3, 3 * pair_bytes(peer, rank(), world()), 3};
    }
    expect(counted.peers[static_cast<std::size_t>(peer)] == wanted,
           "the counters of rank " + std::to_string(peer) + " are wrong");
  }
}

void Conformance::everything(std::size_t largest_bytes) {
  names();
  sizes(largest_bytes);
  all_to_all_of_distinct_sizes();
  overlapping_exchanges();
  one_payload_to_several();
  early_messages();
  lopsided_steps();
  dropped_messages();
  counters();
}

}  // namespace tandem::test
