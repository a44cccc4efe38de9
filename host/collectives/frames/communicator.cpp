// SPDX-License-Identifier: Apache-2.0
//
// Frames are written directly before the body, and verified before the body is read.
#include "collectives/frames/communicator.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/message_observer.h"

namespace tandem::collectives {
namespace {

constexpr std::uint16_t kMagic = 0x4354;  // "TC"

constexpr std::uint16_t kAnyDestination = 0xffff;

constexpr const char* kInPhase = " (in phase ";

struct Frame {
  std::uint16_t magic;
  std::uint16_t destination;  // a rank of the transport, or kAnyDestination
  std::uint32_t call;
  std::uint32_t number;          // of the messages that the sender sealed in this call
  std::uint32_t body_bytes_low;  // the hash covers the rest of the length
  std::uint64_t hash;
};
static_assert(sizeof(Frame) == kFrameBytes);

// Everything that tells this message from another one is part of the hash, the phase too: schemes
// that run against each other by mistake differ in it.
std::uint64_t hash_message(const char* phase, int source, Frame frame,
                           std::span<const std::byte> body) {
  frame.hash = static_cast<std::uint64_t>(source);
  const std::uint64_t seed = XXH3_64bits_withSeed(
      &frame, sizeof(frame), XXH3_64bits_withSeed(phase, std::strlen(phase), body.size()));
  return XXH3_64bits_withSeed(body.data(), body.size(), seed);
}

}  // namespace

ByteBuffer new_message(std::size_t reserve_body_bytes) {
  ByteBuffer message;
  message.reserve(kFrameBytes + reserve_body_bytes);
  message.resize(kFrameBytes);
  return message;
}

Communicator::Communicator(Transport& transport, std::uint32_t call, Deadline deadline)
    : transport_(&transport), rank_(transport.rank()), call_(call), deadline_(deadline) {
  const auto world = static_cast<std::size_t>(transport.world());
  numbers_ = std::make_shared<Numbers>();
  numbers_->sent.resize(world);
  numbers_->received.resize(world);
  for (int rank = 0; rank < transport.world(); ++rank) ranks_.push_back(rank);
}

Communicator Communicator::subgroup(std::vector<int> members) const {
  Communicator group;
  group.transport_ = transport_;
  group.call_ = call_;
  group.numbers_ = numbers_;
  group.deadline_ = deadline_;
  const auto place = std::find(members.begin(), members.end(), rank_);
  TANDEM_CHECK(place != members.end());
  group.rank_ = static_cast<int>(place - members.begin());
  for (int member : members) group.ranks_.push_back(global(member));
  return group;
}

Payload Communicator::seal(const char* phase, ByteBuffer&& message, int to) const {
  TANDEM_CHECK_OP(message.size(), >=, kFrameBytes);
  const auto body = std::span<const std::byte>(message).subspan(kFrameBytes);
  const auto destination = to < 0 ? kAnyDestination : static_cast<std::uint16_t>(global(to));
  Frame frame{
      kMagic, destination, call_, numbers_->sealed++, static_cast<std::uint32_t>(body.size()), 0};
  frame.hash = hash_message(phase, transport_->rank(), frame, body);
  std::memcpy(message.data(), &frame, sizeof(frame));
  return Payload(std::move(message));
}

Step Communicator::start(const char* phase, std::vector<Outgoing> sends, std::vector<int> sources) {
  const auto tag = [this](std::uint32_t number) {
    return ((call_ & 0xfffu) << 12) | (number & 0xfffu);
  };
  for (Outgoing& send : sends) {
    send.peer = global(send.peer);
    send.tag = tag(numbers_->sent[static_cast<std::size_t>(send.peer)]++);
  }
  std::vector<Source> tagged;
  for (int source : sources) {
    const int peer = global(source);
    tagged.push_back({peer, tag(numbers_->received[static_cast<std::size_t>(peer)]++)});
  }
  Step step;
  step.communicator_ = this;
  step.phase_ = phase;
  const transport::MessagePhase named(phase);
  try {
    step.exchange_ = transport_->start(std::move(sends), std::move(tagged));
  } catch (const TransportError& error) {
    fail(phase, error);
  }
  return step;
}

void Communicator::reject(const char* phase, int source, const std::string& what) const {
  const std::string text =
      "rank " + std::to_string(global(source)) + " sent garbage in phase " + phase + ": " + what;
  transport_->abort(text);  // before the unwinding destroys unfinished exchanges
  throw TransportError(TransportError::Kind::kGarbage, global(source), text, "collectives");
}

void Communicator::verify(const char* phase, int source, std::span<const std::byte> bytes) const {
  if (bytes.size() < kFrameBytes) reject(phase, source, "no frame");
  Frame frame;
  std::memcpy(&frame, bytes.data(), sizeof(frame));
  if (frame.magic != kMagic) reject(phase, source, "not a frame of ours");
  if (frame.call != call_) reject(phase, source, "a message of another call");
  const auto body = bytes.subspan(kFrameBytes);
  if (frame.body_bytes_low != static_cast<std::uint32_t>(body.size())) {
    reject(phase, source, "wrong length");
  }
  if (frame.hash != hash_message(phase, global(source), frame, body)) {
    reject(phase, source, "checksum differs, or it is in another phase");
  }
  if (frame.destination != kAnyDestination && frame.destination != transport_->rank()) {
    reject(phase, source, "a message for rank " + std::to_string(frame.destination));
  }
  const auto stamp = static_cast<std::uint64_t>(global(source)) << 32 | frame.number;
  if (!numbers_->seen.insert(stamp).second) reject(phase, source, "a message it had sent before");
}

void Communicator::fail(const char* phase, const TransportError& error) const {
  const TransportError cause = first_cause(error);
  std::string text = plain_text(cause);
  if (text.find("in phase ") == std::string::npos)
    text += kInPhase + std::string(phase) + note_ + ")";
  transport_->abort(text);  // the peers learn the reason
  throw TransportError(cause.kind(), cause.peer(), text, "collectives");
}

Message Communicator::send_receive(const char* phase, int to, ByteBuffer&& message, int from) {
  std::vector<Outgoing> sends;
  sends.push_back({to, seal(phase, std::move(message), to)});
  Step step = start(phase, std::move(sends), {from});
  Message received = *step.next();
  step.finish();
  return received;
}

void Communicator::send(const char* phase, int to, ByteBuffer&& message) {
  std::vector<Outgoing> sends;
  sends.push_back({to, seal(phase, std::move(message), to)});
  start(phase, std::move(sends), {}).finish();
}

Message Communicator::receive(const char* phase, int from) {
  Step step = start(phase, {}, {from});
  Message received = *step.next();
  step.finish();
  return received;
}

std::vector<std::optional<Message>> Communicator::all_to_all(const char* phase,
                                                             std::vector<ByteBuffer> by_rank) {
  TANDEM_CHECK_OP(by_rank.size(), ==, ranks_.size());
  std::vector<Outgoing> sends;
  std::vector<int> sources;
  // Each rank starts with its neighbour, so that the ranks do not all send to the same rank first.
  for (int distance = 1; distance < world(); ++distance) {
    const int to = (rank_ + distance) % world();
    sends.push_back({to, seal(phase, std::move(by_rank[static_cast<std::size_t>(to)]), to)});
    sources.push_back((rank_ - distance + world()) % world());
  }
  std::vector<std::optional<Message>> received(ranks_.size());
  Step step = start(phase, std::move(sends), std::move(sources));
  while (auto message = step.next()) {
    const auto source = static_cast<std::size_t>(message->source());
    received[source] = std::move(message);
  }
  step.finish();
  return received;
}

std::vector<std::optional<Message>> Communicator::all_gather(const char* phase,
                                                             ByteBuffer&& message) {
  const Payload payload = seal(phase, std::move(message));
  std::vector<Outgoing> sends;
  std::vector<int> sources;
  for (int distance = 1; distance < world(); ++distance) {
    sends.push_back({(rank_ + distance) % world(), payload});
    sources.push_back((rank_ - distance + world()) % world());
  }
  std::vector<std::optional<Message>> received(ranks_.size());
  Step step = start(phase, std::move(sends), std::move(sources));
  while (auto incoming = step.next()) {
    const auto source = static_cast<std::size_t>(incoming->source());
    received[source] = std::move(incoming);
  }
  step.finish();
  return received;
}

Step::Step(Step&&) noexcept = default;
Step& Step::operator=(Step&&) noexcept = default;

// Runs during an exception: transports allow the destruction of unfinished exchanges only after an
// abort.
Step::~Step() {
  if (!exchange_ || finished_) return;
  Transport& transport = *communicator_->transport_;
  try {
    transport.abort(std::string("the call failed in phase ") + phase_);
  } catch (const std::bad_alloc&) {
    transport.abort("out of memory");  // short enough to need none
  }
}

std::optional<Message> Step::next() {
  std::optional<Incoming> incoming;
  try {
    incoming = exchange_->next(communicator_->deadline_);
  } catch (const TransportError& error) {
    communicator_->fail(phase_, error);
  }
  if (!incoming) return std::nullopt;
  const auto place =
      std::find(communicator_->ranks_.begin(), communicator_->ranks_.end(), incoming->peer);
  const int source = static_cast<int>(place - communicator_->ranks_.begin());
  communicator_->verify(phase_, source, incoming->payload.bytes());
  return Message(source, std::move(incoming->payload));
}

void Step::finish() {
  try {
    exchange_->finish(communicator_->deadline_);
    finished_ = true;
  } catch (const TransportError& error) {
    communicator_->fail(phase_, error);
  }
}

}  // namespace tandem::collectives
