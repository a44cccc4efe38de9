// SPDX-License-Identifier: Apache-2.0
//
// Packing and dequantising against the host's dequantize_row(), rounded to bf16: bit for bit.
#include "gemm/packed_weight.h"

#include "gemm/dequantise.h"
#include "gpu_kernels/device_array.h"
#include "gpu_kernels/gemm/random_weights.h"

namespace tandem::gpu_kernels {
namespace {

// Packs rows [0, cut) and [cut, ...) by calls of their own.
void pack_in_two(const HostWeight& weight, StoredType type, std::int64_t cut, void* packed) {
  const std::int64_t firsts[3] = {0, cut, weight.out_features};
  for (int part = 0; part < 2; ++part) {
    const std::int64_t first = firsts[part], count = firsts[part + 1] - first;
    const std::size_t begin = static_cast<std::size_t>(first) * weight.row_bytes;
    DeviceArray<std::byte> rows(
        std::span<const std::byte>(weight.data)
            .subspan(begin, static_cast<std::size_t>(count) * weight.row_bytes));
    ASSERT_EQ(pack_rows({type, weight.out_features, weight.in_features, first, count, rows.data(),
                         packed},
                        nullptr),
              cudaSuccess);
    rows.download();
  }
}

void expect_bits(const HostWeight& weight, std::int64_t first_row, std::int64_t num_rows,
                 const std::vector<BF16>& got) {
  const auto width = static_cast<std::size_t>(weight.in_features);
  const std::size_t begin = static_cast<std::size_t>(first_row) * width;
  for (std::size_t i = 0; i < static_cast<std::size_t>(num_rows) * width; ++i) {
    ASSERT_EQ(got[i].bits, f32_to_bf16(weight.values[begin + i]))
        << "row " << (begin + i) / width << " value " << i % width;
  }
}

void expect_round_trip(const TypePair& type, std::int64_t out_features, std::int64_t in_features) {
  SCOPED_TRACE(testing::Message() << dtype_name(type.host) << " " << out_features << " x "
                                  << in_features);
  const HostWeight weight = random_weight(type.host, out_features, in_features, 3);
  DeviceArray<std::byte> packed(packed_bytes(type.device, out_features, in_features));
  pack_in_two(weight, type.device, out_features / 2 / kPanelOutputs * kPanelOutputs, packed.data());
  packed.download();
  for (const std::int64_t first : {std::int64_t{0}, out_features / kPanelOutputs * kPanelOutputs}) {
    const std::int64_t count = std::min<std::int64_t>(out_features - first, 37);
    DeviceArray<BF16> rows(static_cast<std::size_t>(count * in_features));
    ASSERT_EQ(dequantise_rows({type.device, out_features, in_features, packed.data(), nullptr,
                               first, count, rows.data()},
                              nullptr),
              cudaSuccess);
    expect_bits(weight, first, count, rows.download());
  }
}

TEST_P(KernelTest, PackedWeightsComeBackAsTheHostReadsThem) {
  for (const TypePair& type : kQuantisedTypes) {
    for (const std::int64_t outputs : {1, 16, 50}) expect_round_trip(type, outputs, 512);
    if (dtype_block_values(type.host) == 32) expect_round_trip(type, 33, 32 * 11);
    expect_round_trip(type, 17, 256);
  }
}

TEST_P(KernelTest, PackedWeightsAreHardlyLargerThanTheFile) {
  for (const TypePair& type : kQuantisedTypes) {
    const std::size_t file = row_bytes(type.device, 4096) * 4096;
    EXPECT_GE(packed_bytes(type.device, 4096, 4096), file);
    EXPECT_LE(packed_bytes(type.device, 4096, 4096), file + file / 35) << dtype_name(type.host);
  }
}

// By lines and by values; scales of outputs, of blocks, of blocks that end inside a thread's
// values.
TEST_P(KernelTest, BytesOfE4M3AreWidenedAndScaled) {
  struct Case {
    std::size_t width;
    int scale_outputs, scale_inputs;
  };
  for (const Case c : {Case{100, 1, 0}, {96, 1, 0}, {4112, 5, 128}, {4112, 5, 24}, {101, 17, 16}}) {
    SCOPED_TRACE(testing::Message() << c.width << ", " << c.scale_inputs);
    const auto run = c.scale_inputs > 0 ? static_cast<std::size_t>(c.scale_inputs) : c.width;
    const auto outputs = static_cast<std::size_t>(c.scale_outputs);
    const std::size_t per_row = (c.width + run - 1) / run;
    HostWeight weight = random_weight(DType::kF8E4M3, 19, static_cast<int>(c.width), 5);
    const std::vector<float> scales = random_floats((19 / outputs + 1) * per_row, 6);
    for (std::size_t i = 0; i < weight.values.size(); ++i) {
      weight.values[i] *= scales[i / c.width / outputs * per_row + i % c.width / run];
    }
    DeviceArray<std::byte> bytes(weight.data);
    DeviceArray<float> device_scales(scales);
    DeviceArray<BF16> rows(3 * c.width);
    Dequantisation job{StoredType::kE4M3,
                       19,
                       static_cast<std::int64_t>(c.width),
                       bytes.data(),
                       device_scales.data(),
                       16,
                       3,
                       rows.data()};
    job.scale_outputs = c.scale_outputs;
    job.scale_inputs = c.scale_inputs;
    ASSERT_EQ(dequantise_rows(job, nullptr), cudaSuccess);
    expect_bits(weight, 16, 3, rows.download());
  }
}

TEST_P(KernelTest, PackingRefusesWhatItCannotPlace) {
  RowPacking job{StoredType::kBF16, 32, 256, 0, 32, nullptr, nullptr};
  EXPECT_EQ(pack_rows(job, nullptr), cudaErrorInvalidValue);
  job.type = StoredType::kQ4_K;
  job.in_features = 255;
  EXPECT_EQ(pack_rows(job, nullptr), cudaErrorInvalidValue);
  job.in_features = 256;
  job.first_row = 8;
  job.num_rows = 24;
  EXPECT_EQ(pack_rows(job, nullptr), cudaErrorInvalidValue);
  job.first_row = 0;
  EXPECT_EQ(pack_rows(job, nullptr), cudaErrorInvalidValue);  // ends inside a panel
  job.num_rows = 48;
  EXPECT_EQ(pack_rows(job, nullptr), cudaErrorInvalidValue);
  EXPECT_FALSE(is_packable(StoredType::kF32));
  EXPECT_EQ(packed_bytes(StoredType::kE4M3, 16, 256), 0u);
}

}  // namespace
}  // namespace tandem::gpu_kernels
