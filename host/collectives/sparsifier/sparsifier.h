// SPDX-License-Identifier: Apache-2.0
//
// Sparsifier: chooses which part of a gradient is exchanged in a step, and keeps the rest (the
// residual) for later steps.
//
//   auto sparsifier = make_sparsifier("micro", num_values, options);  // one per parameter and rank
//   StepResult result = sparsifier->step(group, gradient);            // result.mean: on every rank
//
// Bits depend on inputs, options and scheme, not on the number of threads. Scheme auto may change
// the order of additions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/collective.h"
#include "common/raw_vector.h"
#include "common/thread_pool.h"
#include "device/selection_unit.h"

namespace tandem::collectives {

enum class ClearingRule : std::uint8_t {
  kOwn,             // what this rank sent
  kAllGlobal,       // every selected index: every rank contributed there
  kLocalAndGlobal,  // selected here, and kept by the sum
};
std::string_view clearing_rule_name(ClearingRule rule);

enum class NonFinite : std::uint8_t {
  kStop,  // Error on every rank
  kSkip,  // no rank uses its gradient of this step
  kClip,  // a NaN becomes 0, an infinity the largest finite magnitude of that gradient
};

enum class SidcoFit : std::uint8_t { kExponential, kGeneralisedPareto, kGamma };
// The names of the options on the command line.
std::map<std::string, SidcoFit> sidco_fit_names();

// The default values of an algorithm's fields are the published ones.
struct SparsifierOptions {
  double density = 0.01;  // target, in [0, 1]
  std::uint64_t seed = 1;
  NonFinite non_finite = NonFinite::kStop;
  // Set by a caller that has compared all ranks and checked all values for NaN and infinity; then
  // step() does neither.
  bool agreed = false;
  // Scheme, codec, bucket, timeout; wire: f32, f16 or bf16. With 16 bits, rounding errors stay in
  // the residuals and own entries travel by all-gather, so the scheme must be auto or
  // allgather_sparse.
  ReduceOptions reduce;
  ThreadPool* threads = nullptr;  // null: the calling thread only
  std::mutex* turn =
      nullptr;  // held while selecting, so that ranks of one machine measure one after another

  bool only_own_entries = false;      // topk: send and clear the own entries, not the union
  double hard_threshold = 0;          // hard_threshold; 0: 1 / (2 sqrt k)
  double momentum = 0.9;              // dgc
  double clip_norm = 0;               // dgc: of the local gradient, over sqrt n; 0: not clipped
  std::uint64_t steps_per_epoch = 0;  // dgc: warm-up of four epochs; 0: none
  SidcoFit sidco_fit = SidcoFit::kExponential;
  bool published_control = false;          // micro, exdyna: the published steps of the threshold
  std::vector<std::uint64_t> layer_sizes;  // deft: values of each layer; empty: one layer
  std::uint64_t threshold_steps = 32;      // ok_topk: between exact thresholds
  std::uint64_t local_steps = 1;           // chunk_topk: gradients per exchange
  double decay = 1;                        // chunk_topk: of the residual at an exchange
};

// The complete state of a sparsifier between steps; save it for each parameter. `numbers` hold
// thresholds, partitions and counters; `tensors` hold residuals and momentum.
struct SparsifierState {
  std::string name;
  std::uint64_t num_values = 0;
  std::uint64_t step = 0;
  std::map<std::string, std::vector<double>> numbers;
  std::map<std::string, RawVector<float>> tensors;  // [num_values] each
};

// A gradient as consecutive views.
using GradientPieces = std::span<const device::GradientView>;

// Places the residual in a device's memory. Both members belong to one device.
struct DeviceResidence {
  std::unique_ptr<device::SelectionUnit> unit;  // of shape selection_shape()
  std::shared_ptr<device::GradientMemory> memory;
};

struct StepResult {
  SparseTensor mean;     // u32 indices, f32 values; sorted, unique
  bool skipped = false;  // by NonFinite::kSkip; `mean` is empty
  bool local = false;    // a local step: nothing is exchanged; `mean` is empty

