// SPDX-License-Identifier: Apache-2.0
//
// A message is the sum of the bytes behind it; a confirmation is the sum of the layer.
#include "training/pipeline/migration.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "collectives/group_state.h"
#include "common/error.h"

namespace tandem::training {
namespace {

using transport::ByteBuffer;
using transport::Payload;
using transport::Transport;

using Sum = std::uint64_t;

Sum sum_of(std::span<const std::byte> bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

Payload payload_of(Sum sum, std::span<const std::byte> body) {
  ByteBuffer bytes;
  bytes.resize(sizeof(sum) + body.size());
  std::memcpy(bytes.data(), &sum, sizeof(sum));
  if (!body.empty()) std::memcpy(bytes.data() + sizeof(sum), body.data(), body.size());
  return Payload(std::move(bytes));
}

Sum sum_in(std::span<const std::byte> message) {
  Sum sum = 0;
  if (message.size() >= sizeof(sum)) std::memcpy(&sum, message.data(), sizeof(sum));
  return sum;
}

std::span<const std::byte> body_of(const Payload& message) {
  return message.bytes().subspan(std::min(sizeof(Sum), message.size()));
}

}  // namespace

Migration::~Migration() {
  if (transport_ != nullptr) transport_->abort("layers were moving to other ranks");
}

transport::Tag Migration::tag(std::uint32_t call, int layer, Part part) {
  return ((call & 0xfffu) << 12) | static_cast<std::uint32_t>(3 * layer + static_cast<int>(part));
}

void Migration::send(int peer, transport::Tag tag, Payload payload) {
  bytes_ += payload.size();
  std::vector<transport::Outgoing> outgoing;
  outgoing.push_back({peer, std::move(payload), tag});
  sends_.push_back(transport_->start(std::move(outgoing), {}));
}

Payload Migration::received(transport::Exchange& exchange, const LayerMove& move) {
  auto message = exchange.next(deadline());
  TANDEM_CHECK(message.has_value());
  exchange.finish(deadline());
  bytes_ += message->payload.size();
  if (sum_of(body_of(message->payload)) != sum_in(message->payload.bytes())) {
    throw Error("train", "layer " + std::to_string(move.layer) + " arrived damaged from rank " +
                             std::to_string(move.from));
  }
  return std::move(message->payload);
}

void Migration::begin(Transport& transport, std::uint32_t call, const RankLayers& layers) {
  transport_ = &transport;
  for (const LayerMove& move : input_.moves) {
    const auto state = tag(call, move.layer, Part::kState);
    if (move.from == transport.rank()) {
      const ByteBuffer bytes = layers.at(move.layer)->bytes();
      send(move.to, state, payload_of(sum_of(bytes), bytes));
    }
    if (move.to != transport.rank()) continue;
    const LayerSpec& spec = input_.specs[static_cast<std::size_t>(move.layer)];
    arrivals_[move.layer] = {std::make_unique<TrainedLayer>(spec, input_.tools),
                             transport.start({}, {{move.from, state}}), nullptr};
  }
}

void Migration::send_gradients(std::uint32_t call, const RankLayers& layers) {
  for (const LayerMove& move : input_.moves) {
    const auto gradients = tag(call, move.layer, Part::kGradients);
    if (move.from == transport_->rank()) {
      const ByteBuffer bytes = layers.at(move.layer)->late_bytes();
      send(move.to, gradients, payload_of(sum_of(bytes), bytes));
    }
    if (move.to != transport_->rank()) continue;
    arrivals_.at(move.layer).gradients = transport_->start({}, {{move.from, gradients}});
  }
}

void Migration::take(RankLayers& layers) {
  for (const LayerMove& move : input_.moves) {
    if (move.to != transport_->rank()) continue;
    Arrival& arrival = arrivals_.at(move.layer);
    arrival.layer->restore(body_of(received(*arrival.state, move)));
    arrival.layer->restore_late(body_of(received(*arrival.gradients, move)));
    layers.insert_or_assign(move.layer, std::move(arrival.layer));
  }
}

void Migration::confirm(std::uint32_t call, RankLayers& layers) {
  const auto of = [&](const LayerMove& move) { return tag(call, move.layer, Part::kConfirmation); };
  for (const LayerMove& move : input_.moves) {
    if (move.to != transport_->rank()) continue;
    send(move.from, of(move), payload_of(sum_of(layers.at(move.layer)->bytes()), {}));
  }
  for (const LayerMove& move : input_.moves) {
    if (move.from != transport_->rank()) continue;
    const Payload message = transport_->receive(move.to, of(move), deadline());
    bytes_ += message.size();
    if (sum_in(message.bytes()) != sum_of(layers.at(move.layer)->bytes())) {
      throw Error("train", "rank " + std::to_string(move.to) + " has another layer " +
                               std::to_string(move.layer) + " than it was sent");
    }
    layers.erase(move.layer);
  }
  for (const auto& exchange : sends_) exchange->finish(deadline());
  transport_ = nullptr;
}

std::vector<LayerMove> moves_between(const StagePlan& before, const StagePlan& after) {
  std::vector<LayerMove> moves;
  for (int layer = 0; layer < before.num_layers; ++layer) {
    const int from = before.rank_of(layer), to = after.rank_of(layer);
    if (from != to) moves.push_back({layer, from, to});
  }
  return moves;
}

std::uint64_t migrate(collectives::Group& group, const MigrationInput& input, RankLayers& layers) {
  collectives::Group::State& state = group.state();
  const std::uint64_t ticket = state.take_ticket();
  const auto call = static_cast<std::uint32_t>(ticket);
  std::uint64_t bytes = 0;
  state.run("migrate", ticket, Deadline::after(input.timeout), [&](collectives::Call&) {
    Migration migration(input);
    migration.begin(state.transport(), call, layers);
    migration.send_gradients(call, layers);
    migration.take(layers);
    migration.confirm(call, layers);
    bytes = migration.bytes();
  });
  return bytes;
}

}  // namespace tandem::training
