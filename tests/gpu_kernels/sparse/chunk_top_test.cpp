// SPDX-License-Identifier: Apache-2.0
//
// Packed chunks against a sort and the packing of the sparsifiers on the CPU, byte for byte.
#include "sparse/chunk_top.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "gpu_kernels/device_array.h"
#include "gpu_kernels/sparse/gradient_values.h"
#include "tensor/sparse/packed_chunk.h"

namespace tandem::gpu_kernels {
namespace {

using Bytes = std::vector<unsigned char>;

struct Chunks {
  std::size_t num_values;
  std::uint32_t count, last_count;

  std::size_t num_chunks() const { return (num_values + kChunkValues - 1) / kChunkValues; }
  std::size_t begin(std::size_t chunk) const { return chunk * kChunkValues; }
  std::size_t end(std::size_t chunk) const { return std::min(num_values, begin(chunk + 1)); }
  std::size_t entries(std::size_t chunk) const {
    return chunk + 1 == num_chunks() ? last_count : count;
  }
  std::size_t bytes() const { return chunks_message_bytes(num_values, count, last_count); }
};

// Of a share of every chunk.
Chunks chunks_of(std::size_t num_values, double density) {
  const auto entries = [&](std::size_t size) {
    return static_cast<std::uint32_t>(
        std::max(1.0, std::round(density * static_cast<double>(size))));
  };
  const std::size_t last = (num_values - 1) % kChunkValues + 1;
  return {num_values, entries(kChunkValues), entries(last)};
}

Bytes packed_on_cpu(const std::vector<float>& values, const Chunks& chunks) {
  Bytes message;
  for (std::size_t chunk = 0; chunk < chunks.num_chunks(); ++chunk) {
    const float* own = values.data() + chunks.begin(chunk);
    std::vector<std::uint16_t> places(chunks.end(chunk) - chunks.begin(chunk));
    std::iota(places.begin(), places.end(), std::uint16_t{0});
    std::stable_sort(places.begin(), places.end(), [&](auto a, auto b) {
      return std::fabs(static_cast<double>(own[a])) > std::fabs(static_cast<double>(own[b]));
    });
    places.resize(chunks.entries(chunk));
    std::sort(places.begin(), places.end());
    std::vector<float> large;
    for (const std::uint16_t place : places) large.push_back(own[place]);
    const std::size_t before = message.size();
    message.resize(before + sparse::packed_chunk_bytes(places.size()));
    sparse::pack_chunk(places, large, std::as_writable_bytes(std::span(message).subspan(before)));
  }
  return message;
}

Bytes packed(const std::vector<float>& values, const Chunks& chunks) {
  DeviceArray<float> device(values);
  DeviceArray<unsigned char> message(chunks.bytes());
  EXPECT_EQ(
      pack_chunks({device.data(), values.size(), chunks.count, chunks.last_count, message.data()},
                  nullptr),
      cudaSuccess);
  return message.download();
}

TEST_P(KernelTest, PacksTheBytesOfTheCpuFromAllKindsOfValues) {
  for (const Values kind : kAllValues) {
    if (kind == Values::kNonFinite) continue;
    for (const std::size_t size : {1, 31, 32, 33, 1000, 4096, 4097, 30'003}) {
      const auto values = gradient_values(kind, size, 1);
      for (const double density : {0.0, 0.01, 0.3, 1.0}) {
        if (size > 5000 && density > 0.5) continue;  // time
        const Chunks chunks = chunks_of(size, density);
        SCOPED_TRACE(testing::Message()
                     << size << " of kind " << static_cast<int>(kind) << " at " << density);
        ASSERT_EQ(packed(values, chunks), packed_on_cpu(values, chunks));
      }
    }
  }
}

TEST_P(KernelTest, RefusesMoreEntriesThanAChunkHasValues) {
  EXPECT_EQ(pack_chunks({nullptr, 5000, 4097, 1, nullptr}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(pack_chunks({nullptr, 5000, 0, 1, nullptr}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(pack_chunks({nullptr, 5000, 1, 905, nullptr}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(pack_chunks({nullptr, 0, 1, 1, nullptr}, nullptr), cudaSuccess);
}

}  // namespace
}  // namespace tandem::gpu_kernels
