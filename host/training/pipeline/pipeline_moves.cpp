// SPDX-License-Identifier: Apache-2.0
//
// Layers on their way during a step of a PipelineTrainer (declared in pipeline_trainer.h).
//
// The step's passes still follow the old plan. Decided after step t, the new plan holds from step
// t + 2 on. Without overlap all parts of a migration come at once.
#include "training/pipeline/pipeline_moves.h"

#include <numeric>
#include <utility>

#include "collectives/group_state.h"
#include "training/pipeline/pipeline_profile.h"

namespace tandem::training {

namespace {

// Adds the time until it is destroyed.
class MoveTime {
 public:
  MoveTime(double& seconds, double& cost_s, LayerClock clock)
      : seconds_(seconds),
        cost_s_(cost_s),
        clock_(clock),
        begin_s_(seconds_now(LayerClock::kWall)),
        begin_cost_s_(seconds_now(clock)) {}
  ~MoveTime() {
    seconds_ += seconds_now(LayerClock::kWall) - begin_s_;
    cost_s_ += seconds_now(clock_) - begin_cost_s_;
  }
  MoveTime(const MoveTime&) = delete;
  MoveTime& operator=(const MoveTime&) = delete;

 private:
  double &seconds_, &cost_s_;
  const LayerClock clock_;
  const double begin_s_, begin_cost_s_;
};

// A call of the group in which the migration uses its transport.
template <typename Body>
void in_call(collectives::Group& group, std::chrono::milliseconds timeout, const Body& body) {
  collectives::Group::State& state = group.state();
  const std::uint64_t ticket = state.take_ticket();
  state.run("migrate", ticket, Deadline::after(timeout), [&](collectives::Call&) {
    body(state.transport(), static_cast<std::uint32_t>(ticket));
  });
}

}  // namespace

void PipelineTrainer::begin_moves(const NewStages& found) {
  const double begin_s = seconds_now(LayerClock::kWall),
               begin_cost_s = seconds_now(pipeline_.clock);
  StagePlan after = plan_;
  after.cuts = found.cuts;
  if (found.ranks > 0) after.shape.ranks = found.ranks;
  const std::vector<planner::LayerCost> layers(specs_.size());
  planner::StageLoads(layers, {.num_stages = after.shape.stages()}).check(after.cuts);
  moves_ = std::make_unique<Moves>(
      MigrationInput{specs_, tools_, moves_between(plan_, after), options_.reduce.timeout}, after,
      found, step_);
  in_call(*group_, options_.reduce.timeout, [&](transport::Transport& transport, auto call) {
    moves_->migration.begin(transport, call, layers_);
  });
  moves_->seconds += seconds_now(LayerClock::kWall) - begin_s;
  moves_->cost_s += seconds_now(pipeline_.clock) - begin_cost_s;
  if (pipeline_.overlap) return;
  send_moving_gradients();
  take_moving_layers();
  finish_moves();
  share_matrix();
}

void PipelineTrainer::send_moving_gradients() {
  if (!moves_) return;
  const MoveTime time(moves_->seconds, moves_->cost_s, pipeline_.clock);
  in_call(*group_, options_.reduce.timeout, [&](transport::Transport&, auto call) {
    moves_->migration.send_gradients(call, layers_);
  });
}

void PipelineTrainer::take_moving_layers() {
  if (!moves_) return;
  const MoveTime time(moves_->seconds, moves_->cost_s, pipeline_.clock);
  in_call(*group_, options_.reduce.timeout,
          [&](transport::Transport&, auto) { moves_->migration.take(layers_); });
}

// After the update, which both owners of a layer have made.
void PipelineTrainer::finish_moves() {
  if (!moves_) return;
  {
    const MoveTime time(moves_->seconds, moves_->cost_s, pipeline_.clock);
    in_call(*group_, options_.reduce.timeout,
            [&](transport::Transport&, auto call) { moves_->migration.confirm(call, layers_); });
  }
  const std::unique_ptr<Moves> moves = std::move(moves_);
  plan_ = moves->after;
  const double seconds = moves->seconds;
  const std::uint64_t bytes = moves->migration.bytes();
  if (bytes > 0) {
    const double rate = static_cast<double>(bytes) / moves->cost_s;
    double& slowest = profile_->bytes_per_second;
    if (slowest == 0 || rate < slowest) slowest = rate;
  }
  profile_->clear(profile_->frozen, step_);
  profile_->moving_s += seconds;
  profile_->moved_bytes += bytes;
  ++profile_->migrations;
  if (!is_first() || !parts_.tell) return;
  std::vector<int> freed(static_cast<std::size_t>(world() - plan_.shape.ranks));
  std::iota(freed.begin(), freed.end(), plan_.shape.ranks);
  parts_.tell({{"rebalanced_after_step", moves->decided_after},
               {"cuts", plan_.cuts},
               {"freed_ranks", freed},
               {"predicted_step_ms_before", moves->found.old_step_seconds * 1e3},
               {"predicted_step_ms", moves->found.new_step_seconds * 1e3},
               {"migration_ms", seconds * 1e3},
               {"migrated_bytes", bytes}});
}

}  // namespace tandem::training
