// SPDX-License-Identifier: Apache-2.0
//
// WeightLoader: loads tensors into the compute unit, and quantises matrices first if the options
// say so.
//
// A quantised matrix exists only until the unit has taken it over. tensor/quantize_matrix.h says
// which type a matrix gets. Matrices in e4m3 that hold a NaN are refused (tensor/f8_codes.h).
// Threads: one; a loader that quantises or checks has its own pool. Ownership: borrows the unit
// and, through it, the tensors' memory. Errors: those of ComputeUnit::load(), check_f8_codes() and
// quantize_matrix(). Cost: 15 to 80 ns of one core per quantised value.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "common/thread_pool.h"
#include "device/compute_unit.h"
#include "model/model.h"
#include "tensor/tensor_view.h"

namespace tandem::engine {

struct WeightOptions {
  // The type of matrices in memory; empty: the file's types. kF32 widens all: products then round
  // no activations, as GPUs do for f16. kF8E4M3 gives every output a scale and leaves a table that
  // is also the output projection as it is.
  std::optional<DType> quantize;
  int num_threads = 0;  // threads that quantise and check; 0: one per core
};

// The loaded weights, by the types that the unit got.
struct LoadedWeights {
  std::uint64_t bytes = 0;
  std::map<DType, std::uint64_t> values;  // type -> number of values
  int quantised = 0;                      // number of quantised matrices
  std::uint64_t quantised_from_bytes = 0, quantised_to_bytes = 0;
  double quantise_seconds = 0;

  DType main_type() const;  // the type of most values
};

// The place of a tensor in the model, for units that divide weights (device::WeightSource).
struct WeightPlace {
  int layer = -1;
  device::WeightSplit split = device::WeightSplit::kNone;
};

class WeightLoader {
 public:
  // `model`, if not null, releases the memory of tensors that the unit does not borrow.
  WeightLoader(device::ComputeUnit& compute, const WeightOptions& options,
               const model::Model* model = nullptr);

  // Loads a tensor in the file's type: norms, biases, tables.
  std::unique_ptr<device::Weight> load(const TensorView& tensor, device::WeightRole role,
                                       const WeightPlace& place = {});
  // Loads a matrix that products use, in the type that the options request.
  std::unique_ptr<device::Weight> load_matrix(const TensorView& tensor, device::WeightRole role,
                                              const WeightPlace& place = {});
  // Loads a matrix that chooses or weighs experts, in the file's type or widened.
  std::unique_ptr<device::Weight> load_router(const TensorView& tensor,
                                              const WeightPlace& place = {});

  const LoadedWeights& loaded() const { return loaded_; }

 private:
  DType type_for(const TensorView& tensor, device::WeightRole role) const;
  void check(const TensorView& tensor);
  // data: of the size that tensor has in `type`; scales: [rows], kF8E4M3 only.
  void convert(const TensorView& tensor, DType type, std::byte* data, float* scales) const;
  std::unique_ptr<device::Weight> load_as(const TensorView& tensor, device::WeightRole role,
                                          const WeightPlace& place, bool transient);

  device::ComputeUnit& compute_;
  const model::Model* model_;
  std::optional<DType> quantize_;
  const int num_threads_;
  std::unique_ptr<ThreadPool> pool_;
  LoadedWeights loaded_;
};

}  // namespace tandem::engine
