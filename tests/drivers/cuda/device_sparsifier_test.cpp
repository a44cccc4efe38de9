// SPDX-License-Identifier: Apache-2.0
//
// A sparsifier over a GPU's selection unit, with gradients in its memory: the bits of the one in
// host memory, and a mean that is put back into the gradient.
#include "collectives/sparsifier/sparsifier.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "cuda/backend.h"
#include "gpu_kernels/sparse/gradient_values.h"
#include "transport/inproc/inproc.h"

namespace tandem::collectives {
namespace {

constexpr std::size_t kSize = 20'001;

// A gradient on the GPU, ready after the work of a stream that nobody waits for.
class DeviceGradient {
 public:
  DeviceGradient() {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMalloc(&memory_, kSize * sizeof(float));
  }
  ~DeviceGradient() {
    cudaFree(memory_);
    cudaStreamDestroy(stream_);
  }
  DeviceGradient(const DeviceGradient&) = delete;
  DeviceGradient& operator=(const DeviceGradient&) = delete;

  void write(const std::vector<float>& values) {
    cudaMemcpyAsync(memory_, values.data(), kSize * sizeof(float), cudaMemcpyHostToDevice, stream_);
  }
  std::vector<float> read() const {
    std::vector<float> values(kSize);
    cudaMemcpy(values.data(), memory_, kSize * sizeof(float), cudaMemcpyDeviceToHost);
    return values;
  }
  std::span<float> values() const { return {static_cast<float*>(memory_), kSize}; }
  Placement placement() const { return {Memory::kDevice, "cuda:0", stream_}; }

 private:
  cudaStream_t stream_ = nullptr;
  void* memory_ = nullptr;
};

TEST(CudaDeviceSparsifier, StepsWithTheBitsOfTheHostAndOnlyEntriesLeaveTheGpu) {
  if (device::cuda_backend().enumerate({}).empty()) GTEST_SKIP() << "no GPU";
  const auto device = device::cuda_backend().open(0, {});
  SparsifierOptions options;
  options.density = 0.01;
  options.hard_threshold = 0.04;
  const std::shared_ptr<device::GradientMemory> memory = device->make_gradient_memory();
  for (const std::string& name : sparsifier_names()) {
    SCOPED_TRACE(name);
    Group group(std::move(transport::inproc::make_world(1).front()));
    const auto sparsifier = make_sparsifier(
        name, {device->make_selection_unit(selection_shape(name, kSize)), memory}, options);
    const auto on_host = make_sparsifier(name, kSize, options);
    DeviceGradient gradient;
    for (unsigned step = 0; step < 4; ++step) {
      const auto values = gpu_kernels::gradient_values(gpu_kernels::Values::kLaplace, kSize, step);
      gradient.write(values);
      const StepResult expected = on_host->step(group, values);
      const device::GradientView view{std::as_bytes(gradient.values()), DType::kF32,
                                      gradient.placement()};
      const StepResult got = sparsifier->step(group, GradientPieces(&view, 1));
      ASSERT_GT(got.mean.num_entries, 0u);
      ASSERT_EQ(got.mean.indices, expected.mean.indices);
      ASSERT_EQ(got.mean.values, expected.mean.values);
      ASSERT_EQ(sparsifier->state().tensors, on_host->state().tensors);
      ASSERT_EQ(sparsifier->state().numbers, on_host->state().numbers);

      const auto places = got.mean.indices_as<std::uint32_t>();
      const auto mean = got.mean.values_as<float>();
      memory->put({std::as_writable_bytes(gradient.values()), DType::kF32, gradient.placement()},
                  places, mean, Deadline::never());
      std::vector<float> dense(kSize, 0.0f);
      for (std::size_t i = 0; i < places.size(); ++i) dense[places[i]] = mean[i];
      ASSERT_EQ(gradient.read(), dense);
    }
  }
}

}  // namespace
}  // namespace tandem::collectives
