// SPDX-License-Identifier: Apache-2.0
//
// Gradients on a GPU and on the CPU: equal means, copies and refusals; and gradients that stay in a
// GPU's memory.
#include "device/gradient_memory.h"

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include "drivers/cuda/selection_devices.h"

namespace tandem::device {
namespace {

class GradientMemoryTest : public SelectionDevices {};
INSTANTIATE_TEST_SUITE_P(Devices, GradientMemoryTest, testing::Values("cpu", "cuda"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(GradientMemoryTest, MeansArePutOverGradientsOfEveryType) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    std::vector<std::byte> dense(100 * dtype_block_bytes(type), std::byte{0x5a});
    memory()->put({dense, type, {}}, Places{98, 3}, Floats{4, -1}, soon());
    const auto unit = make(100);
    unit->accumulate({dense, type, {}}, {}, soon());
    Floats expected(100, 0.0f);
    expected[3] = -1;
    expected[98] = 4;
    EXPECT_EQ(residual_of(*unit), expected) << dtype_name(type);
  }
}

TEST_P(GradientMemoryTest, BytesAreCopiedToAndFromHostMemory) {
  const Floats values = gradient_values(Values::kLaplace, 333, 8);
  Floats there(333), back(333);
  memory()->write(std::as_bytes(std::span(values)), std::as_writable_bytes(std::span(there)), {},
                  soon());
  memory()->read(std::as_bytes(std::span(there)), {}, std::as_writable_bytes(std::span(back)),
                 soon());
  EXPECT_EQ(back, values);
}

TEST_P(GradientMemoryTest, GradientsThatDoNotFitAreErrorsThatSayWhy) {
  using testing::HasSubstr;
  const auto gradients = memory();
  Floats values(100);
  const auto bytes = std::as_writable_bytes(std::span(values));
  const auto put = [&](DType type, const Placement& placement, const Places& places,
                       const Floats& mean) {
    return error_of([&] { gradients->put({bytes, type, placement}, places, mean, soon()); });
  };
  int queue = 0;
  EXPECT_THAT(put(DType::kF32, {}, {100}, {1}), HasSubstr("place 100 of a target with 100"));
  EXPECT_THAT(put(DType::kF32, {}, {1}, {1, 2}), HasSubstr("1 places with 2 values"));
  EXPECT_THAT(put(DType::kF64, {}, {}, {}), HasSubstr("f64"));
  EXPECT_THAT(put(DType::kF32, {Memory::kDevice, "cuda:7", nullptr}, {}, {}), HasSubstr("cuda:7"));
  EXPECT_THAT(put(DType::kF32, {Memory::kPinned, "cuda:0", &queue}, {}, {}), HasSubstr("queue"));
  EXPECT_THAT(error_of([&] {
                gradients->measure({{}, DType::kF64, {}}, soon());
              }),
              HasSubstr("f64"));
  EXPECT_THAT(error_of([&] { gradients->read(bytes, {}, bytes.first(8), soon()); }),
              HasSubstr("400 bytes to 8"));
  EXPECT_THAT(error_of([&] { gradients->write(bytes.first(8), bytes, {}, soon()); }),
              HasSubstr("8 bytes to 400"));
}

// A gradient in device memory, copied there on a stream that nobody waits for.
TEST(CudaGradientMemory, GradientsOnTheGpuAreReadAndWrittenInPlaceInTheOrderOfTheirQueue) {
  if (cuda_backend().enumerate({}).empty()) GTEST_SKIP() << "no GPU";
  const auto device = cuda_backend().open(0, {});
  constexpr std::size_t kSize = 50'003;
  const auto unit = device->make_selection_unit({kSize, false});
  const Floats gradient = gradient_values(Values::kLaplace, kSize, 9);
  cudaStream_t stream = nullptr;
  void* memory = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&memory, kSize * 4), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(memory, gradient.data(), kSize * 4, cudaMemcpyHostToDevice, stream),
            cudaSuccess);
  const Placement placement{Memory::kDevice, "cuda:0", stream};
  ASSERT_TRUE(unit->accepts(placement));
  const std::span<float> there(static_cast<float*>(memory), kSize);
  unit->accumulate({std::as_bytes(there), DType::kF32, placement}, {}, soon());
  const SelectedEntries top = unit->top({0, kSize}, 100, soon());
  const Places places = places_of(top);
  const Floats values = values_of(top);
  const auto gradients = device->make_gradient_memory();
  Floats read(kSize);
  gradients->read(std::as_bytes(there), placement, std::as_writable_bytes(std::span(read)), soon());
  EXPECT_EQ(read, gradient);
  EXPECT_FALSE(
      gradients->measure({std::as_bytes(there), DType::kF32, placement}, soon()).first_non_finite);
  gradients->put({std::as_writable_bytes(there), DType::kF32, placement}, places, values, soon());
  Floats got(kSize), expected(kSize, 0.0f);
  ASSERT_EQ(cudaMemcpy(got.data(), memory, kSize * 4, cudaMemcpyDeviceToHost), cudaSuccess);
  for (const std::uint32_t place : places) expected[place] = gradient[place];
  EXPECT_EQ(places.size(), 100u);
  EXPECT_EQ(got, expected);
  gradients->write(std::as_bytes(std::span(gradient)), std::as_writable_bytes(there), placement,
                   soon());
  ASSERT_EQ(cudaMemcpy(got.data(), memory, kSize * 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(got, gradient);
  cudaFree(memory);
  cudaStreamDestroy(stream);
}

}  // namespace
}  // namespace tandem::device
