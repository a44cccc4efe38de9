// SPDX-License-Identifier: Apache-2.0
//
// Partition and encode: 11 M non-zeros among 214 M f32 elements to the owners' hash
// bitmaps, from the dense tensor in one pass and from a sorted sparse vector (split, then encode);
// against a plain read of the input in the same run. One core by its clock; the dense tensor also
// by all cores and the wall clock, against the faster of one core's read and all cores' read.
// Also the way back (join).
#include <cstdio>
#include <cstdlib>

#include "collectives/codec/encode_dense.h"
#include "kernel_samples.h"
#include "tensor/sparse/coalesce.h"

namespace tandem::bench {
namespace {

using namespace collectives;  // NOLINT: a benchmark of that namespace

constexpr std::uint64_t kUnits = 214'000'000;
constexpr double kNonZeros = 11e6;

void check(bool right) {
  if (right) return;
  std::fprintf(stderr, "partition_bench: wrong result\n");
  std::exit(1);
}

void encode_parts(const Partition& partition, const SparseVector& vector, Codec codec,
                  std::vector<ByteBuffer>& messages) {
  const auto parts = partition.split(vector);
  for (std::size_t owner = 0; owner < parts.size(); ++owner) {
    encode(parts[owner], codec, DType::kF32, Reduction::kSum, messages[owner]);
  }
}

void measure(const std::vector<float>& dense, const SparseVector& vector, int num_owners) {
  const Partition partition = Partition::hashed(kUnits, num_owners, 0x7a9d);
  const auto owners = static_cast<std::size_t>(num_owners);
  std::vector<ByteBuffer> direct(owners), expected(owners);
  encode_dense(dense.data(), partition, DType::kF32, direct);
  encode_parts(partition, vector, Codec::kBitmap, expected);
  check(direct == expected);
  check(std::ranges::equal(partition.join(partition.split(vector), vector.domain()).value_bytes(),
                           vector.value_bytes()));
  const auto count = static_cast<double>(vector.num_entries());
  const std::string suffix = "_owners" + std::to_string(num_owners);
  measure_against_read("encode_dense/bitmap" + suffix, std::as_bytes(std::span(dense)), count, [&] {
    std::vector<ByteBuffer> messages(owners);
    encode_dense(dense.data(), partition, DType::kF32, messages);
  });
  measure_with_all_cores("encode_dense/bitmap_all_cores" + suffix, std::as_bytes(std::span(dense)),
                         count, [&](ThreadPool& threads) {
                           std::vector<ByteBuffer> messages(owners);
                           encode_dense(dense.data(), partition, DType::kF32, messages, &threads);
                         });
  const std::vector<std::byte> coo(vector.num_entries() * 8, std::byte{1});
  measure_against_read("split" + suffix, coo, count, [&] { partition.split(vector); });
  for (const Codec codec : {Codec::kBitmap, Codec::kCoo32}) {
    measure_against_read("split_encode/" + std::string(codec_name(codec)) + suffix, coo, count,
                         [&] {
                           std::vector<ByteBuffer> messages(owners);
                           encode_parts(partition, vector, codec, messages);
                         });
  }
  const auto parts = partition.split(vector);
  measure_against_read("join" + suffix, coo, count,
                       [&] { partition.join(parts, vector.domain()); });
}

void run() {
  const SparseVector vector = random_support(kUnits, kNonZeros / static_cast<double>(kUnits), 1);
  std::vector<float> dense(kUnits);
  scatter(vector, DType::kF32, dense.data());
  measure_against_read("extract", std::as_bytes(std::span(dense)),
                       static_cast<double>(vector.num_entries()),
                       [&] { extract(dense.data(), vector.domain(), DType::kF32); });
  for (const int num_owners : {16, 128}) measure(dense, vector, num_owners);
}

}  // namespace
}  // namespace tandem::bench

int main() { tandem::bench::run(); }
