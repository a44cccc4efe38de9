// SPDX-License-Identifier: Apache-2.0
//
// ErrorFeedback: the state that sparsifiers keep between steps, by parameter.
//
// A sparsifier treats the parameters of a part as one tensor. Its residual and momentum belong to
// the parameters: if buckets are composed differently, these tensors are divided into the
// parameters' slices and joined again. Its thresholds and partitions belong to the composition (and
// density): a part with the same parameters keeps them, any other part starts without them. A
// residual is in the same memory as the gradients, and moves if they arrive from another memory.
// Ownership: borrows the devices. Threads: the reducer's own.
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
constexpr const char* kResidual = "residual";  // the name that every sparsifier uses

// A saved part, without its tensors.
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
  // `options`: the density and layers of the part replace those given here.
  ErrorFeedback(const collectives::SparsifierOptions& options, GradientDevices& devices)
      : options_(options), devices_(devices) {}

  // The part's sparsifier, with the residuals of its parameters. device: where they are; empty: in
  // host memory.
  collectives::Sparsifier& sparsifier_of(const PartPlan& part, double density,
                                         const std::string& device);

  // Removes and returns the residual of a part that is summed densely from now on. Empty if there
  // is none.
  RawVector<float> take_residual(const PartPlan& part);

  // A parameter's tensors; empty if nothing was kept for it.
  std::map<std::uint32_t, Tensors> tensors() const;
  std::vector<SavedPart> parts() const;
  // Replaces the whole state. Throws Error without a change if a sparsifier refuses its numbers.
  void restore(std::map<std::uint32_t, Tensors> tensors, const std::vector<RestoredPart>& parts);

 private:
  struct Part {
    SavedPart saved;
    std::string device;
    std::vector<std::uint64_t> sizes;  // of the parameters
    std::unique_ptr<collectives::Sparsifier> sparsifier;
  };
  using Parts = std::list<Part>;

  // Adds the part `wanted`. If it has no step, it starts with the numbers of a new sparsifier.
  collectives::Sparsifier& adopt(const PartPlan& plan, const SavedPart& wanted,
                                 const std::string& device);
  void dissolve(Parts::iterator part);
  // Makes the part's sparsifier without residuals.
  std::unique_ptr<collectives::Sparsifier> make_empty(const PartPlan& plan, const SavedPart& wanted,
                                                      const std::string& device) const;
  std::unique_ptr<collectives::Sparsifier> make(const PartPlan& plan, const SavedPart& wanted,
                                                const std::string& device) const;
  static void add_slices(const Part& part, std::map<std::uint32_t, Tensors>& to);

  const collectives::SparsifierOptions options_;
  GradientDevices& devices_;
  Parts parts_;
  std::map<std::uint32_t, Parts::iterator> owner_;  // by parameter
  std::map<std::uint32_t, Tensors> stored_;         // parameters without an owner
};

}  // namespace tandem::training
