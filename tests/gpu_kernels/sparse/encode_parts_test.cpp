// SPDX-License-Identifier: Apache-2.0
//
// Bodies written by the kernels against those of the collectives library's codecs, byte for byte.
#include "sparse/encode_parts.h"

#include <cstring>

#include "collectives/codec/codec.h"
#include "gpu_kernels/device_array.h"
#include "gpu_kernels/sparse/random_entries.h"
#include "tensor/sparse/partition.h"

namespace tandem::gpu_kernels {
namespace {

using collectives::Codec;
constexpr std::size_t kHeaderBytes = 16;  // of an encoding, before its body

std::vector<unsigned char> body_of_codec(const sparse::SparseVector& part, Codec codec,
                                         ValueType wire) {
  transport::ByteBuffer message;
  encode(part, codec, dtype_of(wire), sparse::Reduction::kSum, message);
  const auto* bytes = reinterpret_cast<const unsigned char*>(message.data());
  return {bytes + kHeaderBytes, bytes + message.size()};
}

template <typename T>
void expect_same_bodies(const std::vector<sparse::SparseVector>& parts, ValueType wire,
                        Codec codec) {
  SCOPED_TRACE(testing::Message() << codec_name(codec) << ", wire " << static_cast<int>(wire));
  EncodeParts job;
  job.wire = wire;
  job.num_parts = static_cast<int>(parts.size());
  job.num_positions = parts.front().domain().num_units;
  std::vector<std::uint32_t> locals;
  std::vector<T> values;
  std::vector<std::vector<unsigned char>> expected;
  std::size_t body_bytes = 0;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const auto indices = parts[part].indices<std::uint32_t>();
    locals.insert(locals.end(), indices.begin(), indices.end());
    const auto own = parts[part].values<T>();
    values.insert(values.end(), own.begin(), own.end());
    job.begins[part + 1] = static_cast<std::uint32_t>(locals.size());
    job.body_offsets[part] = body_bytes;
    expected.push_back(body_of_codec(parts[part], codec, wire));
    const std::size_t bytes = codec == Codec::kCoo32
                                  ? coo_body_bytes(indices.size(), wire)
                                  : bitmap_body_bytes(indices.size(), job.num_positions, wire);
    ASSERT_EQ(bytes, expected.back().size());
    body_bytes += (bytes + 7) / 8 * 8;
  }
  DeviceArray<std::uint32_t> device_locals(locals);
  DeviceArray<T> device_values(values);
  DeviceArray<unsigned char> bodies(body_bytes);
  job.locals = device_locals.data();
  job.values = device_values.data();
  job.bodies = bodies.data();
  ASSERT_EQ(codec == Codec::kCoo32 ? encode_coo(job, nullptr) : encode_bitmap(job, nullptr),
            cudaSuccess);
  const auto got = bodies.download();
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const auto begin = got.begin() + static_cast<std::ptrdiff_t>(job.body_offsets[part]);
    const std::vector<unsigned char> body(
        begin, begin + static_cast<std::ptrdiff_t>(expected[part].size()));
    ASSERT_EQ(body, expected[part]) << "part " << part;
  }
}

template <typename T>
std::vector<sparse::SparseVector> parts_of(std::size_t count, std::uint64_t num_units,
                                           int num_owners, DType type) {
  const auto vector = sparse_vector(num_units, type, random_indices(count, num_units, 5),
                                    random_values<T>(count, 6));
  return sparse::Partition::hashed(num_units, num_owners, 9).split(vector);
}

TEST_P(KernelTest, EncodesPartsAsTheCodecsDoInEveryWireType) {
  const auto floats = parts_of<float>(9001, 300'000, 3, DType::kF32);
  for (const Codec codec : {Codec::kCoo32, Codec::kBitmap}) {
    for (const ValueType wire : {ValueType::kF32, ValueType::kF16, ValueType::kBF16}) {
      expect_same_bodies<float>(floats, wire, codec);
    }
    expect_same_bodies<double>(parts_of<double>(4001, 200'000, 2, DType::kF64), ValueType::kF64,
                               codec);
    expect_same_bodies<std::uint64_t>(parts_of<std::uint64_t>(4001, 200'000, 2, DType::kU64),
                                      ValueType::kU64, codec);
  }
}

TEST_P(KernelTest, EncodesEmptyPartsAndSmallDomains) {
  for (const Codec codec : {Codec::kCoo32, Codec::kBitmap}) {
    for (const std::uint64_t num_units : {1, 63, 64, 65, 1000}) {
      const std::size_t count = static_cast<std::size_t>((num_units + 1) / 2);
      expect_same_bodies<float>(parts_of<float>(count, num_units, 16, DType::kF32), ValueType::kF32,
                                codec);
    }
    expect_same_bodies<float>(parts_of<float>(0, 1000, 4, DType::kF32), ValueType::kF32, codec);
  }
}

// Blocks of the bitmap own 65,536 positions: full ones, empty ones, entries at their edges.
TEST_P(KernelTest, EncodesBitmapsWhoseBlocksAreFullEmptyOrTouchedAtTheEdges) {
  constexpr std::uint64_t kPositions = 4 * 65536 + 70;
  std::vector<std::uint32_t> indices = {0, 65535, 65536};
  for (std::uint32_t index = 2 * 65536; index < 3 * 65536; ++index) indices.push_back(index);
  indices.push_back(4 * 65536 + 69);
  const auto vector =
      sparse_vector(kPositions, DType::kF32, indices, random_values<float>(indices.size(), 3));
  expect_same_bodies<float>({vector}, ValueType::kF32, Codec::kBitmap);
}

TEST_P(KernelTest, EncodeRefusesShapesOutsideTheStatedOnes) {
  EncodeParts job;
  job.num_parts = kMaxOwners + 1;
  EXPECT_EQ(encode_coo(job, nullptr), cudaErrorInvalidValue);
  job.num_parts = 1;
  job.num_positions = (std::uint64_t{1} << 32) + 1;
  EXPECT_EQ(encode_bitmap(job, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace tandem::gpu_kernels
