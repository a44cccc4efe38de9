// SPDX-License-Identifier: Apache-2.0
//
// Steps of all ranks with a sparsifier, ranks as threads, for property tests.
//
// Gradients are multiples of 1/256, so sums are exact in f32 and any loss of mass is seen.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "collectives/sparsifier/sparsifier.h"

namespace tandem::collectives::test {

using Gradient = std::vector<float>;
using GradientOf = std::function<Gradient(int rank, std::uint64_t step)>;

// Heavy-tailed, of other scales in every eighth, and different for each rank and step.
Gradient training_gradient(std::uint64_t num_values, int rank, std::uint64_t step);
GradientOf training_gradients(std::uint64_t num_values);
// The scale changes by 2 every 60 steps.
GradientOf drifting_gradients(std::uint64_t num_values);

// Where the residuals of a test's ranks lie: in host memory, or in a device's.
struct Residence {
  std::string name = "host";
  std::function<DeviceResidence(const device::SelectionShape&)> make = {};  // empty: host memory
  std::string missing = {};  // why the device is not there; empty: it is

  friend void PrintTo(const Residence& residence, std::ostream* out) { *out << residence.name; }
};
// Those that a test program checks; defined in a source of its own.
std::vector<Residence> residences();

struct Training {
  std::string name;
  std::uint64_t num_values = 1000;
  int world = 4;
  std::uint64_t steps = 8;
  SparsifierOptions options;
  GradientOf gradient;  // empty: training_gradients(num_values)
  // Hears each result on its rank; may be empty.
  std::function<void(int rank, const StepResult&)> apply = {};
  bool keep_residuals = true;  // of every step
  Residence residence = {};
};

struct RankHistory {
  std::string error;                          // of the step that failed; empty: none
  std::vector<StepResult> steps;              // [steps]
  std::vector<float> residual;                // [num_values], after the last step
  SparsifierState state;                      // after the last step
  std::vector<std::vector<float>> residuals;  // [steps, num_values]
};

// Options that make the mass of every algorithm exact: no momentum, no decay.
SparsifierOptions plain_options(double density);
// A training with the sparsifier `name` and those options.
Training training_of(const std::string& name, double density = 0.05);

std::vector<RankHistory> train(const Training& training);
std::unique_ptr<Sparsifier> make(const Training& training);
// From the given states on, one per rank.
std::vector<RankHistory> resume(const Training& training,
                                const std::vector<SparsifierState>& states);

// Entries of the mean over all values, mean over the steps from `first` on.
double mean_density(const std::vector<StepResult>& steps, std::size_t first);

std::vector<std::uint32_t> indices_of(const SparseTensor& tensor);
std::vector<float> values_of(const SparseTensor& tensor);

}  // namespace tandem::collectives::test
