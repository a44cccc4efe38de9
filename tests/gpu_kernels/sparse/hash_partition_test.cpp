// SPDX-License-Identifier: Apache-2.0
//
// The partition kernels against Partition::hashed of the collectives library.
#include "sparse/hash_partition.h"

#include <limits>

#include "gpu_kernels/device_array.h"
#include "gpu_kernels/sparse/random_entries.h"
#include "tensor/sparse/partition.h"

namespace tandem::gpu_kernels {
namespace {

struct Shape {
  std::size_t num_entries;
  std::uint64_t num_units;
  int num_owners;
  bool clustered = false;
};

template <typename T>
void expect_same_parts(const Shape& shape, DType type, std::uint64_t seed) {
  SCOPED_TRACE(testing::Message() << shape.num_entries << " of " << shape.num_units << " over "
                                  << shape.num_owners << ", " << sizeof(T) << "-byte values");
  const auto indices = random_indices(shape.num_entries, shape.num_units, 7, shape.clustered);
  const auto values = random_values<T>(shape.num_entries, 8);
  DeviceArray<std::uint32_t> device_indices(indices), locals(indices.size());
  DeviceArray<T> device_values(values), values_out(values.size());
  DeviceArray<std::uint32_t> begins(static_cast<std::size_t>(shape.num_owners) + 1);
  DeviceArray<unsigned char> workspace(
      partition_workspace_bytes(static_cast<std::uint32_t>(shape.num_entries), shape.num_owners));
  HashPartition job;
  job.indices = device_indices.data();
  job.values = device_values.data();
  job.num_entries = static_cast<std::uint32_t>(indices.size());
  job.value_bytes = sizeof(T);
  job.owners = make_hashed_owners(shape.num_owners, seed);
  job.locals = locals.data();
  job.values_out = values_out.data();
  job.begins = begins.data();
  job.workspace = workspace.data();
  ASSERT_EQ(hash_partition(job, nullptr), cudaSuccess);

  const auto expected = sparse::Partition::hashed(shape.num_units, shape.num_owners, seed)
                            .split(sparse_vector(shape.num_units, type, indices, values));
  const auto got_locals = locals.download();
  const auto got_values = values_out.download();
  const auto got_begins = begins.download();
  workspace.download();
  std::size_t begin = 0;
  for (int owner = 0; owner < shape.num_owners; ++owner) {
    const sparse::SparseVector& part = expected[static_cast<std::size_t>(owner)];
    ASSERT_EQ(got_begins[static_cast<std::size_t>(owner)], begin) << "owner " << owner;
    ASSERT_LE(begin + part.num_entries(), got_locals.size());
    for (std::size_t entry = 0; entry < part.num_entries(); ++entry) {
      ASSERT_EQ(got_locals[begin + entry], part.index_at(entry)) << "owner " << owner;
    }
    ASSERT_EQ(bytes_of(got_values.data() + begin, part.num_entries()),
              bytes_of(part.values<T>().data(), part.num_entries()));
    begin += part.num_entries();
  }
  ASSERT_EQ(got_begins.back(), begin);
  ASSERT_EQ(begin, shape.num_entries);
}

TEST_P(KernelTest, PartitionsAsTheHostDoesForEveryNumberOfOwners) {
  for (const int num_owners : {1, 2, 3, 7, 16, 100, 255, 256}) {
    expect_same_parts<float>({5000, 1 << 20, num_owners}, DType::kF32, 0x7a9d);
  }
}

TEST_P(KernelTest, PartitionsTilesThatAreEmptyCutOrExactlyFull) {
  for (const std::size_t count : {0, 1, 31, 32, 33, 4095, 4096, 4097, 8192, 12289}) {
    expect_same_parts<float>({count, 100'000, 5}, DType::kF32, 3);
  }
}

TEST_P(KernelTest, PartitionsClusteredEntriesAndTheLastUnits) {
  expect_same_parts<float>({9000, 80'000, 16, true}, DType::kF32, 1);
  expect_same_parts<float>({4000, std::uint64_t{1} << 32, 12}, DType::kF32, ~std::uint64_t{0});
  expect_same_parts<float>({64, 64, 48}, DType::kF32, 11);  // the last group is cut
}

TEST_P(KernelTest, PartitionMovesEightByteValues) {
  expect_same_parts<std::uint64_t>({6000, 200'000, 9}, DType::kU64, 5);
  expect_same_parts<double>({6000, 200'000, 200}, DType::kF64, 5);
}

TEST_P(KernelTest, PartitionMovesTwoByteValuesBesideTheirIndices) {
  const std::size_t count = 5001;
  const auto indices = random_indices(count, 1 << 18, 21);
  std::vector<std::uint16_t> values(count);
  for (std::size_t entry = 0; entry < count; ++entry) {
    values[entry] = static_cast<std::uint16_t>(indices[entry] * 40503u);
  }
  DeviceArray<std::uint32_t> device_indices(indices), locals(count), begins(8);
  DeviceArray<std::uint16_t> device_values(values), values_out(count);
  DeviceArray<unsigned char> workspace(partition_workspace_bytes(count, 7));
  const HashedOwners owners = make_hashed_owners(7, 77);
  const HashPartition job{
      device_indices.data(), device_values.data(), count,           2, owners, locals.data(),
      values_out.data(),     begins.data(),        workspace.data()};
  ASSERT_EQ(hash_partition(job, nullptr), cudaSuccess);
  const auto got_locals = locals.download();
  const auto got_values = values_out.download();
  const auto got_begins = begins.download();
  for (std::uint32_t owner = 0; owner < 7; ++owner) {
    for (std::uint32_t at = got_begins[owner]; at < got_begins[owner + 1]; ++at) {
      const std::uint32_t unit = unit_at(owners, {owner, got_locals[at]});
      ASSERT_EQ(got_values[at], static_cast<std::uint16_t>(unit * 40503u)) << at;
    }
  }
}

TEST_P(KernelTest, PartitionRefusesShapesOutsideTheStatedOnes) {
  HashPartition job;
  job.num_entries = 1;
  job.owners.num_owners = 0;
  EXPECT_EQ(hash_partition(job, nullptr), cudaErrorInvalidValue);
  job.owners.num_owners = kMaxOwners + 1;
  EXPECT_EQ(hash_partition(job, nullptr), cudaErrorInvalidValue);
  job.owners.num_owners = 2;
  job.value_bytes = 3;
  EXPECT_EQ(hash_partition(job, nullptr), cudaErrorInvalidValue);
  job.value_bytes = 4;
  job.num_entries = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(hash_partition(job, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace tandem::gpu_kernels
