// SPDX-License-Identifier: Apache-2.0
//
// Every codec, encoding and decoding 2 M f32 entries on one core: entries per second, bytes per
// entry, and the fraction of a plain read of the entries' bytes.
#include <cstdio>
#include <cstdlib>

#include "collectives/codec/codec.h"
#include "kernel_samples.h"

namespace tandem::bench {
namespace {

using namespace collectives;  // NOLINT: a benchmark of that namespace

void measure(const SparseVector& vector, Codec codec, DType wire, const std::string& name) {
  ByteBuffer message;
  encode(vector, codec, wire, Reduction::kSum, message);
  std::span<const std::byte> body = message;
  const SparseVector back = decode(body, vector.domain(), DType::kF32, Reduction::kSum);
  if (!std::ranges::equal(back.indices<std::uint32_t>(), vector.indices<std::uint32_t>())) {
    std::fprintf(stderr, "codec_bench: wrong decoding\n");
    std::exit(1);
  }
  const std::vector<std::byte> as_large(vector.num_entries() * 8, std::byte{1});
  const auto count = static_cast<double>(vector.num_entries());
  measure_against_read("encode/" + name, as_large, count, [&] {
    ByteBuffer again;
    encode(vector, codec, wire, Reduction::kSum, again);
  });
  measure_against_read("decode/" + name, as_large, count, [&] {
    std::span<const std::byte> rest = message;
    decode(rest, vector.domain(), DType::kF32, Reduction::kSum);
  });
}

}  // namespace
}  // namespace tandem::bench

int main() {
  using namespace tandem;               // NOLINT
  using namespace tandem::collectives;  // NOLINT
  for (const double density : {0.001, 0.05, 0.5}) {
    const SparseVector vector =
        bench::random_support(static_cast<std::uint64_t>(2e6 / density), density, 7);
    char suffix[32];
    std::snprintf(suffix, sizeof suffix, "_density%g", density);
    for (const Codec codec : all_codecs()) {
      const bool enumerates = codec == Codec::kBlocks || codec == Codec::kDense;
      if (enumerates && density < 0.05) continue;
      const std::string name = std::string(codec_name(codec)) + suffix;
      bench::measure(vector, codec, DType::kF32, name);
    }
    bench::measure(vector, Codec::kCoo32, DType::kF16, std::string("coo32_f16") + suffix);
    bench::measure(vector, Codec::kCoo32, DType::kBF16, std::string("coo32_bf16") + suffix);
  }
}
