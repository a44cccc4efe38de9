// SPDX-License-Identifier: Apache-2.0
//
// Trainer: the loop of a training run: batches, gradients, their mean over ranks, updates,
// checkpoints, logs.
//
// All ranks run the same loop. The samples of a step depend only on seed and step, so a resumed run
// has the bits of an uninterrupted one with the same threads and ranks. After a TransportError, or
// when wants_ranks(), run() may be called again with another group; it then continues from the last
// checkpoint. Ownership: borrows all arguments. Threads: one; request_stop() from any, and from
// signal handlers. Errors: Error("train", ...); those of libtorch and the reducer.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/group.h"
#include "common/clock.h"
#include "training/optimizer/optimizer.h"
#include "training/trainer/checkpoint.h"
#include "training/trainer/dense_update.h"
#include "training/trainer/gradient_mean.h"
#include "training/trainer/local_directions.h"
#include "training/trainer/option_agreement.h"
#include "training/trainer/pruning.h"
#include "training/trainer/run_with_heartbeat.h"
#include "training/trainer/schedule.h"
#include "training/trainer/table_update.h"
#include "training/trainer/training_log.h"
#include "training/trainer/training_task.h"

namespace tandem::training {

// The reaction to a NaN or an infinity in loss or gradient, the same on all ranks.
enum class OnNaN : std::uint8_t {
  kStop,  // Error
  kSkip,  // the step changes nothing
  kBack,  // returns to the last checkpoint; the samples since then are not used again
};

enum class Offload : std::uint8_t {
  kNone,  // every rank updates all dense weights
  kHost,  // a HostOffload divides the updates over the ranks
  kAuto,  // the place that offload_choice.h predicts to be faster
};

// The trial of --reduce auto: kRounds times some steps of each kind, which are undone afterwards.
// Sparse steps are used if they take at most kGain of the dense ones' time.
struct ReduceTrial {
  static constexpr int kRounds = 2, kUnmeasured = 2, kMeasured = 4;
  static constexpr double kGain = 0.97;
};

struct TrainerOptions {
  std::string out;          // folder of checkpoints; empty: none
  std::uint64_t steps = 0;  // of the whole run, including earlier parts before a resume
  int batch = 8;            // samples of a rank in one pass
  int accumulate = 1;       // passes per step
  std::uint64_t seed = 1;
  Schedule schedule;
  UpdateRule rule = Adam{};
  UpdateRule table_rule = RowwiseAdagrad{};
  double table_rate = 0.01;  // instead of the schedule's rate
  double clip = 1;           // limit of the whole gradient's norm, including tables; 0: none
  Offload offload = Offload::kNone;
  std::function<TableCards()> make_cards;  // for tables; empty: host memory
  std::function<CardFacts()> card_facts;   // see TableUpdateOptions
  bool try_cards = false;                  // see TableUpdateOptions; equal on all ranks
  OnNaN on_nan = OnNaN::kStop;
  Pruning pruning;
  ReduceOptions reduce;
  std::uint64_t log_every = 1;
  std::uint64_t save_every = 0;  // interval in steps; 0: only at the end
  int keep = 2;                  // number of checkpoints
  std::uint64_t evaluate_every = 0;
  bool save_first = false;             // a checkpoint before the first step
  int threads = 1;                     // threads of the optimiser
  const Clock* clock = &real_clock();  // for the ReduceTrial
  OptionValues described;  // the options that decide the bits of a run; a checkpoint stores them
};

// Called on rank 0 before its first step, with the number of steps that are done, and again after a
// return to a checkpoint. May be empty.
using OpenLogs = std::function<std::vector<TrainingLog*>(std::uint64_t step)>;
// Called on rank 0 before a checkpoint: returns whether new ranks wait to join at it. May be empty.
using RanksWait = std::function<bool()>;

struct TrainerParts {
  TrainingTask& task;
  ParameterSet& parameters;
  OpenLogs open_logs;
  RanksWait ranks_wait = {};
  std::function<void()> at_work = {};  // see Patience
};

// Trainer trainer(options, {task, parameters, open_logs});
// trainer.resume(find_checkpoint(folder));   // or start from the parameters as they are
// trainer.run(group);                        // null: one rank
class Trainer {
 public:
  Trainer(const TrainerOptions& options, const TrainerParts& parts);
  ~Trainer();

  void resume(const Checkpoint& checkpoint);
  void run(collectives::Group* group);

  std::uint64_t steps_done() const { return step_; }
  bool was_stopped() const { return stopped_; }
  // Whether run() has ended at a checkpoint because new ranks wait; the same on all ranks.
  bool wants_ranks() const { return wants_ranks_; }
  static void request_stop() { stop_requested().store(true); }

 private:
  struct Interval;  // since the last line of the log

  static std::atomic<bool>& stop_requested();
  int rank() const { return group_ == nullptr ? 0 : group_->rank(); }
  int world() const { return group_ == nullptr ? 1 : group_->world(); }
  std::uint64_t samples_of_step() const;

  void drop_updates();
  bool updates_early() const;
  StepFactors step_factors() const;
  void choose_place();
  std::vector<bool> parameters_with_directions() const;
  void choose_reduction();
  void try_steps(const ReduceChoice& choice, std::vector<double>& seconds);
  void make_updates();
  void make_tables();
  void restore();
  std::string newest_checkpoint() const;
  void run_steps();
  void train_step(Interval& interval);
  void reduce_gradients(GradientMean::Numbers& numbers, Interval& interval);
  double backward();
  double gradient_norm(const GradientMean::Numbers& numbers);
  void update(double norm);
  bool act_on_nan();
  void go_back();

  void log_step(Interval& interval, double loss, double norm);
  void evaluate_now();

  bool is_save_due(std::uint64_t step) const;
  bool ranks_wait() const;
  Patience patience() const { return {options_.reduce.timeout, parts_.at_work}; }
  void open_logs();
  bool save_if_due();
  void save();
  void write_files(const std::string& folder);
  nlohmann::ordered_json checkpoint_fields(const ReduceState& reduce) const;
  std::vector<TensorPlace> state_places() const;
  std::vector<StateView> state(bool with_dense, bool all_directions);
  void note_choice(const Checkpoint& checkpoint);
  void restore_values(const Checkpoint& checkpoint);
  void restore_state(const Checkpoint& checkpoint);
  void restore_reduction(const Checkpoint& checkpoint);

  TrainerOptions options_;
  bool offloaded_ = false;
  ReduceOptions reduce_;  // with the result of `auto`
  std::optional<ReduceChoice> chosen_;
  int chosen_world_ = 0;
  TrainerParts parts_;
  collectives::Group* group_ = nullptr;
  std::unique_ptr<GradientMean> mean_;           // outlives dense_, which waits for its buckets
  std::unique_ptr<LocalDirections> directions_;  // null: gradients are reduced
  std::unique_ptr<DenseUpdate> dense_;
  std::unique_ptr<TableUpdate> tables_;  // null: the task has none
  std::vector<TrainingLog*> logs_;
  std::string last_;  // folder of the checkpoint from which to continue; empty: none
  std::optional<Checkpoint> resumed_;  // already verified
  bool has_run_ = false;
  bool has_saved_ = false;  // `out` has checkpoints of this run
  std::uint64_t step_ = 0;
  std::uint64_t samples_ = 0;  // samples used by all ranks together
  int times_back_ = 0;         // returns to a checkpoint since the last checkpoint
  bool stopped_ = false;
  bool wants_ranks_ = false;
};

}  // namespace tandem::training
