// SPDX-License-Identifier: Apache-2.0
//
// SparsifierAlgorithm: what a file of this folder implements; Sparsifier (sparsifier.h) calls it.
//
// Sparsifier checks and agrees first, so reduce() sees finite values, a density inside (0, 1) and
// equal options on all ranks. An algorithm selects inside timed_selection(), which communicates
// nothing, exchanges with exchange.h and clears its residual. State: the base keeps the residual;
// an algorithm adds its own numbers and tensors.
#pragma once

#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "collectives/sparsifier/candidates.h"
#include "collectives/sparsifier/sparsifier.h"

namespace tandem::collectives {

// A step of all ranks.
struct StepContext {
  Group& group;
  std::uint64_t step;
  StepResult& result;
  std::uint32_t note = 0;  // goes to all ranks with the own indices of reduce_union()
  // After the exchange:
  std::vector<std::uint64_t> counts = {};  // [world] selected by each rank
  std::vector<std::uint32_t> notes = {};   // [world]
  RawVector<float> remainder = {};  // [entries exchanged] what 16 bits did not carry; f32: empty
};

class SparsifierAlgorithm {
 public:
  SparsifierAlgorithm(std::uint64_t num_values, const SparsifierOptions& options)
      : num_values_(num_values), options_(options), residual_(num_values, 0.0f) {}
  virtual ~SparsifierAlgorithm() = default;

  virtual ClearingRule clearing_rule() const = 0;
  // False in a local step: nothing is exchanged.
  virtual bool exchanges(std::uint64_t /*step*/) const { return true; }
  virtual double density(std::uint64_t /*step*/) const { return options_.density; }
  // Adds the gradient to the residual. `world`: the number of ranks.
  virtual void accumulate(std::span<const float> gradient, std::uint64_t step, int world);
  // Selects, exchanges, fills result.mean and the counts, and clears.
  virtual void reduce(StepContext& context) = 0;
  // Clears everything but `remainder`, after an exchange of everything.
  virtual void clear_all(const RawVector<float>& remainder);

  virtual void save(SparsifierState& state) const;
  virtual void load(const SparsifierState& state);

  std::span<const float> residual() const { return residual_; }

 protected:
  // At least 1.
  std::uint64_t target(std::uint64_t step) const {
    const double exact = density(step) * static_cast<double>(num_values_);
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(exact)));
  }

  // One pass: adds the gradient, and measures the sums block by block in a fixed order.
  Moments accumulate_and_measure(std::span<const float> gradient, Logarithms logarithms);

  // Runs the body and adds its time to result.select_seconds. The body does not communicate.
  template <typename Body>
  auto timed_selection(StepContext& context, Body&& body) {
    std::unique_lock<std::mutex> turn;
    if (options_.turn != nullptr) turn = std::unique_lock(*options_.turn);
    struct Timer {
      explicit Timer(double& total) : total_(total) {}
      ~Timer() {
        total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
      }
      double& total_;
      std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    } timer(context.result.select_seconds);
    return body();
  }

  // After an exchange of these entries: keeps of each what was not carried.
  void clear(const Indices& exchanged, const RawVector<float>& remainder);
  // reduce_own() of the residual, then clears what was sent.
  void send_own(StepContext& context, const Indices& own);

  Candidates candidates() const { return {residual_, 0, num_values_, options_.threads}; }

  std::uint64_t num_values_;
  const SparsifierOptions options_;
  RawVector<float> residual_;
};

// A field of a state; Error naming it if it is missing or has another length.
const std::vector<double>& numbers_of(const SparsifierState& state, const std::string& field,
                                      std::size_t count);
const RawVector<float>& tensor_of(const SparsifierState& state, const std::string& field);

}  // namespace tandem::collectives
