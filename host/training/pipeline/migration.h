// SPDX-License-Identifier: Apache-2.0
//
// Migration: layers that move to other ranks while a step computes, bit by bit.
//
// begin(): the old owners send values and optimiser state, which a step's passes only read, and the
// new owners make room. After the passes the old owners send gradients and residuals; take() gives
// the layers to their new owners. Both owners update. confirm(): a new owner tells the sum of what
// it has, and the old one lets the layer go if its own is the same. So when a rank is lost, each
// layer is still on at least one of the two. Cost: what the step does not hide, mostly gradients.
// Ownership: borrows the transport from begin() on. It must be confirmed, or the transport is
// aborted. Threads: one. Errors: TransportError when a rank is lost; Error("train", ...) for a
// layer that arrived damaged.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "collectives/group.h"
#include "training/pipeline/pipeline_step.h"

namespace tandem::training {

struct LayerMove {
  int layer = 0, from = 0, to = 0;  // ranks
  bool operator==(const LayerMove&) const = default;
};

// Returns the moves of the layers whose rank differs, in the order of layers.
std::vector<LayerMove> moves_between(const StagePlan& before, const StagePlan& after);

struct MigrationInput {
  const std::vector<LayerSpec>& specs;
  const LayerTools& tools;
  std::vector<LayerMove> moves;
  std::chrono::milliseconds timeout{60'000};
};

class Migration {
 public:
  explicit Migration(MigrationInput input) : input_(std::move(input)) {}
  ~Migration();
  Migration(const Migration&) = delete;
  Migration& operator=(const Migration&) = delete;

  // call: a number of the group's, for each of the three.
  void begin(transport::Transport& transport, std::uint32_t call, const RankLayers& layers);
  // After the passes. The gradients are on their way while the caller does something else.
  void send_gradients(std::uint32_t call, const RankLayers& layers);
  void take(RankLayers& layers);
  void confirm(std::uint32_t call, RankLayers& layers);

  std::uint64_t bytes() const { return bytes_; }  // that this rank has sent and received

 private:
  enum class Part : std::uint8_t { kState, kGradients, kConfirmation };
  struct Arrival {
    std::unique_ptr<TrainedLayer> layer;
    std::unique_ptr<transport::Exchange> state, gradients;
  };

  Deadline deadline() const { return Deadline::after(input_.timeout); }
  static transport::Tag tag(std::uint32_t call, int layer, Part part);
  void send(int peer, transport::Tag tag, transport::Payload payload);
  transport::Payload received(transport::Exchange& exchange, const LayerMove& move);

  const MigrationInput input_;
  transport::Transport* transport_ = nullptr;
  std::map<int, Arrival> arrivals_;  // by layer that comes
  std::vector<std::unique_ptr<transport::Exchange>> sends_;
  std::uint64_t bytes_ = 0;
};

// All at once, between two steps. Returns the bytes that this rank has sent and received.
std::uint64_t migrate(collectives::Group& group, const MigrationInput& input, RankLayers& layers);

}  // namespace tandem::training
