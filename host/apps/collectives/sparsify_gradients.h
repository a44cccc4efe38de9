// SPDX-License-Identifier: Apache-2.0
//
// SparsifyGradients: the gradients of `tandem sparsify-bench`, which change from step to step.
//
// Captured: rank r reads file (r + step) mod files of a folder with gradient-<i>.f32; an optional
// tensors.json gives the layers. With a recording.json of R ranks and S steps, file i belongs to
// rank i mod R in step i / R; it is read on demand, and steps repeat after S. Synthetic:
// heavy-tailed values; a component that all ranks share has half the size of each rank's own.
// Layers have unequal sizes, and their scales differ (`skew`: the deviation of the logarithms) and
// drift. Equal arguments give equal bits. Threads: any, after construction. Errors: Error that
// names the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::apps {

class SparsifyGradients {
 public:
  static SparsifyGradients captured(const std::string& folder);
  static SparsifyGradients synthetic(std::uint64_t num_values, double skew, std::uint64_t seed);

  std::uint64_t num_values() const { return num_values_; }
  const std::vector<std::uint64_t>& layer_sizes() const { return layer_sizes_; }
  // to: [num_values]
  void fill(int rank, std::uint64_t step, std::vector<float>& to) const;

 private:
  void fill_layer(std::size_t layer, std::uint64_t first, int rank, std::uint64_t step,
                  float* to) const;

  std::vector<float> read_file(std::uint64_t number) const;
  void check_recording(std::uint64_t ranks, std::uint64_t steps);

  std::string folder_;                                     // captured gradients
  std::uint64_t recorded_ranks_ = 0, recorded_steps_ = 0;  // 0: no recording
  std::uint64_t num_values_ = 0;
  std::uint64_t seed_ = 0;
  std::vector<std::uint64_t> layer_sizes_;
  std::vector<double> log_scales_;         // [layers]; synthetic
  std::vector<float> table_;               // synthetic: values to draw from
  std::vector<std::vector<float>> files_;  // captured: [files, num_values]
};

}  // namespace tandem::apps
