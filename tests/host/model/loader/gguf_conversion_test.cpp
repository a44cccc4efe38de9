// SPDX-License-Identifier: Apache-2.0
//
// Converted model files: only the types of matrices and their keys change.
#include "model/loader/gguf/gguf_conversion.h"

#include <gmock/gmock.h>

#include <cstring>
#include <map>

#include "support/gguf_writer.h"
#include "tensor/quantize_matrix.h"

namespace tandem::model {
namespace {

GgufFile parse(const std::string& bytes) {
  return GgufFile(std::as_bytes(std::span(bytes.data(), bytes.size())), "test.gguf");
}

std::map<std::string, std::string> fields_of(const GgufFile& file) {
  std::map<std::string, std::string> fields;
  for (const auto& field : file.raw_fields()) {
    fields[std::string(field.key)] =
        std::string(gguf_type_name(field.type)) + std::string(field.payload);
  }
  return fields;
}

std::string whole_model() {
  test::GgufWriter writer = test::random_llama(
      {.num_layers = 1, .width = 256, .head_dim = 64, .ffn_width = 320, .tied = false}, DType::kF16,
      5);
  writer.set_u32("general.alignment", 32);
  writer.set_u32("general.file_type", 1);
  writer.add_tensor("rope_freqs.weight", {32}, std::vector<float>(32, 1.0f));
  writer.add_tensor("blk.0.ffn_gate_inp.weight", {256, 4}, std::vector<float>(1024, 0.5f));
  return writer.bytes();
}

TEST(GgufConversion, CopiesMetadataInOrder) {
  test::GgufWriter writer;
  writer.set_u32("z", 7);
  writer.set_strings("tokens", {"a", "", "\xff\x00"});
  writer.set_bool("flag", true);
  writer.set_f32s("empty", {});
  writer.set_string("a", "words");
  writer.set_u32("general.alignment", 32);
  const std::string bytes = writer.bytes();
  const GgufFile file = parse(bytes);
  ThreadPool pool(1);
  const std::string copy = convert_gguf(
                               file, [](const GgufTensor& t) { return t.dtype; }, pool)
                               .bytes();
  const GgufFile copied = parse(copy);
  std::vector<std::string> keys;
  for (const auto& field : copied.raw_fields()) keys.emplace_back(field.key);
  EXPECT_THAT(keys, testing::ElementsAre("z", "tokens", "flag", "empty", "a",
                                         "general.quantization_version"));
  auto expected = fields_of(file), got = fields_of(copied);
  expected.erase("general.alignment");
  got.erase("general.quantization_version");
  EXPECT_EQ(got, expected);
}

TEST(GgufConversion, ChangesMatricesAndNothingElse) {
  const std::string bytes = whole_model();
  const GgufFile file = parse(bytes);
  ThreadPool pool(2);
  const auto type_of = [](const GgufTensor& tensor) {
    if (!is_matrix_of_products(tensor)) return tensor.dtype;
    return fitting_type(DType::kQ4_K, tensor.dtype, static_cast<std::int64_t>(tensor.dims[0]));
  };
  const std::string converted_bytes = convert_gguf(file, type_of, pool).bytes();
  const GgufFile converted = parse(converted_bytes);
  EXPECT_EQ(converted.get_u32("general.file_type"), 14u);
  EXPECT_FALSE(converted.has("general.alignment"));
  ASSERT_EQ(converted.tensors().size(), file.tensors().size());
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const GgufTensor &before = file.tensors()[i], &after = converted.tensors()[i];
    EXPECT_EQ(before.name, after.name);
    EXPECT_TRUE(std::equal(before.dims, before.dims + 4, after.dims));
    if (after.name.ends_with("ffn_down.weight")) {
      EXPECT_EQ(after.dtype, DType::kQ4_1);
    } else if (before.dtype == DType::kF16) {
      EXPECT_EQ(after.dtype, DType::kQ4_K) << after.name;
    } else {
      ASSERT_EQ(after.dtype, before.dtype) << after.name;
      EXPECT_EQ(std::memcmp(before.data, after.data, before.size_bytes), 0) << after.name;
    }
  }
}

TEST(GgufConversion, PrunesTheNamedMatricesAndNoOther) {
  std::vector<float> values(4 * 64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 37) - 18.5f;
  test::GgufWriter made;
  made.add_tensor("blk.0.ffn_up.weight", {64, 4}, values);
  made.add_tensor("blk.0.ffn_down.weight", {64, 4}, values);
  const std::string bytes = made.bytes();
  const GgufFile file = parse(bytes);
  ThreadPool pool(2);
  const TensorView up = as_rows(file.tensors().front());
  Pruner pruner({.fraction = 0.75}, {&up, 1}, pool);
  const GgufPruning pruning{
      &pruner, [](const GgufTensor& tensor) { return tensor.name.ends_with("up.weight"); }};
  const std::string out = convert_gguf(
                              file, [](const GgufTensor& t) { return t.dtype; }, pool, pruning)
                              .bytes();
  const GgufFile converted = parse(out);
  for (const GgufTensor& tensor : converted.tensors()) {
    std::vector<float> back(values.size());
    std::memcpy(back.data(), tensor.data, back.size() * sizeof(float));
    const auto zeros = std::count(back.begin(), back.end(), 0.0f);
    EXPECT_EQ(zeros, tensor.name.ends_with("up.weight") ? 4 * 48 : 0) << tensor.name;
  }
}

TEST(GgufConversion, ConvertsExpertsThatLieBehindEachOther) {
  std::vector<float> values(3 * 2 * 32);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 37) - 18.0f;
  test::GgufWriter writer;
  writer.add_tensor("blk.0.ffn_up_exps.weight", {32, 2, 3}, values);
  const std::string bytes = writer.bytes();
  const GgufFile file = parse(bytes);
  ASSERT_TRUE(is_matrix_of_products(file.tensors().front()));
  ThreadPool pool(1);
  const std::string out = convert_gguf(
                              file, [](const GgufTensor&) { return DType::kQ8_0; }, pool)
                              .bytes();
  const GgufFile converted = parse(out);
  const GgufTensor& tensor = converted.tensors().front();
  EXPECT_EQ(tensor.dims[2], 3u);
  std::vector<float> back(values.size());
  dequantize_row(tensor.dtype, tensor.data, back.data(), back.size());
  EXPECT_THAT(back, testing::Pointwise(testing::FloatNear(0.1f), values));
}

TEST(GgufConversion, LeavesNormsOfTwoDimensionsAsTheyAre) {
  test::GgufWriter writer;
  writer.add_tensor("blk.0.attn_q_norm.weight", {32, 4}, std::vector<float>(128, 1.0f));
  writer.add_tensor("blk.0.attn_q.weight", {32, 4}, std::vector<float>(128, 1.0f));
  const std::string bytes = writer.bytes();
  const GgufFile file = parse(bytes);
  EXPECT_FALSE(is_matrix_of_products(*file.find_tensor("blk.0.attn_q_norm.weight")));
  EXPECT_TRUE(is_matrix_of_products(*file.find_tensor("blk.0.attn_q.weight")));
}

TEST(GgufWriter, StopsAtTheFirstTensorThatCannotBeWrittenAndSaysWhy) {
  int filled = 0;
  GgufWriter writer;
  for (const char* name : {"a", "b", "c"}) {
    writer.add_tensor(name, {1 << 16}, DType::kF32, [&](std::byte*, std::size_t) { ++filled; });
  }
  try {
    writer.save("/dev/full");
    FAIL() << "a full device took a file";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("No space left on device"));
  }
  EXPECT_LE(filled, 1);
}

}  // namespace
}  // namespace tandem::model
