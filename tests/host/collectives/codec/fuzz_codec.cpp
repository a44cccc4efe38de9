// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: any bytes become a vector that satisfies the invariants of SparseVector, or an
// Error. The first two bytes choose domain, type and reduction. Seeds are encodings of the codecs
// themselves.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "collectives/codec/codec.h"
#include "common/error.h"
#include "host/tensor/sparse/patterns.h"
#include "support/fuzz_main.h"

namespace tandem::collectives {

namespace test = sparse::test;

namespace {

constexpr Domain kDomains[] = {{1, 1},
                               {1000, 1},
                               {70'000, 1},
                               {333, 3},
                               {40, 300},
                               {200'003, 2},
                               {std::uint64_t{1} << 32, 1},
                               {(std::uint64_t{1} << 33) + 5, 1},
                               {~std::uint64_t{0}, 1}};
constexpr DType kTypes[] = {DType::kF32, DType::kF64, DType::kU64};

void check(const SparseVector& vector) {
  for (std::size_t entry = 0; entry < vector.num_entries(); ++entry) {
    if (vector.index_at(entry) >= vector.domain().num_units) std::abort();
    if (entry > 0 && vector.index_at(entry - 1) >= vector.index_at(entry)) std::abort();
  }
}

}  // namespace
}  // namespace tandem::collectives

void tandem::test::add_fuzz_seeds(std::vector<std::string>& seeds) {
  namespace c = tandem::collectives;
  for (std::size_t d = 0; d < std::size(c::kDomains); ++d) {
    for (std::size_t t = 0; t < std::size(c::kTypes); ++t) {
      for (const auto pattern : {c::test::Pattern::kUniform, c::test::Pattern::kBorders}) {
        const c::Domain domain = c::kDomains[d];
        const c::SparseVector vector = c::test::vector_of(
            domain, c::kTypes[t], c::test::pattern_units(pattern, domain.num_units, 200, d));
        for (const c::Codec codec : c::all_codecs()) {
          if (!c::codec_supports(codec, domain)) continue;
          if (domain.num_units > 300'000 && codec != c::Codec::kCoo32 &&
              codec != c::Codec::kDelta) {
            continue;
          }
          c::ByteBuffer message;
          c::encode(vector, codec, t == 0 ? DType::kF16 : c::kTypes[t], c::Reduction::kSum,
                    message);
          std::string seed = {static_cast<char>(d), static_cast<char>(t)};
          seed.append(reinterpret_cast<const char*>(message.data()), message.size());
          seeds.push_back(std::move(seed));
        }
      }
    }
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace c = tandem::collectives;
  if (size < 2) return 0;
  const c::Domain domain = c::kDomains[data[0] % std::size(c::kDomains)];
  const tandem::DType type = c::kTypes[data[1] % std::size(c::kTypes)];
  const auto reduction = data[1] & 0x80 ? c::Reduction::kMax : c::Reduction::kSum;
  std::span<const std::byte> body{reinterpret_cast<const std::byte*>(data) + 2, size - 2};
  try {
    c::check(c::decode(body, domain, type, reduction));
  } catch (const tandem::Error&) {
  }
  return 0;
}
