// SPDX-License-Identifier: Apache-2.0
//
// Options of a Reducer, equal on all ranks; README.md of host/training lists them with their JSON
// names.
//
// treatment_of() returns how the gradient of a parameter is sent. The first rule whose glob matches
// the parameter's name applies; its fields replace the defaults. A rule that names a sparsifier
// applies to parameters of any size; otherwise small parameters and vectors are dense. Threads:
// plain data.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/sparsifier/sparsifier.h"
#include "common/clock.h"
#include "device/device.h"
#include "tensor/dtype.h"

namespace tandem::trace {
class Timeline;
class TrainingMetrics;
}  // namespace tandem::trace

namespace tandem::training {

// The reaction to a NaN or an infinity in a bucket of any rank.
enum class OnNonFinite : std::uint8_t {
  kStop,  // NonFiniteError on every rank; nothing changes
  kSkip,  // the bucket's mean is 0 on every rank; residuals stay
  kClip,  // a NaN becomes 0, an infinity the largest finite magnitude of its parameter
  kPass,  // the bucket's mean is NaN on every rank, as a loss scaler expects; residuals stay
};

// When the time of a call counts as not hidden by other work.
enum class HiddenUntil : std::uint8_t {
  kWait,  // while a thread is in wait()
  kLast,  // after the step's last bucket was submitted: for callers that wait on a separate thread
};

constexpr std::string_view kDense = "dense";  // exact, by a dense all-reduce
// kSparse if a trial shows that it is faster, otherwise dense
constexpr std::string_view kAuto = "auto";
constexpr std::string_view kSparse = "exdyna";
constexpr std::string_view kRows = "rows";  // exact; only rows with non-zero values are sent

struct Rule {
  std::string match;                      // glob: *, ? and [...] of a parameter's name
  std::optional<std::string> sparsifier;  // kAuto, kDense, kRows, or one of sparsifier_names()
  std::optional<double> density;
  std::optional<std::string> scheme;
};

// Opens a device by its id, "cuda:0". Throws Error if this build or machine has none.
using OpenDevice = std::function<std::unique_ptr<device::Device>(std::string_view id)>;

struct ReducerOptions {
  std::string sparsifier{kAuto};
  double density = 0.01;
  std::string scheme = "auto";
  DType wire = DType::kF32;  // type of values on the network: f32, f16 or bf16
  std::uint64_t dense_below = 16384;
  bool dense_vectors = true;  // parameters with fewer than two dimensions are dense
  std::vector<Rule> rules;

  // The first steps. They are dense if warmup_density is 1. Otherwise the density falls from
  // warmup_density to the final density in equal parts, by a factor of 4 each time (0.25: 25, 6.25,
  // 1.56, 0.39, ... %). Absent: chosen by with_warmup().
  std::optional<std::uint64_t> warmup_steps;
  std::optional<double> warmup_density;

  OnNonFinite non_finite = OnNonFinite::kStop;
  HiddenUntil hidden_until = HiddenUntil::kWait;
  std::uint64_t bucket_bytes = 25 << 20;  // for GradientBuckets
  std::uint64_t seed = 1;
  std::chrono::milliseconds timeout{60'000};  // limit of a call, from its start
  int threads = 1;                            // threads that select
  std::uint64_t log_every = 0;                // steps between two log lines; 0: none
  collectives::SparsifierOptions algorithm;   // constants of the sparsifiers
  OpenDevice open_device;                     // for gradients on devices; empty: host memory only
  trace::Timeline* timeline = nullptr;        // null: none; outlives the reducer
  trace::TrainingMetrics* metrics = nullptr;  // likewise
  const Clock* clock = &real_clock();         // for the trial of kAuto; outlives the reducer
};

// How the gradient of a parameter is sent.
struct Treatment {
  std::string sparsifier;  // never kAuto
  double density = 1;
  std::string scheme = "auto";
  bool if_it_pays = false;  // kAuto: dense unless the trial shows that it is faster

  bool operator==(const Treatment&) const = default;
};

// Throws Error that names an option that is out of range or unknown.
void check_options(const ReducerOptions& options);

Treatment treatment_of(const ReducerOptions& options, const std::string& name,
                       const std::vector<std::int64_t>& shape);

// Returns the options with their warm-up. Below a density of 1 % absent values become the warm-up
// of DGC (Lin et al., ICLR 2018). It has 1 / density steps, in which every value is sent about
// once, from a density of 0.25; for kAuto the steps are dense. At higher densities there is none,
// and the warm-up density is 1.
ReducerOptions with_warmup(ReducerOptions options);

// The density in `step` if `density` is the final one; 1 in dense steps.
double scheduled_density(const ReducerOptions& options, double density, std::uint64_t step);

// The text of a number in messages and in comparisons between ranks.
std::string text_of(double value);

// One line per option that must be equal on all ranks: "option density=0.01".
std::vector<std::string> option_lines(const ReducerOptions& options);

}  // namespace tandem::training
