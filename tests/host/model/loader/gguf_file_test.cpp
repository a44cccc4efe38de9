// SPDX-License-Identifier: Apache-2.0
//
// GGUF files: access to their contents, and the errors for damaged ones.
#include "model/loader/gguf/gguf_file.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "support/gguf_writer.h"
#include "support/scratch_path.h"

namespace tandem::model {
namespace {

using test::GgufWriter;
using testing::ElementsAre;
using testing::HasSubstr;

GgufFile parse(const std::string& bytes) {
  return GgufFile(std::as_bytes(std::span(bytes.data(), bytes.size())), "test.gguf");
}

// The message of the error that parsing raises; empty when there is none.
std::string gguf_error(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

template <typename T>
std::string raw(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
std::string patched(std::string bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

std::string header(std::uint32_t version, std::uint64_t tensors, std::uint64_t fields) {
  return "GGUF" + raw(version) + raw(tensors) + raw(fields);
}

std::string text(std::string_view value) {
  return raw<std::uint64_t>(value.size()) + std::string(value);
}

// One F32 tensor "w" with the dimensions and data offset given, and `data` zero bytes behind.
std::string with_tensor(std::vector<std::uint64_t> dims, std::uint32_t type = 0,
                        std::uint64_t offset = 0, std::size_t data = 64) {
  std::string bytes = header(3, 1, 0) + text("w") + raw(static_cast<std::uint32_t>(dims.size()));
  for (const std::uint64_t dim : dims) bytes += raw(dim);
  bytes += raw(type) + raw(offset);
  bytes.resize((bytes.size() + 31) / 32 * 32 + data);
  return bytes;
}

TEST(GgufFile, ReadsEveryKindOfValue) {
  GgufWriter writer;
  writer.set_u32("u32", 7);
  writer.set_u64("u64", 8);
  writer.set_raw("i8", 1, raw<std::int8_t>(9));
  writer.set_f32("f32", 1.5f);
  writer.set_raw("f64", 12, raw(2.5));
  writer.set_bool("bool", true);
  writer.set_string("string", "words");
  writer.set_strings("strings", {"a", "", "ccc"});
  writer.set_f32s("f32s", {1.0f, 2.0f});
  writer.set_i32s("i32s", {-1, 2});
  writer.set_raw("nested", 9,
                 raw<std::uint32_t>(9) + raw<std::uint64_t>(1) + raw<std::uint32_t>(8) +
                     raw<std::uint64_t>(2) + text("x") + text("y"));
  const std::string bytes = writer.bytes();
  const GgufFile file = parse(bytes);
  EXPECT_EQ(file.get_u32("u32"), 7u);
  EXPECT_EQ(file.get_u32("u64"), 8u);
  EXPECT_EQ(file.get_u32("i8"), 9u);
  EXPECT_EQ(file.get_f32("f32"), 1.5f);
  EXPECT_EQ(file.get_f32("f64"), 2.5f);
  EXPECT_EQ(file.get_bool("bool"), true);
  EXPECT_EQ(file.get_string("string"), "words");
  EXPECT_THAT(*file.get_strings("strings"), ElementsAre("a", "", "ccc"));
  EXPECT_THAT(*file.get_f32s("f32s"), ElementsAre(1.0f, 2.0f));
  EXPECT_THAT(*file.get_i32s("i32s"), ElementsAre(-1, 2));
  EXPECT_TRUE(file.has("nested"));
  EXPECT_EQ(file.get_u32("absent"), std::nullopt);
  EXPECT_EQ(file.get_strings("absent"), std::nullopt);
}

TEST(GgufFile, TakesUniformArraysForOneNumberOnly) {
  GgufWriter writer;
  writer.set_i32s("same", {3, 3, 3});
  writer.set_i32s("different", {3, 4});
  writer.set_i32s("empty", {});
  const std::string bytes = writer.bytes();
  const GgufFile file = parse(bytes);
  EXPECT_EQ(file.get_uniform_u32("same"), 3u);
  EXPECT_THROW(file.get_uniform_u32("different"), Error);
  EXPECT_THROW(file.get_uniform_u32("empty"), Error);
}

TEST(GgufFile, NamesFileFieldAndOffsetOfAWrongType) {
  GgufWriter writer;
  writer.set_string("name", "x");
  writer.set_raw("negative", 5, raw<std::int32_t>(-1));
  writer.set_f32("nan", std::nanf(""));
  writer.set_i32s("numbers", {1});
  const std::string bytes = writer.bytes();
  const GgufFile file = parse(bytes);
  try {
    file.get_u32("name");
    FAIL();
  } catch (const Error& error) {
    // 24 bytes of header, 8 + 4 of key, 4 of type.
    EXPECT_STREQ(error.what(),
                 "[gguf] test.gguf: field 'name' at offset 40: has type string, must be an "
                 "unsigned integer");
  }
  EXPECT_THROW(file.get_u32("negative"), Error);
  EXPECT_THROW(file.get_f32("nan"), Error);
  EXPECT_THROW(file.get_f32("name"), Error);
  EXPECT_THROW(file.get_strings("numbers"), Error);
  EXPECT_THROW(file.get_string("numbers"), Error);
  EXPECT_THROW(file.require_u32("absent"), Error);
}

TEST(GgufFile, ViewsTensorsAsMatrices) {
  GgufWriter writer;
  writer.add_tensor("matrix", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  writer.add_tensor("vector", {3}, {9, 10, 11});
  const std::string bytes = writer.bytes();
  const GgufFile file = parse(bytes);
  const TensorView matrix = file.view(*file.find_tensor("matrix"));
  EXPECT_EQ(matrix.rows, 2);
  EXPECT_EQ(matrix.columns, 4);
  float values[8];
  std::memcpy(values, matrix.data, sizeof values);
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(file.view(*file.find_tensor("vector")).rows, 1);
  EXPECT_EQ(file.find_tensor("none"), nullptr);
}

TEST(GgufFile, ReadsVersionTwo) {
  GgufWriter writer;
  writer.set_u32("x", 5);
  const std::string bytes = patched(writer.bytes(), 4, std::uint32_t{2});
  EXPECT_EQ(parse(bytes).get_u32("x"), 5u);
}

TEST(GgufFile, RefusesWrongHeaders) {
  EXPECT_THAT(gguf_error(""), HasSubstr("field 'magic' at offset 0"));
  EXPECT_THAT(gguf_error("GGML" + std::string(40, '\0')), HasSubstr("not a GGUF file"));
  EXPECT_THAT(gguf_error("GGUF"), HasSubstr("field 'version' at offset 4"));
  EXPECT_THAT(gguf_error(header(1, 0, 0)), HasSubstr("version 1 is not supported"));
  EXPECT_THAT(gguf_error(header(4, 0, 0)), HasSubstr("version 4 is not supported"));
  EXPECT_THAT(gguf_error(header(0x03000000, 0, 0)), HasSubstr("big endian"));
  EXPECT_EQ(gguf_error(header(3, 0, 0)), "");
}

TEST(GgufFile, RefusesCountsThatTheFileCannotHold) {
  EXPECT_THAT(gguf_error(header(3, ~0ull, 0)), HasSubstr("field 'tensor_count' at offset 8"));
  EXPECT_THAT(gguf_error(header(3, 0, 1ull << 60)),
              HasSubstr("field 'metadata_kv_count' at offset 16"));
  const std::string array = header(3, 0, 1) + text("a") + raw<std::uint32_t>(9);
  EXPECT_THAT(gguf_error(array + raw<std::uint32_t>(4) + raw<std::uint64_t>(1ull << 62)),
              HasSubstr("an array of 4611686018427387904 elements"));
  EXPECT_THAT(gguf_error(array + raw<std::uint32_t>(8) + raw<std::uint64_t>(~0ull)),
              HasSubstr("field 'a'"));
  EXPECT_THAT(gguf_error(header(3, 0, 1) + raw<std::uint64_t>(~0ull - 3) + std::string(32, 'k')),
              HasSubstr("a string of 18446744073709551612 bytes"));
}

TEST(GgufFile, RefusesUnknownTypesAndDeepArrays) {
  const std::string field = header(3, 0, 1) + text("k");
  EXPECT_THAT(gguf_error(field + raw<std::uint32_t>(13) + std::string(8, '\0')),
              HasSubstr("value type 13 is unknown"));
  EXPECT_THAT(
      gguf_error(field + raw<std::uint32_t>(9) + raw<std::uint32_t>(99) + raw<std::uint64_t>(0)),
      HasSubstr("array element type 99 is unknown"));
  EXPECT_THAT(gguf_error(field + raw<std::uint32_t>(7) + std::string(8, '\2')),
              HasSubstr("a bool must be 0 or 1"));
  std::string deep = field + raw<std::uint32_t>(9);
  for (int level = 0; level < 1000; ++level) {
    deep += raw<std::uint32_t>(9) + raw<std::uint64_t>(1);
  }
  EXPECT_THAT(gguf_error(deep), HasSubstr("nested deeper"));
}

TEST(GgufFile, RefusesKeysAndTensorsThatAppearTwice) {
  GgufWriter writer;
  writer.set_u32("key", 1);
  writer.set_f32("key", 1);
  EXPECT_THAT(gguf_error(writer.bytes()),
              HasSubstr("field 'key' at offset 43: the key appears twice"));
  GgufWriter tensors;
  tensors.add_tensor("t", {1}, {1});
  tensors.add_tensor("t", {1}, {1});
  EXPECT_THAT(gguf_error(tensors.bytes()), HasSubstr("the tensor appears twice"));
}

TEST(GgufFile, ChecksAlignment) {
  for (const std::uint32_t alignment : {0u, 1u, 4u, 24u, 1u << 30}) {
    GgufWriter writer;
    writer.set_u32("general.alignment", alignment);
    EXPECT_THAT(gguf_error(writer.bytes()), HasSubstr("is not a power of two")) << alignment;
  }
  GgufWriter wrong_type;
  wrong_type.set_string("general.alignment", "32");
  EXPECT_THAT(gguf_error(wrong_type.bytes()), HasSubstr("unsigned 32-bit"));
}

TEST(GgufFile, ChecksTensorShapesAndTypes) {
  EXPECT_EQ(gguf_error(with_tensor({4, 4})), "");
  EXPECT_THAT(gguf_error(with_tensor({})), HasSubstr("0 dimensions"));
  EXPECT_THAT(gguf_error(with_tensor({1, 1, 1, 1, 1})), HasSubstr("5 dimensions"));
  EXPECT_THAT(gguf_error(with_tensor({0})), HasSubstr("no bytes"));
  EXPECT_THAT(gguf_error(with_tensor({1ull << 32, 1ull << 32, 1ull << 32})),
              HasSubstr("its shape"));
  EXPECT_THAT(gguf_error(with_tensor({~0ull})), HasSubstr("its shape"));
  EXPECT_THAT(gguf_error(with_tensor({256}, 10)),
              HasSubstr("the tensor has type Q2_K (10), which is not supported; use F32, F16, "
                        "Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, IQ4_NL or BF16"));
  EXPECT_THAT(gguf_error(with_tensor({4}, 77)),
              HasSubstr("field 'w' at offset 45: the tensor has type 77"));
  EXPECT_THAT(gguf_error(with_tensor({33}, 8)), HasSubstr("not a multiple of 32"));
  EXPECT_EQ(gguf_error(with_tensor({32}, 8)), "");
}

// The numbers are the format's, stated here a second time on purpose.
struct QuantisedType {
  std::uint32_t id;
  DType dtype;
  std::uint64_t block_values, block_bytes;
};
constexpr QuantisedType kQuantisedTypes[] = {
    {2, DType::kQ4_0, 32, 18},    {3, DType::kQ4_1, 32, 20},    {6, DType::kQ5_0, 32, 22},
    {7, DType::kQ5_1, 32, 24},    {8, DType::kQ8_0, 32, 34},    {12, DType::kQ4_K, 256, 144},
    {13, DType::kQ5_K, 256, 176}, {14, DType::kQ6_K, 256, 210}, {20, DType::kIQ4_NL, 32, 18}};

TEST(GgufFile, ReadsEveryQuantisedType) {
  for (const QuantisedType& type : kQuantisedTypes) {
    const std::string name(dtype_name(type.dtype));
    const std::uint64_t columns = 2 * type.block_values, bytes = 6 * type.block_bytes;
    const std::string exact = with_tensor({columns, 3}, type.id, 0, bytes);
    const GgufFile file = parse(exact);
    const GgufTensor& tensor = file.tensors().front();
    EXPECT_EQ(tensor.dtype, type.dtype) << name;
    EXPECT_EQ(tensor.size_bytes, bytes) << name;
    EXPECT_EQ(file.view(tensor).size_bytes(), bytes) << name;
    EXPECT_THAT(gguf_error(exact.substr(0, exact.size() - 1)), HasSubstr("its header promises"))
        << name;
    EXPECT_EQ(gguf_tensor_type(type.dtype), type.id) << name;
  }
}

TEST(GgufFile, NamesRowsThatDoNotDivideIntoBlocks) {
  for (const QuantisedType& type : kQuantisedTypes) {
    const std::string block = std::to_string(type.block_values);
    for (const std::uint64_t columns :
         {std::uint64_t{1}, type.block_values - 1, type.block_values + type.block_values / 2,
          ~std::uint64_t{0}}) {
      EXPECT_THAT(gguf_error(with_tensor({columns, 2}, type.id)),
                  HasSubstr("field 'w' at offset 37: rows of " + std::to_string(columns) +
                            " values are not a multiple of " + block + ", the block of " +
                            std::string(dtype_name(type.dtype))));
    }
  }
}

TEST(GgufFile, RefusesQuantisedShapesLargerThanTheFile) {
  for (const QuantisedType& type : kQuantisedTypes) {
    const std::uint64_t huge = ~0ull / type.block_values * type.block_values;
    EXPECT_THAT(gguf_error(with_tensor({huge}, type.id)), HasSubstr("its shape")) << type.id;
    EXPECT_THAT(gguf_error(with_tensor({type.block_values, 1ull << 60}, type.id)),
                HasSubstr("its shape"))
        << type.id;
    EXPECT_THAT(gguf_error(with_tensor({0, 4}, type.id)), HasSubstr("no bytes")) << type.id;
  }
}

TEST(GgufWriter, RefusesTypesThatFilesDoNotHave) {
  GgufWriter writer;
  EXPECT_THROW(writer.add_tensor("t", {4}, DType::kF8E4M3, {}), Error);
  EXPECT_THROW(writer.add_tensor("t", {4}, DType::kU64, {}), Error);
  EXPECT_THROW(writer.save("/nonexistent/model.gguf"), Error);
}

TEST(GgufFile, ChecksWhereTensorDataLies) {
  EXPECT_THAT(gguf_error(with_tensor({4}, 0, 8)), HasSubstr("is not a multiple of 32"));
  EXPECT_EQ(gguf_error(with_tensor({8}, 0, 32)), "");
  const std::string cut = with_tensor({9}, 0, 32);
  EXPECT_THAT(gguf_error(cut),
              HasSubstr("the file has " + std::to_string(cut.size()) +
                        " bytes and its header promises " + std::to_string(cut.size() + 4)));
  EXPECT_THAT(gguf_error(with_tensor({4}, 0, ~0ull - 31)), HasSubstr("truncated or wrong"));
  const std::string overlapping = header(3, 2, 0) + text("a") + raw<std::uint32_t>(1) +
                                  raw<std::uint64_t>(16) + raw<std::uint32_t>(0) +
                                  raw<std::uint64_t>(0) + text("b") + raw<std::uint32_t>(1) +
                                  raw<std::uint64_t>(1) + raw<std::uint32_t>(0) +
                                  raw<std::uint64_t>(32) + std::string(128, '\0');
  EXPECT_THAT(gguf_error(overlapping), HasSubstr("its data overlaps that of 'a'"));
}

TEST(GgufFile, RefusesEveryTruncationOfAWholeFile) {
  const std::string whole =
      test::random_llama({.num_layers = 1, .width = 32, .ffn_width = 32}, DType::kQ8_0, 1).bytes();
  ASSERT_EQ(gguf_error(whole), "");
  const std::size_t data = whole.size() - 40;  // the last tensor reaches beyond this
  for (std::size_t size = 0; size < data; size += size < 2000 ? 1 : 97) {
    const std::string message = gguf_error(whole.substr(0, size));
    ASSERT_THAT(message, testing::StartsWith("[gguf] test.gguf: ")) << size;
    ASSERT_THAT(message, testing::AnyOf(HasSubstr("' at offset "), HasSubstr("promises"))) << size;
  }
}

TEST(GgufFile, ReportsFilesThatCannotBeMapped) {
  EXPECT_THROW(GgufFile("/nonexistent/model.gguf"), Error);
  EXPECT_THROW(GgufFile("/"), Error);
  const test::ScratchPath empty("empty.gguf");
  std::ofstream(empty.path()).close();
  EXPECT_THROW(GgufFile(empty.string()), Error);
}

}  // namespace
}  // namespace tandem::model
