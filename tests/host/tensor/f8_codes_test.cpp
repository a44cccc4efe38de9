// SPDX-License-Identifier: Apache-2.0
//
// Matrices that hold a NaN are refused wherever it stands, all others pass.
#include "tensor/f8_codes.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "common/error.h"

namespace tandem {
namespace {

constexpr std::int64_t kRows = 1100, kColumns = 1001;  // parts end inside rows

std::vector<std::byte> every_other_code() {
  std::vector<std::byte> codes;
  for (std::int64_t i = 0; i < kRows * kColumns; ++i) {
    const auto code = static_cast<std::uint8_t>(i * 7);
    codes.push_back(std::byte{(code & 0x7f) == 0x7f ? std::uint8_t{0} : code});
  }
  return codes;
}

std::string error_of(const std::vector<std::byte>& codes, DType dtype = DType::kF8E4M3) {
  ThreadPool pool(2);
  try {
    check_f8_codes({"blk.3.ffn_up.weight", dtype, kRows, kColumns, codes.data(), {}}, pool);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(F8Codes, MayBeAllButNaN) { EXPECT_EQ(error_of(every_other_code()), "no error"); }

TEST(F8Codes, AreRefusedByTheirPlaceWhereOneIsNaN) {
  for (const int code : {0x7f, 0xff}) {
    for (const auto& [row, column] : {std::pair{0, 0}, {7, 1000}, {1099, 1000}}) {
      auto codes = every_other_code();
      codes[static_cast<std::size_t>(row * kColumns + column)] = std::byte(code);
      EXPECT_THAT(error_of(codes),
                  testing::HasSubstr("'blk.3.ffn_up.weight', row " + std::to_string(row) +
                                     ", column " + std::to_string(column) + ":"));
    }
  }
}

TEST(F8Codes, OfOtherTypesAreNotLookedAt) {
  EXPECT_EQ(error_of(std::vector<std::byte>(kRows * kColumns, std::byte{0x7f}), DType::kI8),
            "no error");
}

}  // namespace
}  // namespace tandem
