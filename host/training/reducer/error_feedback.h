// SPDX-License-Identifier: Apache-2.0
//
// ErrorFeedback: the state that sparsifiers keep from step to step, by parameter.
//
// A sparsifier works on the parameters of a part as one tensor. Its residual and momentum belong to
// parameters. When buckets are composed differently, they are cut into the parameters' slices and
// joined again. Its thresholds and partitions belong to the composition (and density): a part with
// the same parameters keeps them, any other part starts without. A residual is in the same memory
// as the gradients, and is moved when they come from another memory. Ownership: borrows the
// devices. Threads: the reducer's own.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collectives/sparsifier/sparsifier.h"
#include "training/reducer/gradient_devices.h"
#include "training/reducer/parameters.h"

namespace tandem::training {

using Tensors = std::map<std::string, RawVector<float>>;
constexpr const char* kResidual = "residual";  // as every sparsifier calls it

// A part as it is saved: without tensors.
struct SavedPart {
  std::string sparsifier;
  double density = 0;
  std::vector<std::uint32_t> parameters;
  std::uint64_t step = 0;
  std::map<std::string, std::vector<double>> numbers;
};

// A saved part whose parameters still have its sparsifier.
struct RestoredPart {
  PartPlan plan;
  SavedPart saved;
};

class ErrorFeedback {
 public:
  // `options`: density and layers are replaced by the part's.
  ErrorFeedback(const collectives::SparsifierOptions& options, GradientDevices& devices)
      : options_(options), devices_(devices) {}

  // The part's sparsifier, with the residuals of its parameters. device: where they lie; empty: in
  // host memory.
  collectives::Sparsifier& sparsifier_of(const PartPlan& part, double density,
                                         const std::string& device);

  // The residual of a part that is summed densely from now on: it is not kept. Empty where there is
  // none.
  RawVector<float> take_residual(const PartPlan& part);

  // A parameter's tensors; empty where nothing has been kept for it.
  std::map<std::uint32_t, Tensors> tensors() const;
  std::vector<SavedPart> parts() const;
  // Replaces everything. Error, and no change, where a sparsifier refuses its numbers.
  void restore(std::map<std::uint32_t, Tensors> tensors, const std::vector<RestoredPart>& parts);

 private:
  struct Part {
    SavedPart saved;
    std::string device;
    std::vector<std::uint64_t> sizes;  // of the parameters
    std::unique_ptr<collectives::Sparsifier> sparsifier;
  };
  using Parts = std::list<Part>;

  // `wanted` with the numbers of a fresh sparsifier unless it has a step.
  collectives::Sparsifier& adopt(const PartPlan& plan, const SavedPart& wanted,
                                 const std::string& device);
  void dissolve(Parts::iterator part);
  // Without residuals.
  std::unique_ptr<collectives::Sparsifier> make_empty(const PartPlan& plan, const SavedPart& wanted,
                                                      const std::string& device) const;
  std::unique_ptr<collectives::Sparsifier> make(const PartPlan& plan, const SavedPart& wanted,
                                                const std::string& device) const;
  static void add_slices(const Part& part, std::map<std::uint32_t, Tensors>& to);

  const collectives::SparsifierOptions options_;
  GradientDevices& devices_;
  Parts parts_;
  std::map<std::uint32_t, Parts::iterator> owner_;  // by parameter
  std::map<std::uint32_t, Tensors> stored_;         // of parameters without an owner
};

}  // namespace tandem::training
