// SPDX-License-Identifier: Apache-2.0
//
// SparsifierAlgorithm: the interface that the algorithms of this folder implement; Sparsifier
// (sparsifier.h) calls it.
//
// Sparsifier first checks the gradient and compares the options of all ranks. reduce() therefore
// gets finite values, a density inside (0, 1) and equal options on all ranks. An algorithm reads
// and clears the residual only through its ResidualStore, so it works for gradients in any memory.
// It selects inside timed_selection(), which does not communicate, and exchanges with exchange.h.
// State: the store keeps the tensors; an algorithm adds its own numbers. Ownership: borrows the
// store.
#pragma once

#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "collectives/sparsifier/residual_store.h"
#include "collectives/sparsifier/sparsifier.h"

namespace tandem::collectives {

// A step of all ranks.
struct StepContext {
  Group& group;
  std::uint64_t step;
  StepResult& result;
  std::uint32_t note = 0;  // sent to all ranks with the indices of reduce_union()
  // Results of the exchange:
  std::vector<std::uint64_t> counts = {};  // [world] entries that each rank selected
  std::vector<std::uint32_t> notes = {};   // [world] the notes of all ranks
  RawVector<float> remainder =
      {};  // [entries exchanged] the rounding errors of 16 bits; f32: empty
};

class SparsifierAlgorithm {
 public:
  SparsifierAlgorithm(ResidualStore& store, const SparsifierOptions& options)
      : num_values_(store.size()), options_(options), store_(store) {}
  virtual ~SparsifierAlgorithm() = default;

  virtual ClearingRule clearing_rule() const = 0;
  // Whether this step exchanges. False: a local step.
  virtual bool exchanges(std::uint64_t /*step*/) const { return true; }
  virtual double density(std::uint64_t /*step*/) const { return options_.density; }
  // Adds the gradient to the residual; `add` says whether it is clipped. `world`: number of ranks.
  virtual void accumulate(GradientPieces gradient, device::AccumulateStep add, std::uint64_t step,
                          int world);
  // Selects, exchanges, fills result.mean and the counts, and clears what was sent.
  virtual void reduce(StepContext& context) = 0;

  // Adds the algorithm's numbers to the state.
  virtual void save(SparsifierState& /*state*/) const {}
  // Restores the numbers. Throws Error, and changes nothing, if the state lacks a field.
  virtual void load(const SparsifierState& /*state*/) {}

 protected:
  // The number of entries to select in this step, at least 1.
  std::uint64_t target(std::uint64_t step) const {
    const double exact = density(step) * static_cast<double>(num_values_);
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(exact)));
  }

  // Runs the body and adds its time to result.select_seconds. The body does not communicate.
  template <typename Body>
  auto timed_selection(StepContext& context, Body&& body) {
    std::unique_lock<std::mutex> turn;
    if (options_.turn != nullptr) turn = std::unique_lock(*options_.turn);
    struct Measurement {
      explicit Measurement(StepResult& to, const ResidualStore& store) : to_(to), store_(store) {}
      ~Measurement() {
        to_.select_seconds +=
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
        to_.values_read += store_.values_read() - read_;
      }
      StepResult& to_;
      const ResidualStore& store_;
      std::uint64_t read_ = store_.values_read();
      std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    } measurement(context.result, store_);
    return body();
  }

  // Calls reduce_own() with these entries of the residual, then clears what was sent.
  void send_own(StepContext& context, const Indices& own);

  const std::uint64_t num_values_;
  const SparsifierOptions options_;
  ResidualStore& store_;
};

// Call it after an exchange of these entries: replaces each in the store by its rounding error. If
// `remainder` is empty, clears them.
void keep_remainder(ResidualStore& store, const Indices& exchanged,
                    const RawVector<float>& remainder);

// A field of a state. Throws Error naming it if it is missing or has the wrong length.
const std::vector<double>& numbers_of(const SparsifierState& state, const std::string& field,
                                      std::size_t count);

}  // namespace tandem::collectives
