// SPDX-License-Identifier: Apache-2.0
//
// A message is the sum of the bytes behind it; a confirmation is that sum.
#include "training/pipeline/migration.h"

#include <xxhash.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "collectives/group_state.h"
#include "common/error.h"

namespace tandem::training {
namespace {

using transport::ByteBuffer;
using transport::Exchange;
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

class Migration {
 public:
  Migration(Transport& transport, std::uint32_t call, const MigrationInput& input,
            RankLayers& layers)
      : transport_(transport), call_(call), input_(input), layers_(layers) {}
  ~Migration() {
    if (!finished_) transport_.abort("layers were moving to other ranks");
  }

  std::uint64_t run() {
    for (const LayerMove& move : input_.moves) {
      if (move.from == transport_.rank()) hand_over(move);
    }
    for (const LayerMove& move : input_.moves) {
      if (move.to == transport_.rank()) take(move);
    }
    for (const LayerMove& move : input_.moves) {
      if (move.from == transport_.rank()) let_go(move);
    }
    for (const auto& exchange : sends_) exchange->finish(deadline());
    finished_ = true;
    return bytes_;
  }

 private:
  Deadline deadline() const { return Deadline::after(input_.timeout); }
  transport::Tag tag(int layer, bool confirms) const {
    return ((call_ & 0xfffu) << 12) | static_cast<std::uint32_t>(2 * layer + (confirms ? 1 : 0));
  }

  void send(int peer, transport::Tag tag, Payload payload) {
    bytes_ += payload.size();
    std::vector<transport::Outgoing> outgoing;
    outgoing.push_back({peer, std::move(payload), tag});
    sends_.push_back(transport_.start(std::move(outgoing), {}));
  }

  Payload receive(int peer, transport::Tag tag) {
    Payload payload = transport_.receive(peer, tag, deadline());
    bytes_ += payload.size();
    return payload;
  }

  void hand_over(const LayerMove& move) {
    const ByteBuffer bytes = layers_.at(move.layer)->bytes();
    sums_[move.layer] = sum_of(bytes);
    send(move.to, tag(move.layer, false), payload_of(sums_[move.layer], bytes));
  }

  void take(const LayerMove& move) {
    const Payload message = receive(move.from, tag(move.layer, false));
    const auto bytes = message.bytes().subspan(std::min(sizeof(Sum), message.size()));
    const Sum sum = sum_of(bytes);
    if (sum != sum_in(message.bytes())) {
      throw Error("train", "layer " + std::to_string(move.layer) + " came damaged from rank " +
                               std::to_string(move.from));
    }
    auto layer = std::make_unique<TrainedLayer>(input_.specs[static_cast<std::size_t>(move.layer)],
                                                input_.tools);
    layer->restore(bytes);
    layers_.insert_or_assign(move.layer, std::move(layer));
    send(move.from, tag(move.layer, true), payload_of(sum, {}));
  }

  void let_go(const LayerMove& move) {
    const Payload message = receive(move.to, tag(move.layer, true));
    if (sum_in(message.bytes()) != sums_[move.layer]) {
      throw Error("train", "rank " + std::to_string(move.to) + " has another layer " +
                               std::to_string(move.layer) + " than it was sent");
    }
    layers_.erase(move.layer);
  }

  Transport& transport_;
  const std::uint32_t call_;
  const MigrationInput& input_;
  RankLayers& layers_;
  std::map<int, Sum> sums_;  // by layer that leaves
  std::vector<std::unique_ptr<Exchange>> sends_;
  std::uint64_t bytes_ = 0;
  bool finished_ = false;
};

}  // namespace

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
  std::uint64_t bytes = 0;
  state.run("migrate", ticket, Deadline::after(input.timeout), [&](collectives::Call&) {
    bytes = Migration(state.transport(), static_cast<std::uint32_t>(ticket), input, layers).run();
  });
  return bytes;
}

}  // namespace tandem::training
