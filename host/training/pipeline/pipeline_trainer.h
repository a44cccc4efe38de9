// SPDX-License-Identifier: Apache-2.0
//
// PipelineTrainer: the loop of a training run whose layers are divided over several ranks.
//
// All ranks run the same loop. Losses, gradient norms and weights have the bits of a Trainer on one
// rank with the same micro-batches (batch, accumulate). A checkpoint has the form of a Trainer's,
// so each can continue the run of the other. Layers are timed in every step; at rebalance points
// all ranks decide from the same profile which layers move (migration.h). Ownership: borrows what
// the parts name. Threads: one; request_stop() from any, and from signal handlers. Errors:
// Error("train", ...); TransportError when a rank is lost, and then --resume continues from the
// last checkpoint.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/group.h"
#include "training/pipeline/changing_work.h"
#include "training/pipeline/pipeline_step.h"
#include "training/pipeline/rebalance.h"
#include "training/trainer/checkpoint.h"
#include "training/trainer/language_model.h"
#include "training/trainer/token_text.h"
#include "training/trainer/trainer.h"

namespace tandem::training {

class StepPulse;

struct PipelineOptions {
  PassOrder order = PassOrder::kOneForward;
  int chunks = 1;                     // stages of a rank
  planner::Cuts cuts;                 // of the first step; empty: equal numbers of layers
  std::uint64_t rebalance_every = 0;  // steps; 0: the layers stay
  std::uint64_t warm_up = 0;          // first steps of the process, whose times do not count
  ChangingWork work;
  LayerClock clock = LayerClock::kWall;
  int replicas = 1;              // of the pipeline, over which gradients are summed
  bool overlap = true;           // layers move while a step computes
  std::optional<double> repack;  // how much longer a step on fewer ranks may be; none: never fewer
  std::int64_t rank_bytes = planner::kNoStageLimit;  // of a rank's weights and optimiser state
  // Decides at a rebalance point in place of choose_stages(); equal on all ranks.
  std::function<std::optional<NewStages>(std::uint64_t step, const RebalanceQuestion&)> choose = {};
};

struct PipelineParts {
  std::vector<ParameterSpec> parameters;  // of the whole model
  int num_blocks = 0;
  int width = 0;
  std::uint64_t losses_of_sample = 0;
  MakeLayer make;
  // Sets the first values of these parameters, by number; not called by a resumed run.
  std::function<void(const std::map<std::size_t, std::span<float>>&)> fill;
  std::function<TokenBatch(std::uint64_t first_sample)> batch;
  OpenLogs open_logs = {};
  const LanguageModel* model = nullptr;  // that checkpoints describe; null: none
  // Scores a text by losses(), the same batches on all ranks; empty: there is none.
  std::function<Likelihood(Computation& forward)> score = {};
  // Called on rank 0 with what the pipeline did: a migration, or the profile at the end.
  std::function<void(const nlohmann::ordered_json&)> tell = {};
};

class PipelineTrainer {
 public:
  PipelineTrainer(const TrainerOptions& options, const PipelineOptions& pipeline,
                  PipelineParts parts);
  ~PipelineTrainer();

  void resume(const Checkpoint& checkpoint);
  // group: rank r of it is rank r % stages of replica r / stages; null: one rank.
  void run(collectives::Group* group);

  std::uint64_t steps_done() const { return step_; }
  bool was_stopped() const { return stopped_; }
  int num_layers() const { return static_cast<int>(specs_.size()); }
  const StagePlan& plan() const { return plan_; }
  RankLayers& layers() { return layers_; }
  static void request_stop() { stop_requested().store(true); }

 private:
  struct Sums;        // of a step, over all ranks
  struct Profile;     // of the steps since the last change
  class ForwardOnly;  // losses() through all ranks

  static std::atomic<bool>& stop_requested();
  int world() const { return group_ == nullptr ? 1 : group_->world(); }
  // Of all replicas: it writes logs.
  bool is_first() const { return rank() == 0 && replica_ == 0; }
  int rank() const { return group_ == nullptr ? 0 : group_->rank(); }
  Patience patience() const { return {options_.reduce.timeout, {}}; }
  std::uint64_t samples_of_step() const;
  float current_depth() const {
    return static_cast<float>(depth_share(pipeline_.work.depth, step_, options_.steps));
  }
  float current_skew() const {
    return static_cast<float>(skew_at(pipeline_.work.skew, step_, options_.steps));
  }
  bool has_shared_matrix() const { return specs_.back().tied; }

  void split_replicas(collectives::Group* all);
  void leave_replicas();
  void sum_over_replicas(int first_trained, StepPulse& pulse);
  std::vector<std::vector<double>> of_replicas(const std::vector<double>& own);
  bool learns(int layer, int first_trained) const;
  void make_plan();
  void make_layers();
  void fill_layers();
  void share_matrix();
  void train_step();
  StepOutcome run_passes(int first_trained);
  StepOutcome own_passes(int first_trained, transport::Transport* transport, std::uint32_t call,
                         StepPulse& pulse);
  Sums sum_up(const StepOutcome& outcome);
  void update(const Sums& sums, int first_trained);
  void cut_together_with_others(int first_trained);
  void refuse_nan();
  void log_step(const Sums& sums);
  void evaluate_now();
  void rebalance();
  void look_ahead(RebalanceQuestion& question) const;
  std::vector<LayerProfile> gather_profile();
  std::vector<LayerProfile> slowest_of_replicas(std::vector<LayerProfile> profile);
  void begin_moves(const NewStages& found);
  void send_moving_gradients();
  void take_moving_layers();
  void finish_moves();
  void tell_window(const std::vector<LayerProfile>& profile);
  void tell_profile();
  void save(const transport::ByteBuffer& residuals);
  void save_if_due();
  void write_parts_of(const std::string& folder);
  bool has_residuals() const;
  nlohmann::ordered_json residual_fields() const;
  transport::ByteBuffer gather_residuals();
  void write_residuals(const std::string& folder, const transport::ByteBuffer& residuals);
  void restore_residuals(const Checkpoint& checkpoint);
  nlohmann::ordered_json checkpoint_fields() const;
  void restore(const Checkpoint& checkpoint);

  const TrainerOptions options_;
  const PipelineOptions pipeline_;
  const PipelineParts parts_;
  const std::vector<LayerSpec> specs_;
  ThreadPool pool_;
  const LayerTools tools_;
  collectives::Group* all_ = nullptr;                         // all replicas
  std::optional<collectives::Group> pipeline_group_, peers_;  // with replicas
  int replica_ = 0;
  collectives::Group* group_ = nullptr;  // of the own replica's ranks
  StagePlan plan_, first_plan_;
  RankLayers layers_;
  std::optional<Checkpoint> resumed_;
  std::vector<TrainingLog*> logs_;
  std::unique_ptr<Profile> profile_;
  struct Moves;
  std::unique_ptr<Moves> moves_;  // layers that are on their way
  std::uint64_t step_ = 0, samples_ = 0, warm_up_left_ = 0;
  bool stopped_ = false;
};

}  // namespace tandem::training
