// SPDX-License-Identifier: Apache-2.0
//
// The GPU's aggregation unit against merge() of the collectives library. Needs a GPU: skips without
// one, and fails for it under TANDEM_TEST_REQUIRE=cuda.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "common/error.h"
#include "cuda/backend.h"
#include "device/aggregation_unit.h"
#include "tensor/sparse/merge.h"

namespace tandem::device {
namespace {

using sparse::Reduction;
using sparse::SparseVector;

class CudaAggregationTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto infos = cuda_backend().enumerate({});
    if (!infos.empty()) {
      device_ = cuda_backend().open(0, {});
      unit_ = device_->make_aggregation_unit();
      return;
    }
    const char* required = std::getenv("TANDEM_TEST_REQUIRE");
    const std::string reason = "no GPU: " + cuda_backend().unavailable_reason();
    if (required != nullptr && std::string(required).find("cuda") != std::string::npos) {
      FAIL() << reason;
    }
    GTEST_SKIP() << reason;
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<AggregationUnit> unit_;
};

// Every position with the given chance; values of any sign, exponent and zeros of both signs.
template <typename T>
std::vector<SparseVector> random_sources(std::uint64_t num_positions,
                                         const std::vector<int>& one_in, DType type,
                                         unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<SparseVector> sources;
  for (const int chance : one_in) {
    std::vector<std::uint32_t> positions;
    for (std::uint32_t position = 0; position < num_positions; ++position) {
      if (chance > 0 && random() % static_cast<unsigned>(chance) == 0)
        positions.push_back(position);
    }
    SparseVector source({num_positions, 1}, type);
    source.resize(positions.size());
    std::copy(positions.begin(), positions.end(), source.indices<std::uint32_t>().begin());
    for (T& value : source.values<T>()) {
      const std::uint64_t bits = random();
      value = static_cast<T>(static_cast<std::int64_t>(bits) >> 40) / T(1u << (bits % 24));
      if (bits % 50 == 0) value = T(-0.0);
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

template <typename T>
AggregationResult aggregate(AggregationUnit& unit, const std::vector<SparseVector>& sources,
                            Reduction reduction, Deadline deadline) {
  AggregationShape shape;
  shape.num_positions = sources.front().domain().num_units;
  shape.type = sources.front().type();
  shape.maximum = reduction == Reduction::kMax;
  shape.num_sources = sources.size();
  std::vector<AggregationSource> views;
  for (const SparseVector& source : sources) {
    shape.num_entries += source.num_entries();
    views.push_back({source.indices<std::uint32_t>(), std::as_bytes(source.values<T>()), {}});
  }
  return unit.aggregate(shape, views, deadline);
}

template <typename T>
void expect_same_as_merge(AggregationUnit& unit, const std::vector<SparseVector>& sources,
                          Reduction reduction) {
  const auto result =
      aggregate<T>(unit, sources, reduction, Deadline::after(std::chrono::seconds(30)));
  const SparseVector expected = merge(sources, reduction);
  const auto indices = expected.indices<std::uint32_t>();
  ASSERT_EQ(std::vector<std::uint32_t>(result.positions.begin(), result.positions.end()),
            std::vector<std::uint32_t>(indices.begin(), indices.end()));
  const auto values = std::as_bytes(expected.values<T>());
  ASSERT_TRUE(std::equal(result.values.begin(), result.values.end(), values.begin(), values.end()));
}

TEST_F(CudaAggregationTest, GivesTheBitsOfMergeForFloatsAndIntegers) {
  for (const Reduction reduction : {Reduction::kSum, Reduction::kMax}) {
    expect_same_as_merge<float>(
        *unit_, random_sources<float>(100'000, {3, 0, 10, 2}, DType::kF32, 1), reduction);
    expect_same_as_merge<std::uint64_t>(
        *unit_, random_sources<std::uint64_t>(70'001, {5, 1}, DType::kU64, 2), reduction);
  }
}

TEST_F(CudaAggregationTest, SourcesLongerThanAPieceAndCallsOfOtherSizesFollowEachOther) {
  expect_same_as_merge<float>(*unit_, random_sources<float>(2'500'000, {1, 2}, DType::kF32, 3),
                              Reduction::kSum);
  expect_same_as_merge<float>(*unit_, random_sources<float>(33, {2, 2}, DType::kF32, 4),
                              Reduction::kSum);
  expect_same_as_merge<float>(*unit_, random_sources<float>(1000, {0, 0}, DType::kF32, 5),
                              Reduction::kSum);
}

// A source's arrays in device memory, copied there on a stream that nobody waits for.
struct OnDevice {
  explicit OnDevice(const SparseVector& source)
      : num_entries(source.num_entries()), value_bytes(source.value_bytes().size()) {
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaMalloc(&positions, num_entries * 4);
    cudaMalloc(&values, value_bytes);
    cudaMemcpyAsync(positions, source.indices<std::uint32_t>().data(), num_entries * 4,
                    cudaMemcpyHostToDevice, stream);
    cudaMemcpyAsync(values, source.value_bytes().data(), value_bytes, cudaMemcpyHostToDevice,
                    stream);
  }
  ~OnDevice() {
    cudaFree(positions);
    cudaFree(values);
    cudaStreamDestroy(stream);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  AggregationSource source(std::string_view device) const {
    return {{static_cast<const std::uint32_t*>(positions), num_entries},
            {static_cast<const std::byte*>(values), value_bytes},
            {Memory::kDevice, device, stream}};
  }

  std::size_t num_entries, value_bytes;
  void* positions = nullptr;
  void* values = nullptr;
  cudaStream_t stream = nullptr;
};

TEST_F(CudaAggregationTest, SourcesInMemoryOfTheDeviceAreReadInPlaceAndThoseOfOthersRefused) {
  const auto sources = random_sources<float>(100'000, {3, 2, 5}, DType::kF32, 9);
  const OnDevice first(sources[0]), third(sources[2]);
  AggregationShape shape;
  shape.num_positions = 100'000;
  shape.num_sources = 3;
  for (const SparseVector& source : sources) shape.num_entries += source.num_entries();
  const std::string name = unit_->name();
  const AggregationSource views[] = {
      first.source(name),
      {sources[1].indices<std::uint32_t>(), sources[1].value_bytes(), {}},
      third.source(name)};
  const auto deadline = Deadline::after(std::chrono::seconds(30));
  const auto result = unit_->aggregate(shape, views, deadline);
  const SparseVector expected = merge(sources, Reduction::kSum);
  EXPECT_TRUE(std::ranges::equal(result.positions, expected.indices<std::uint32_t>()));
  EXPECT_TRUE(std::ranges::equal(result.values, expected.value_bytes()));

  int queue = 0;
  EXPECT_FALSE(unit_->accepts({Memory::kHost, name, &queue})) << "kernels cannot reach it";
  EXPECT_TRUE(unit_->accepts({Memory::kPinned, name, &queue}));
  const AggregationSource of_another[] = {views[0], views[1], third.source("cuda:7")};
  EXPECT_THROW(unit_->aggregate(shape, of_another, deadline), Error);
  expect_same_as_merge<float>(*unit_, sources, Reduction::kSum);
}

TEST_F(CudaAggregationTest, PositionsOutOfRangeAreAnErrorThatChangesNothing) {
  const auto good = random_sources<float>(5000, {3, 2}, DType::kF32, 7);
  const auto message = [&](std::size_t entry) {
    auto bad = good;
    bad[1].indices<std::uint32_t>()[entry] = 5000;
    try {
      aggregate<float>(*unit_, bad, Reduction::kSum, Deadline::never());
    } catch (const DeviceError& error) {
      return std::string("lost: ") + error.what();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_THAT(message(good[1].num_entries() - 1),
              testing::HasSubstr("[cuda] positions of a source"));
  EXPECT_THAT(message(3),
              testing::HasSubstr("[cuda] positions of a source"));  // seen by the kernel
  expect_same_as_merge<float>(*unit_, good, Reduction::kSum);
}

TEST_F(CudaAggregationTest, AFullDeviceIsADeviceErrorThatLeavesTheUnitUsable) {
  const auto sources = random_sources<float>(4'000'000, {1000, 1000}, DType::kF32, 8);
  std::size_t free_bytes = 0, total_bytes = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
  std::vector<void*> taken;
  for (std::size_t bytes = free_bytes; bytes >= std::size_t{1} << 20;) {
    void* memory = nullptr;
    if (cudaMalloc(&memory, bytes) == cudaSuccess) {
      taken.push_back(memory);
    } else {
      cudaGetLastError();
      bytes /= 2;
    }
  }
  EXPECT_THROW(aggregate<float>(*unit_, sources, Reduction::kSum, Deadline::never()), DeviceError);
  for (void* memory : taken) cudaFree(memory);
  expect_same_as_merge<float>(*unit_, sources, Reduction::kSum);
}

TEST_F(CudaAggregationTest, RefusesOtherTypesAndFailsForGoodAtTheDeadline) {
  AggregationShape shape;
  shape.num_positions = 10;
  shape.type = DType::kF64;
  EXPECT_THAT(unit_->refusal(shape), testing::HasSubstr("f64"));
  EXPECT_THROW(unit_->aggregate(shape, {}, Deadline::never()), Error);
  const auto sources = random_sources<float>(3'000'000, {1, 1, 1}, DType::kF32, 6);
  EXPECT_THROW(
      aggregate<float>(*unit_, sources, Reduction::kSum, Deadline(Deadline::Clock::time_point{})),
      DeviceError);
  EXPECT_THROW(aggregate<float>(*unit_, sources, Reduction::kSum, Deadline::never()), DeviceError);
}

}  // namespace
}  // namespace tandem::device