  std::uint64_t selected = 0;        // by this rank
  std::uint64_t selected_total = 0;  // by all ranks
  std::uint64_t selected_most = 0;   // by the rank that selected most
  double sent = 0;                   // entries whose values a rank sent, mean over ranks
  double build_up = 1;      // entries of the mean / intended entries; 1 if no rank adds others
  double inefficiency = 0;  // selected_most n / selected_total - 1

  std::uint64_t values_read = 0;  // accumulated values read by this rank's selection
  double accumulate_seconds = 0;  // check without agreement, and residual + gradient
  double select_seconds = 0;
};

class ResidualStore;
struct StepContext;
struct NonFinitePlace;
struct StepPlan;
class SparsifierAlgorithm;

// Ownership: borrows the threads. Threads: one at a time per sparsifier and group.
class Sparsifier {
 public:
  Sparsifier(std::string name, const SparsifierOptions& options,
             std::unique_ptr<ResidualStore> store, std::unique_ptr<SparsifierAlgorithm> algorithm);
  ~Sparsifier();

  // Adds the rank's gradient to its residual, selects, exchanges, and clears what was sent. The
  // rules of selection and clearing are the algorithm's. The result is the mean over ranks of what
  // was sent, sparse and sorted, with the same bits on every rank. So sent + residual = the sum of
  // the gradients (with momentum or decay: the sums that the algorithm's header defines). Density 0
  // sends nothing; density 1 sends everything.
  //
  // With a DeviceResidence the residual is in a device's memory, and gradients may be there too;
  // only entries and numbers come to the host. Results and states are the same (tolerance:
  // residual_store.h), so some ranks may use a device and others not.
  //
  // Errors: ranks first compare name, size, options and step. A mismatch is the same Error on every
  // rank, and no state changes. An Error for a NaN or an infinity names step, rank and place. After
  // a TransportError the step's gradient is in the residual. A device that fails during the check
  // is an Error on every rank; later, a DeviceError on its rank and a TransportError on the others.
  StepResult step(Group& group, std::span<const float> gradient);
  StepResult step(Group& group, GradientPieces gradient);

  std::string_view name() const { return name_; }
  ClearingRule clearing_rule() const;
  std::uint64_t num_values() const;
  std::uint64_t num_steps() const { return step_; }
  // The norm of what has not been sent yet.
  double residual_norm() const;

  SparsifierState state() const;
  // Throws Error, and changes nothing, if the state is of another algorithm or size or lacks a
  // field.
  void restore(const SparsifierState& state);

 private:
  // Compares this rank's next step with that of the other ranks.
  std::optional<NonFinitePlace> agree(Group& group, GradientPieces gradient);
  StepPlan plan_for(GradientPieces gradient);
  std::string size_problem(GradientPieces gradient) const;
  void exchange_everything(StepContext& context);

  std::string name_;
  SparsifierOptions options_;
  std::uint64_t step_ = 0;
  std::unique_ptr<ResidualStore> store_;
  std::unique_ptr<SparsifierAlgorithm> algorithm_;
};

// Throws Error for an unknown name (it lists the known ones), a size of 0 or above 2^32 - 1, or an
// option out of range.
std::unique_ptr<Sparsifier> make_sparsifier(std::string_view name, std::uint64_t num_values,
                                            const SparsifierOptions& options = {});
// The same with the residual on a device. Throws Error if the algorithm needs a velocity and the
// unit has none.
std::unique_ptr<Sparsifier> make_sparsifier(std::string_view name, DeviceResidence device,
                                            const SparsifierOptions& options = {});
// The shape of the unit that a sparsifier needs. Error for an unknown name.
device::SelectionShape selection_shape(std::string_view name, std::uint64_t num_values);
std::vector<std::string> sparsifier_names();

}  // namespace tandem::collectives
