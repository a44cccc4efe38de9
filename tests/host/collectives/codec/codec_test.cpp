// SPDX-License-Identifier: Apache-2.0
//
// Every codec over types, widths, counts and patterns: what is decoded is what was encoded, in the
// bytes that were announced; and broken encodings are refused.
#include "collectives/codec/codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "collectives/codec/encode_dense.h"
#include "host/tensor/sparse/patterns.h"
#include "tensor/sparse/coalesce.h"
#include "tensor/sparse/wire_values.h"

namespace tandem::collectives {

namespace test = sparse::test;

namespace {

using test::Pattern;

struct Types {
  DType type;
  DType wire;
};
constexpr Types kTypes[] = {{DType::kF32, DType::kF32},
                            {DType::kF32, DType::kF16},
                            {DType::kF32, DType::kBF16},
                            {DType::kF64, DType::kF64},
                            {DType::kU64, DType::kU64}};
constexpr std::uint64_t kWideUnits = (std::uint64_t{1} << 33) + 12345;

std::vector<Domain> domains_of(std::size_t count) {
  std::vector<Domain> domains = {{count + 1, 1},      {count * 2 + 70, 1},  {count * 9 + 300, 3},
                                 {count + 5, 8},      {200'001, 1},         {kWideUnits, 1},
                                 {kWideUnits / 2, 2}, {count / 16 + 2, 300}};
  if (count > 0) domains.push_back({count, 1});
  return domains;
}

ByteBuffer encoded(const SparseVector& vector, Codec codec, DType wire,
                   Reduction reduction = Reduction::kSum) {
  ByteBuffer message;
  encode(vector, codec, wire, reduction, message);
  return message;
}

// With other bytes before and behind.
void expect_round_trip(const SparseVector& vector, Codec codec, DType wire, Reduction reduction) {
  ByteBuffer message;
  append_value(message, std::uint8_t{7});
  encode(vector, codec, wire, reduction, message);
  const std::size_t size = message.size() - 1;
  append_value(message, std::uint16_t{0xabcd});
  std::span<const std::byte> body = std::span<const std::byte>(message).subspan(1);
  const SparseVector back = decode(body, vector.domain(), vector.type(), reduction);
  EXPECT_EQ(body.size(), 2u) << codec_name(codec);
  EXPECT_TRUE(test::same(vector, back))
      << codec_name(codec) << " " << vector.num_entries() << " of " << vector.domain().num_units
      << " x " << vector.domain().width << ", " << dtype_name(vector.type()) << " as "
      << dtype_name(wire) << ", back " << back.num_entries();
  if (codec == Codec::kDelta || codec == Codec::kAuto) return;
  EXPECT_EQ(encoded_bytes(codec, encoding_statistics(vector), wire), static_cast<double>(size))
      << codec_name(codec) << " " << vector.num_entries() << " of " << vector.domain().num_units;
}

TEST(Codec, GivesBackEveryVectorInTheBytesItAnnounced) {
  for (const std::size_t count : {0, 1, 63, 64, 1000, 10007}) {
    for (const Domain domain : domains_of(count)) {
      for (const Pattern pattern : test::kPatterns) {
        if (domain.wide() && pattern == Pattern::kAll) continue;
        const auto units = test::pattern_units(pattern, domain.num_units, count, count + 1);
        for (const auto& [type, wire] : kTypes) {
          const SparseVector vector = test::vector_of(domain, type, units);
          for (const Codec codec : all_codecs()) {
            if (!codec_supports(codec, domain)) continue;
            expect_round_trip(vector, codec, wire, Reduction::kSum);
          }
          expect_round_trip(vector, Codec::kAuto, wire, Reduction::kMax);
        }
      }
    }
  }
}

TEST(Codec, KeepsZeroesWhenTheReductionIsMax) {
  SparseVector vector = test::vector_of({500, 1}, DType::kF32, {3, 70, 499});
  for (float& value : vector.values<float>()) value = 0;
  for (const Codec codec : all_codecs()) {
    for (const DType wire : {DType::kF32, DType::kF16, DType::kBF16}) {
      expect_round_trip(vector, codec, wire, Reduction::kMax);
    }
  }
}

TEST(Codec, DropsUnitsEqualToTheIdentityFromBlocksAndDenseOnly) {
  SparseVector vector = test::vector_of({500, 2}, DType::kF32, {3, 70, 499});
  vector.values<float>()[2] = vector.values<float>()[3] = 0;
  for (const Codec codec : all_codecs()) {
    const ByteBuffer message = encoded(vector, codec, DType::kF32);
    std::span<const std::byte> body = message;
    const SparseVector back = decode(body, vector.domain(), DType::kF32, Reduction::kSum);
    const bool drops = codec == Codec::kBlocks || codec == Codec::kDense;
    EXPECT_EQ(back.num_entries(), drops ? 2u : 3u) << codec_name(codec);
  }
}

TEST(Codec, AutoTakesTheLeastBytes) {
  for (const std::uint64_t num_units : {std::uint64_t{100'000}, kWideUnits}) {
    for (const std::size_t count : {1, 10, 500, 5000, 30'000, 99'000}) {
      for (const Pattern pattern : {Pattern::kUniform, Pattern::kRun, Pattern::kBorders}) {
        const SparseVector vector = test::vector_of(
            {num_units, 1}, DType::kF32, test::pattern_units(pattern, num_units, count, count));
        std::size_t least = SIZE_MAX;
        for (const Codec codec : all_codecs()) {
          if (!codec_supports(codec, vector.domain())) continue;
          least = std::min(least, encoded(vector, codec, DType::kF16).size());
        }
        const std::size_t chosen = encoded(vector, Codec::kAuto, DType::kF16).size();
        EXPECT_EQ(chosen, least) << count << " of " << num_units;
      }
    }
  }
}

TEST(Codec, EstimatesDeltaWithinThreePercentForUniformSupports) {
  for (const std::uint64_t num_units : {std::uint64_t{1'000'000}, kWideUnits}) {
    for (const std::size_t count : {1000, 10'007, 100'000, 400'000}) {
      const SparseVector vector =
          test::vector_of({num_units, 1}, DType::kF32,
                          test::pattern_units(Pattern::kUniform, num_units, count, count));
      const auto actual = static_cast<double>(encoded(vector, Codec::kDelta, DType::kF16).size());
      const EncodingStatistics statistics{vector.domain(), static_cast<double>(count), 0};
      EXPECT_NEAR(encoded_bytes(Codec::kDelta, statistics, DType::kF16) / actual, 1, 0.03)
          << count << " of " << num_units;
      EXPECT_LE(
          actual,
          encoded_bytes(choose_codec(statistics, DType::kF16), statistics, DType::kF16) * 1.03 +
              1e9 * (count > 300'000));
    }
  }
}

TEST(Codec, EstimatesBlocksOfUniformSupports) {
  const SparseVector vector = test::vector_of(
      {1'000'000, 1}, DType::kF32, test::pattern_units(Pattern::kUniform, 1'000'000, 5000, 3));
  const auto actual = static_cast<double>(encoded(vector, Codec::kBlocks, DType::kF32).size());
  EXPECT_NEAR(encoded_bytes(Codec::kBlocks, {vector.domain(), 5000, 0}, DType::kF32) / actual, 1,
              0.03);
}

TEST(Codec, NamesRoundTrip) {
  for (const Codec codec : all_codecs()) EXPECT_EQ(codec_from_name(codec_name(codec)), codec);
  EXPECT_EQ(codec_from_name("auto"), Codec::kAuto);
  EXPECT_EQ(codec_from_name("zip"), std::nullopt);
  EXPECT_EQ(all_codecs().size(), 6u);
}

TEST(Codec, RefusesToEnumerateAWideDomain) {
  const SparseVector vector = test::vector_of({kWideUnits, 1}, DType::kF32, {1, kWideUnits - 1});
  for (const Codec codec : {Codec::kBitmap, Codec::kBlocks, Codec::kDense}) {
    EXPECT_FALSE(codec_supports(codec, vector.domain()));
    EXPECT_THROW(encoded(vector, codec, DType::kF32), Error);
  }
  EXPECT_THROW(encoded(test::vector_of({9, 1}, DType::kF64, {1}), Codec::kCoo32, DType::kF16),
               Error);
}

void expect_refused(std::span<const std::byte> bytes, Domain domain, DType type) {
  std::span<const std::byte> body = bytes;
  EXPECT_THROW(decode(body, domain, type, Reduction::kSum), Error);
}

TEST(Codec, RefusesEveryCutEncoding) {
  const SparseVector vector =
      test::vector_of({3000, 2}, DType::kF32, test::pattern_units(Pattern::kUniform, 3000, 200, 1));
  for (const Codec codec : all_codecs()) {
    const ByteBuffer message = encoded(vector, codec, DType::kF32);
    for (std::size_t size = 0; size < message.size(); size += 1 + size / 16) {
      expect_refused(std::span<const std::byte>(message).first(size), vector.domain(), DType::kF32);
    }
    expect_refused(std::span<const std::byte>(message).first(message.size() - 1), vector.domain(),
                   DType::kF32);
  }
}

TEST(Codec, RefusesAnotherDomainTypeOrWidth) {
  const SparseVector vector =
      test::vector_of({3000, 2}, DType::kF32, test::pattern_units(Pattern::kAll, 3000, 3000, 1));
  for (const Codec codec : all_codecs()) {
    const ByteBuffer message = encoded(vector, codec, DType::kF32);
    expect_refused(message, {2999, 2}, DType::kF32);
    expect_refused(message, {3000, 1}, DType::kF32);
    expect_refused(message, {3000, 2}, DType::kF64);
  }
}

// The count fits, so only the last index tells.
TEST(Codec, RefusesAnIndexThatIsTheNumberOfUnits) {
  const SparseVector vector = test::vector_of({3000, 1}, DType::kF32, {5, 2999});
  for (const Codec codec : {Codec::kCoo32, Codec::kCoo16, Codec::kDelta}) {
    expect_refused(encoded(vector, codec, DType::kF32), {2999, 1}, DType::kF32);
  }
}

TEST(Codec, RefusesIndicesThatDoNotAscend) {
  for (const auto& [codec, index_bytes, offset] :
       {std::tuple{Codec::kCoo32, 4, 16}, std::tuple{Codec::kCoo16, 2, 20}}) {
    const SparseVector vector = test::vector_of({300, 1}, DType::kF32, {5, 6, 200});
    const ByteBuffer message = encoded(vector, codec, DType::kF32);
    for (const std::uint32_t wrong : {0u, 5u, 200u, 201u, 0xffffu}) {
      ByteBuffer broken = message;
      std::memcpy(broken.data() + offset + index_bytes, &wrong,
                  static_cast<std::size_t>(index_bytes));
      expect_refused(broken, vector.domain(), DType::kF32);
    }
    ByteBuffer out_of_range = message;
    const std::uint32_t beyond = 300;
    std::memcpy(out_of_range.data() + offset + 2 * index_bytes, &beyond,
                static_cast<std::size_t>(index_bytes));
    expect_refused(out_of_range, vector.domain(), DType::kF32);
  }
}

TEST(Codec, RefusesBlocksThatDoNotAscend) {
  const SparseVector vector = test::vector_of({3000, 1}, DType::kF32, {5, 600});  // blocks 0 and 2
  const ByteBuffer message = encoded(vector, Codec::kBlocks, DType::kF32);
  for (const std::uint32_t wrong : {0u, 12u}) {
    ByteBuffer broken = message;
    std::memcpy(broken.data() + 16 + 4, &wrong, 4);
    expect_refused(broken, vector.domain(), DType::kF32);
  }
}

TEST(Codec, RefusesCountsThatTheMessageCannotHold) {
  const SparseVector vector = test::vector_of({kWideUnits, 1}, DType::kF32, {1, 2});
  for (const Codec codec : {Codec::kCoo32, Codec::kCoo16, Codec::kDelta}) {
    for (const std::uint64_t count : {std::uint64_t{3}, std::uint64_t{1} << 32, kWideUnits,
                                      kWideUnits + 1, ~std::uint64_t{0}}) {
      ByteBuffer message = encoded(vector, codec, DType::kF32);
      std::memcpy(message.data() + 8, &count, 8);
      expect_refused(message, vector.domain(), DType::kF32);
    }
  }
}

TEST(Codec, RefusesADeltaThatOverflows) {
  // Two gaps of 64 bits: the second would wrap around to a small index.
  const SparseVector vector = test::vector_of({kWideUnits, 1}, DType::kF32, {1, kWideUnits - 1});
  ByteBuffer message = encoded(vector, Codec::kDelta, DType::kF32);
  for (const unsigned width : {33u, 64u, 65u, 255u}) {
    ByteBuffer broken(message.begin(), message.begin() + 16);
    append_value(broken, static_cast<std::uint8_t>(width));
    broken.resize(broken.size() + 2000, std::byte{0xff});
    expect_refused(broken, vector.domain(), DType::kF32);
  }
}

TEST(EncodeDense, AppendsWhatExtractSplitAndBitmapDo) {
  for (const std::uint64_t num_units : {1, 63, 4096, 10'007, 300'000}) {
    for (const int num_owners : {1, 3, 16, 128}) {
      for (const Pattern pattern : test::kPatterns) {
        std::vector<float> dense(num_units, -0.0f);
        for (const std::uint64_t unit :
             test::pattern_units(pattern, num_units, num_units / 3, num_units)) {
          dense[unit] = test::value_of<float>(unit) * 1.0001f;
        }
        const Domain domain{num_units, 1};
        const Partition partition = Partition::hashed(num_units, num_owners, 77);
        ASSERT_TRUE(can_encode_dense(domain, DType::kF32, partition));
        const auto parts = partition.split(sparse::extract(dense.data(), domain, DType::kF32));
        for (const DType wire : {DType::kF32, DType::kF16, DType::kBF16}) {
          std::vector<ByteBuffer> messages(parts.size(), ByteBuffer(3, std::byte{9}));
          encode_dense(dense.data(), partition, wire, messages);
          for (std::size_t owner = 0; owner < parts.size(); ++owner) {
            ByteBuffer expected(3, std::byte{9});
            encode(parts[owner], Codec::kBitmap, wire, Reduction::kSum, expected);
            ASSERT_EQ(messages[owner], expected) << num_units << " units, owner " << owner;
          }
        }
      }
    }
  }
}

TEST(EncodeDense, GivesTheSameBytesWithAnyNumberOfThreads) {
  const std::uint64_t num_units = 5'000'017;
  for (const std::uint64_t gap : {1, 29, 4'000'000}) {
    std::vector<float> dense(num_units);
    for (std::uint64_t unit = gap / 2; unit < num_units; unit += gap) {
      dense[unit] = static_cast<float>(unit);
    }
    const Partition partition = Partition::hashed(num_units, 7, 3);
    std::vector<ByteBuffer> expected(7, ByteBuffer(5, std::byte{1}));
    encode_dense(dense.data(), partition, DType::kBF16, expected);
    for (const int num_threads : {1, 2, 3}) {
      ThreadPool threads(num_threads);
      std::vector<ByteBuffer> messages(7, ByteBuffer(5, std::byte{1}));
      encode_dense(dense.data(), partition, DType::kBF16, messages, &threads);
      EXPECT_TRUE(messages == expected) << num_threads << " threads, a value in " << gap;
    }
  }
}

TEST(EncodeDense, GrowsMessagesWhereASampleSeesNothing) {
  const std::uint64_t num_units = 3'000'000;
  std::vector<float> dense(num_units);
  for (std::uint64_t unit = 0; unit < num_units; ++unit) {
    // Samples are 1,024 units at multiples of the 256th part.
    if (unit % (num_units / 256) >= 1024) dense[unit] = 1.0f + static_cast<float>(unit);
  }
  const Partition partition = Partition::hashed(num_units, 5, 3);
  const auto parts = partition.split(sparse::extract(dense.data(), {num_units, 1}, DType::kF32));
  for (const int num_threads : {1, 2}) {
    ThreadPool threads(num_threads);
    std::vector<ByteBuffer> messages(5);
    encode_dense(dense.data(), partition, DType::kF32, messages, &threads);
    for (std::size_t owner = 0; owner < parts.size(); ++owner) {
      ByteBuffer expected;
      encode(parts[owner], Codec::kBitmap, DType::kF32, Reduction::kSum, expected);
      EXPECT_TRUE(messages[owner] == expected) << num_threads << " threads, owner " << owner;
    }
  }
}

TEST(WireValues, RoundEveryFloatLikeTheScalarConversions) {
  std::vector<float> values;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 40'503) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  for (const std::uint32_t bits : {0x7f800000u, 0xff800000u, 0x7f800001u, 0xffc12345u, 0x80000000u,
                                   0x33000000u, 0x33000001u, 0x387fffffu, 0x477fefffu, 0x477ff000u,
                                   0x3f808000u, 0x3f818000u, 0x7f7fffffu, 0x00000001u}) {
    values.push_back(std::bit_cast<float>(bits));
  }
  for (const DType wire : {DType::kF16, DType::kBF16}) {
    std::vector<std::uint16_t> stored(values.size());
    const auto* from = reinterpret_cast<const std::byte*>(values.data());
    sparse::store_wire(from, values.size(), DType::kF32, wire,
                       reinterpret_cast<std::byte*>(stored.data()));
    std::vector<float> back(values.size()), rounded = values;
    sparse::load_wire(reinterpret_cast<const std::byte*>(stored.data()), stored.size(), DType::kF32,
                      wire, reinterpret_cast<std::byte*>(back.data()));
    sparse::round_values(rounded.data(), rounded.size(), wire);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint16_t expected =
          wire == DType::kF16 ? f32_to_f16(values[i]) : f32_to_bf16(values[i]);
      const float value = wire == DType::kF16 ? f16_to_f32(expected) : bf16_to_f32(expected);
      wrong += stored[i] != expected;
      wrong += std::bit_cast<std::uint32_t>(back[i]) != std::bit_cast<std::uint32_t>(value);
      wrong += std::bit_cast<std::uint32_t>(rounded[i]) != std::bit_cast<std::uint32_t>(value);
    }
    EXPECT_EQ(wrong, 0u) << dtype_name(wire);
  }
}

}  // namespace
}  // namespace tandem::collectives
