// SPDX-License-Identifier: Apache-2.0
//
// Composites of interpreted GPUs against one CPU unit: the chains of operations of
// tests/drivers/parallel, over peer copies and sums by way of host memory.
#include <gtest/gtest.h>

#include "cuda/device.h"
#include "drivers/parallel/op_cases.h"
#include "gpu_kernels/simt/faults.h"
#include "gpu_kernels/simt/stream.h"
#include "support/reference/compare.h"

namespace tandem::device::parallel {
namespace {

class GpusTogether : public testing::TestWithParam<std::tuple<OpCase, Split>> {
 protected:
  void SetUp() override {
    simt::Faults faults;
    faults.num_devices = kGpus;
    simt::set_faults(faults);
    simt::set_lazy(true);
  }
  void TearDown() override {
    simt::clear_faults();
    simt::set_lazy(false);
  }
  static constexpr int kGpus = 3;
};

TEST_P(GpusTogether, AnswerAsOneCpu) {
  const auto& [op, split] = GetParam();
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < kGpus; ++i) devices.push_back(std::make_unique<cuda::CudaDevice>(i));
  ParallelDevice device(std::move(devices), {split, 3, {}});
  const auto unit = device.make_compute_unit();
  std::vector<float> actual;
  {
    Bench bench(*unit);
    actual = op.run(bench);
  }
  const double bound = op.name == "Tied" ? 1e-6 : 1e-8;  // f16 weights: GPUs round activations
  EXPECT_LT(reference::nmse<float>(actual, on_one_unit(op.run)), bound);
}

std::vector<OpCase> cases() {
  std::vector<OpCase> all;
  for (OpCase& op : op_cases()) {
    const bool chosen = op.name == "Layers" || op.name == "AttentionOnDevices" ||
                        op.name == "AttentionLookedAtInHostMemory" ||
                        op.name == "RegatheredInHostMemory" || op.name == "RowsF32InHostMemory" ||
                        op.name == "Tied";
    if (chosen) all.push_back(std::move(op));
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Cases, GpusTogether,
                         testing::Combine(testing::ValuesIn(cases()),
                                          testing::Values(Split::kLayers, Split::kTensor)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name +
                                  (std::get<1>(info.param) == Split::kLayers ? "ByLayers"
                                                                             : "ByColumns");
                         });

}  // namespace
}  // namespace tandem::device::parallel
