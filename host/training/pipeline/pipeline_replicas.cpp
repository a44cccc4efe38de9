// SPDX-License-Identifier: Apache-2.0
//
// Replicas of a pipeline (declared in pipeline_trainer.h): their groups, and what they sum.
//
// A rank has two groups: the ranks of its replica, and its peers, which have the same layers in
// the other replicas. Two ranks share at most one of them.
#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "collectives/collective.h"
#include "collectives/group_state.h"
#include "common/error.h"
#include "training/pipeline/pipeline_moves.h"
#include "training/pipeline/pipeline_profile.h"
#include "training/pipeline/step_pulse.h"
#include "transport/part_transport.h"

namespace tandem::training {
namespace {

constexpr int kUnusedCalls = 64;

// The parts' messages begin with call 0. Those of the last calls of all ranks may still be read
// then, so they get later numbers.
void use_later_numbers(collectives::Group& all, std::chrono::milliseconds timeout) {
  collectives::barrier(all, {timeout});
  for (int call = 0; call < kUnusedCalls; ++call) {
    const std::uint64_t ticket = all.state().take_ticket();
    all.state().run("replicas", ticket, Deadline::after(timeout), [](collectives::Call&) {});
  }
  collectives::barrier(all, {timeout});
}

}  // namespace

void PipelineTrainer::split_replicas(collectives::Group* all) {
  all_ = group_ = all;
  const int replicas = pipeline_.replicas;
  if (replicas == 1) return;
  if (all == nullptr || all->world() % replicas != 0) {
    throw Error("train", std::to_string(all == nullptr ? 1 : all->world()) + " ranks are not " +
                             std::to_string(replicas) + " equal replicas of a pipeline");
  }
  const int stages = all->world() / replicas;
  replica_ = all->rank() / stages;
  std::vector<int> own, peers;
  for (int stage = 0; stage < stages; ++stage) own.push_back(replica_ * stages + stage);
  for (int one = 0; one < replicas; ++one) peers.push_back(one * stages + all->rank() % stages);
  use_later_numbers(*all, options_.reduce.timeout);
  transport::Transport& transport = all->state().transport();
  pipeline_group_.emplace(std::make_unique<transport::PartTransport>(transport, own));
  peers_.emplace(std::make_unique<transport::PartTransport>(transport, peers));
  group_ = &*pipeline_group_;
}

// The groups and what is on its way use a transport of the caller's.
void PipelineTrainer::leave_replicas() {
  moves_.reset();
  peers_.reset();
  pipeline_group_.reset();
  all_ = group_ = nullptr;
}

// Others wait for the end of the sums, too.
void PipelineTrainer::sum_over_replicas(int first_trained, StepPulse& pulse) {
  if (!peers_) return;
  const bool is_dense = options_.reduce.choice.sparsifier == "dense" ||
                        step_ < options_.reduce.warmup_steps.value_or(0);
  for (const auto& [number, layer] : layers_) {
    if (!learns(number, first_trained)) continue;
    layer->sum_over(*peers_, is_dense);
    pulse.beat();
  }
}

// Numbers of the peers, replica by replica.
std::vector<std::vector<double>> PipelineTrainer::of_replicas(const std::vector<double>& own) {
  if (!peers_) return {own};
  std::vector<std::vector<double>> all;
  collectives::CallOptions options;
  options.timeout = options_.reduce.timeout;
  for (const auto& bytes :
       collectives::allgatherv(*peers_, std::as_bytes(std::span(own)), options)) {
    all.emplace_back(bytes.size() / sizeof(double));
    std::memcpy(all.back().data(), bytes.data(), bytes.size());
  }
  return all;
}

// All replicas decide from the same times.
std::vector<LayerProfile> PipelineTrainer::slowest_of_replicas(std::vector<LayerProfile> profile) {
  std::vector<double> own = {profile_->bytes_per_second};
  for (const LayerProfile& layer : profile) {
    own.insert(own.end(), {layer.seconds.forward, layer.seconds.backward, layer.seconds.weights});
  }
  for (const std::vector<double>& all : of_replicas(own)) {
    double& rate = profile_->bytes_per_second;
    if (all[0] > 0 && (rate == 0 || all[0] < rate)) rate = all[0];
    for (std::size_t layer = 0; layer < profile.size(); ++layer) {
      StageSeconds& seconds = profile[layer].seconds;
      seconds.forward = std::max(seconds.forward, all[1 + 3 * layer]);
      seconds.backward = std::max(seconds.backward, all[2 + 3 * layer]);
      seconds.weights = std::max(seconds.weights, all[3 + 3 * layer]);
    }
  }
  return profile;
}

}  // namespace tandem::training
