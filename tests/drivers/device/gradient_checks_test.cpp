// SPDX-License-Identifier: Apache-2.0
//
// The checks that every implementation of GradientMemory makes first.
#include <gmock/gmock.h>

#include <array>
#include <vector>

#include "common/error.h"
#include "device/gradient_memory.h"

namespace tandem::device {
namespace {

using testing::HasSubstr;

// Host memory only; the checks need its name.
class NamedMemory final : public GradientMemory {
 public:
  std::string name() const override { return "toy:0"; }
  GradientMoments measure(const GradientView&, Deadline) override { return {}; }
  void put(const GradientTarget&, std::span<const std::uint32_t>, std::span<const float>,
           Deadline) override {}
  void read(std::span<const std::byte>, const Placement&, std::span<std::byte>, Deadline) override {
  }
  void write(std::span<const std::byte>, std::span<std::byte>, const Placement&,
             Deadline) override {}
};

template <typename Call>
std::string refusal_by(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(GradientChecks, ValuesAreWholeAlignedAndOfAKnownType) {
  alignas(4) std::array<std::byte, 8> bytes{};
  const auto check = [&](std::size_t first, std::size_t count, DType type) {
    return refusal_by([&] { check_values("toy:0", bytes.data() + first, count, type); });
  };
  EXPECT_EQ(check(0, 8, DType::kF32), "accepted");
  EXPECT_EQ(check(2, 6, DType::kBF16), "accepted");
  EXPECT_THAT(check(0, 6, DType::kF32), HasSubstr("toy:0: the gradient is not aligned"));
  EXPECT_THAT(check(2, 4, DType::kF32), HasSubstr("not aligned"));
  EXPECT_THAT(check(0, 8, DType::kU64), HasSubstr("f32, f16 or bf16"));
}

TEST(GradientChecks, PlacesAndValuesOfATargetFit) {
  NamedMemory memory;
  std::vector<float> target(4);
  const GradientTarget to{std::as_writable_bytes(std::span(target)), DType::kF32, {}};
  const auto check = [&](std::vector<std::uint32_t> places, std::vector<float> values) {
    return refusal_by([&] { check_target(memory, to, places, values); });
  };
  EXPECT_EQ(check({0, 3}, {1, 2}), "accepted");
  EXPECT_THAT(check({0}, {1, 2}), HasSubstr("toy:0: 1 places with 2 values"));
  EXPECT_THAT(check({0, 1}, {1}), HasSubstr("2 places with 1 values"));
  EXPECT_THAT(check({4}, {1}), HasSubstr("place 4 of a target with 4 values"));
}

TEST(GradientChecks, CopiesHaveOneSize) {
  NamedMemory memory;
  EXPECT_EQ(refusal_by([&] { check_copy(memory, {}, 8, 8); }), "accepted");
  EXPECT_THAT(refusal_by([&] { check_copy(memory, {}, 8, 4); }),
              HasSubstr("a copy of 8 bytes to 4"));
}

}  // namespace
}  // namespace tandem::device
