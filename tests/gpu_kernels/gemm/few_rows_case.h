// SPDX-License-Identifier: Apache-2.0
//
// One call of a kernel for few rows, with several targets, against the naive product.
//
// The first target has a bias, the second accumulates, the third does both, the fourth neither.
// Threads: any; pure functions.
#pragma once

#include <memory>

#include "gemm/product_targets.h"
#include "gpu_kernels/device_array.h"
#include "gpu_kernels/gemm/random_weights.h"

namespace tandem::gpu_kernels {

class FewRowsTargets {
 public:
  // weights: as the kernel reads them, at most kMaxTargets; x: what the rows stand for.
  FewRowsTargets(const std::vector<HostWeight>& weights, const std::vector<float>& x)
      : weights_(weights), x_(x), workspace_(std::vector<std::byte>(kFewRowsWorkspaceBytes)) {
    for (std::size_t t = 0; t < weights.size(); ++t) {
      const auto outputs = static_cast<std::size_t>(weights[t].out_features);
      const std::size_t rows = x.size() / static_cast<std::size_t>(weights[t].in_features);
      bias_.push_back(random_floats(outputs, 40 + static_cast<unsigned>(t)));
      before_.push_back(random_floats(rows * outputs, 50 + static_cast<unsigned>(t)));
      device_bias_.push_back(std::make_unique<DeviceArray<float>>(bias_.back()));
      out_.push_back(std::make_unique<DeviceArray<float>>(before_.back()));
    }
  }

  void* workspace() { return workspace_.data(); }

  ProductTarget target(std::size_t t, const void* weight, const float* scales = nullptr) {
    return {weight,
            scales,
            weights_[t].out_features,
            has_bias(t) ? device_bias_[t]->data() : nullptr,
            out_[t]->data(),
            accumulates(t)};
  }

  // tolerance: of the sum of magnitudes.
  void expect_near(double tolerance) {
    for (std::size_t t = 0; t < weights_.size(); ++t) {
      const Expected expected = expected_product(weights_[t], x_);
      const std::vector<float> got = out_[t]->download();
      const auto outputs = static_cast<std::size_t>(weights_[t].out_features);
      for (std::size_t i = 0; i < got.size(); ++i) {
        double sum = expected.sums[i];
        if (has_bias(t)) sum += bias_[t][i % outputs];
        if (accumulates(t)) sum += before_[t][i];
        ASSERT_NEAR(got[i], sum, tolerance * (expected.magnitudes[i] + 1))
            << "target " << t << " row " << i / outputs << " output " << i % outputs;
      }
    }
    const std::vector<std::byte> after = workspace_.download();
    for (std::size_t i = 0; i < kSplitPanels * sizeof(std::uint32_t); ++i) {
      ASSERT_EQ(after[i], std::byte{0}) << "counter " << i / 4;
    }
  }

  std::vector<float> result(std::size_t t) { return out_[t]->download(); }

 private:
  static bool has_bias(std::size_t t) { return t == 0 || t == 2; }
  static bool accumulates(std::size_t t) { return t == 1 || t == 2; }

  const std::vector<HostWeight>& weights_;
  const std::vector<float>& x_;
  std::vector<std::vector<float>> bias_, before_;
  std::vector<std::unique_ptr<DeviceArray<float>>> device_bias_, out_;
  DeviceArray<std::byte> workspace_;
};

}  // namespace tandem::gpu_kernels
