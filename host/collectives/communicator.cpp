// SPDX-License-Identifier: Apache-2.0
//
// Frames: written in place before the body, verified before anybody looks at it.
#include "collectives/communicator.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tandem::collectives {
namespace {

constexpr std::uint32_t kMagic = 0x4c4c4354u;  // "TCLL"

struct Frame {
  std::uint32_t magic;
  std::uint32_t call;
  std::uint64_t body_bytes;
  std::uint64_t hash;
};
static_assert(sizeof(Frame) == kFrameBytes);

// Phases differ between schemes that run against each other by mistake: part of the hash.
std::uint64_t hash_body(const char* phase, std::span<const std::byte> body) {
  const std::uint64_t seed = XXH3_64bits(phase, std::strlen(phase));
  return XXH3_64bits_withSeed(body.data(), body.size(), seed);
}

std::string describe_wait(const char* phase, const TransportError& error) {
  std::string text = error.what();
  const std::string prefix = "[collectives] ";
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return text + " (in phase " + phase + ")";
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

Payload Communicator::seal(const char* phase, ByteBuffer&& message) const {
  TANDEM_CHECK_OP(message.size(), >=, kFrameBytes);
  const auto body = std::span<const std::byte>(message).subspan(kFrameBytes);
  const Frame frame{kMagic, call_, body.size(), hash_body(phase, body)};
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
  try {
    step.exchange_ = transport_->start(std::move(sends), std::move(tagged));
  } catch (const TransportError& error) {
    throw TransportError(error.kind(), error.peer(), describe_wait(phase, error));
  }
  return step;
}

void Communicator::reject(const char* phase, int source, const std::string& what) const {
  throw TransportError(
      TransportError::Kind::kGarbage, global(source),
      "rank " + std::to_string(global(source)) + " sent garbage in phase " + phase + ": " + what);
}

Message Communicator::send_receive(const char* phase, int to, ByteBuffer&& message, int from) {
  std::vector<Outgoing> sends;
  sends.push_back({to, seal(phase, std::move(message))});
  Step step = start(phase, std::move(sends), {from});
  Message received = *step.next();
  step.finish();
  return received;
}

void Communicator::send(const char* phase, int to, ByteBuffer&& message) {
  std::vector<Outgoing> sends;
  sends.push_back({to, seal(phase, std::move(message))});
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
  // Everyone starts with the neighbour, so that no rank is everybody's first target.
  for (int distance = 1; distance < world(); ++distance) {
    const int to = (rank_ + distance) % world();
    sends.push_back({to, seal(phase, std::move(by_rank[static_cast<std::size_t>(to)]))});
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
Step::~Step() = default;

std::optional<Message> Step::next() {
  std::optional<Incoming> incoming;
  try {
    incoming = exchange_->next(communicator_->deadline_);
  } catch (const TransportError& error) {
    throw TransportError(error.kind(), error.peer(), describe_wait(phase_, error));
  }
  if (!incoming) return std::nullopt;
  const auto place =
      std::find(communicator_->ranks_.begin(), communicator_->ranks_.end(), incoming->peer);
  const int source = static_cast<int>(place - communicator_->ranks_.begin());
  const auto bytes = incoming->payload.bytes();
  if (bytes.size() < kFrameBytes) communicator_->reject(phase_, source, "no frame");
  Frame frame;
  std::memcpy(&frame, bytes.data(), sizeof(frame));
  if (frame.magic != kMagic) communicator_->reject(phase_, source, "not a frame of ours");
  if (frame.call != communicator_->call_) {
    communicator_->reject(phase_, source, "a message of another call");
  }
  const auto body = bytes.subspan(kFrameBytes);
  if (frame.body_bytes != body.size()) communicator_->reject(phase_, source, "wrong length");
  if (frame.hash != hash_body(phase_, body)) {
    communicator_->reject(phase_, source, "checksum differs, or it is in another phase");
  }
  return Message(source, std::move(incoming->payload));
}

void Step::finish() {
  try {
    exchange_->finish(communicator_->deadline_);
  } catch (const TransportError& error) {
    throw TransportError(error.kind(), error.peer(), describe_wait(phase_, error));
  }
}

}  // namespace tandem::collectives
