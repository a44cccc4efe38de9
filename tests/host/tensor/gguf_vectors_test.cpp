// SPDX-License-Identifier: Apache-2.0
//
// Quantised blocks against what an independent reader made of them: gguf_vectors.json, recorded by
// record_gguf_vectors.py beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/tree.h"
#include "tensor/dtype.h"

namespace tandem {
namespace {

std::vector<std::byte> bytes_of(const std::string& hex) {
  std::vector<std::byte> bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  return bytes;
}

class GgufVectors : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    std::ifstream file(test::source_dir() / "tests/host/tensor/gguf_vectors.json");
    const nlohmann::json all = nlohmann::json::parse(file);
    const nlohmann::json& type = all.at("types").at(std::string(dtype_name(GetParam())));
    blocks_ = bytes_of(type.at("blocks").get<std::string>());
    const std::vector<std::byte> values = bytes_of(type.at("values").get<std::string>());
    values_.resize(values.size() / sizeof(float));
    std::memcpy(values_.data(), values.data(), values.size());
  }
  std::vector<std::byte> blocks_;
  std::vector<float> values_;
};

// Exact where multiplication and addition are rounded one by one; a compiler may fuse them.
void expect_same(const std::vector<float>& read, const std::vector<float>& recorded) {
  float peak = 0.0f;
  for (const float value : recorded) peak = std::max(peak, std::fabs(value));
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_NEAR(read[i], recorded[i], 2e-7 * peak) << i;
}

TEST_P(GgufVectors, AreReadAsTheIndependentReaderDoes) {
  ASSERT_EQ(dtype_row_bytes(GetParam(), values_.size()), blocks_.size());
  std::vector<float> read(values_.size());
  dequantize_row(GetParam(), blocks_.data(), read.data(), read.size());
  expect_same(read, values_);
}

TEST_P(GgufVectors, AreReadAtAnyAddress) {
  std::vector<std::byte> shifted(blocks_.size() + 1);
  std::memcpy(shifted.data() + 1, blocks_.data(), blocks_.size());
  std::vector<float> read(values_.size());
  dequantize_row(GetParam(), shifted.data() + 1, read.data(), read.size());
  expect_same(read, values_);
}

INSTANTIATE_TEST_SUITE_P(EveryType, GgufVectors,
                         testing::Values(DType::kQ8_0, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0,
                                         DType::kQ5_1, DType::kIQ4_NL, DType::kQ4_K, DType::kQ5_K,
                                         DType::kQ6_K),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

}  // namespace
}  // namespace tandem
