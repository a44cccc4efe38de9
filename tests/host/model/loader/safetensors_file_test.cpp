// SPDX-License-Identifier: Apache-2.0
//
// SafetensorsFile: the contents of valid files, and the error for each kind of damage.
#include "model/loader/safetensors/safetensors_file.h"

#include <gmock/gmock.h>

#include "support/safetensors_writer.h"

namespace tandem::model {
namespace {

using test::SafetensorsWriter;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

SafetensorsFile parse(const std::string& bytes) {
  return {std::as_bytes(std::span(bytes.data(), bytes.size())), "t.safetensors"};
}

std::string file_error(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// A file of one tensor 'a' described so, with eight bytes of data.
std::string file_error_of_tensor(const std::string& description) {
  return file_error(SafetensorsWriter::framed("{\"a\":" + description + "}", "01234567"));
}

TEST(SafetensorsFile, GivesTensorsAsTheyLie) {
  SafetensorsWriter writer;
  writer.add("b", {2, 3}, {1, 2, 3, 4, 5, 6}, DType::kBF16);
  writer.add("scalar", {}, {7});
  writer.add_raw("empty", "F32", {0, 4}, "");
  writer.add_raw("flags", "BOOL", {4}, "abcd");
  const std::string bytes = writer.bytes();
  const SafetensorsFile file = parse(bytes);
  ASSERT_EQ(file.tensors().size(), 4u);
  const SafetensorsTensor* tensor = file.find("b");
  ASSERT_NE(tensor, nullptr);
  EXPECT_THAT(tensor->shape, ElementsAre(2, 3));
  EXPECT_EQ(tensor->dtype, DType::kBF16);
  EXPECT_EQ(tensor->size_bytes, 12u);
  float values[6];
  dequantize_row(DType::kBF16, tensor->data, values, 6);
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(file.find("scalar")->size_bytes, 4u);
  EXPECT_EQ(file.find("flags")->dtype, std::nullopt);
  EXPECT_EQ(file.find("c"), nullptr);
}

TEST(SafetensorsFile, TakesMetadataAndBlanksBehindTheHeader) {
  const std::string bytes = SafetensorsWriter::framed(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}  )",
      "xy");
  EXPECT_EQ(parse(bytes).tensors().size(), 1u);
}

TEST(SafetensorsFile, RefusesLengthsThatTheFileDoesNotHave) {
  EXPECT_THAT(file_error(""), StartsWith("[safetensors] t.safetensors: is truncated"));
  EXPECT_THAT(file_error(std::string(8, '\xff')),
              HasSubstr("a header of 18446744073709551615 bytes"));
  EXPECT_THAT(file_error(SafetensorsWriter::framed("{}").substr(0, 9)), HasSubstr("truncated one"));
  EXPECT_THAT(file_error(std::string(8, '\0')), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(file_error(SafetensorsWriter::framed("{}", "x")), HasSubstr("belong to no tensor"));
}

TEST(SafetensorsFile, RefusesHeadersThatAreNoPlainJson) {
  EXPECT_THAT(file_error(SafetensorsWriter::framed("{\"a\":")),
              HasSubstr("not valid JSON at byte"));
  EXPECT_THAT(file_error(SafetensorsWriter::framed("{\"a\xff\":{}}")), HasSubstr("not valid JSON"));
  EXPECT_THAT(file_error(SafetensorsWriter::framed("{\"a\":" + std::string(1 << 20, '['))),
              HasSubstr("nested more than 4 deep"));
  EXPECT_THAT(file_error(SafetensorsWriter::framed("{\"a\":[" + std::string(1 << 20, '0'))),
              HasSubstr("not valid JSON"));
  std::string many = "{\"a\":{\"shape\":[0";
  for (int i = 0; i < 100000; ++i) many += ",0";
  EXPECT_THAT(file_error(SafetensorsWriter::framed(many)), HasSubstr("more than 65536 values"));
  EXPECT_THAT(file_error(SafetensorsWriter::framed(R"({"__metadata__":[]})")), HasSubstr("object"));
}

TEST(SafetensorsFile, NamesTheTensorThatIsDescribedWrongly) {
  EXPECT_THAT(file_error_of_tensor("3"), HasSubstr("tensor 'a': is not described by an object"));
  EXPECT_THAT(file_error_of_tensor(R"({"dtype":1})"),
              HasSubstr("tensor 'a': dtype is not a string"));
  EXPECT_THAT(file_error_of_tensor(R"({"dtype":"F33"})"), HasSubstr("the dtype 'F33' is unknown"));
  EXPECT_THAT(file_error_of_tensor(R"({"dtype":"F32"})"), HasSubstr("shape is not an array"));
  EXPECT_THAT(file_error_of_tensor(R"({"dtype":"F32","shape":[-1]})"), HasSubstr("-1, not a size"));
  EXPECT_THAT(file_error_of_tensor(R"({"dtype":"F32","shape":[1.5]})"),
              HasSubstr("1.5, not a size"));
  EXPECT_THAT(file_error_of_tensor(R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1]})"),
              HasSubstr("9 dimensions"));
  EXPECT_THAT(file_error_of_tensor(R"({"dtype":"F32","shape":[4294967296,4294967296]})"),
              HasSubstr("product of its shape overflows"));
  EXPECT_THAT(file_error_of_tensor(R"({"dtype":"F32","shape":[2]})"), HasSubstr("not two sizes"));
  EXPECT_THAT(file_error_of_tensor(R"({"dtype":"F32","shape":[2],"data_offsets":[0,9]})"),
              HasSubstr("[0, 9] are not inside the 8 bytes of data; the file is truncated"));
  EXPECT_THAT(file_error_of_tensor(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
              HasSubstr("[8, 0] are not inside"));
  EXPECT_THAT(file_error_of_tensor(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
              HasSubstr("does not need the 8 bytes"));
  EXPECT_THAT(
      file_error_of_tensor(R"({"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]})"),
      HasSubstr("does not need the 4 bytes"));
  EXPECT_THAT(file_error_of_tensor(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":0})"),
              HasSubstr("unknown field 'x'"));
}

TEST(SafetensorsFile, RefusesGapsOverlapsAndNamesThatStandTwice) {
  const auto two = [](const char* name, const char* first, const char* second) {
    const std::string shape = R"({"dtype":"U8","shape":[4],"data_offsets":)";
    return file_error(SafetensorsWriter::framed(
        "{\"a\":" + shape + first + "},\"" + name + "\":" + shape + second + "}}", "01234567"));
  };
  EXPECT_EQ(two("b", "[0,4]", "[4,8]"), "");
  EXPECT_EQ(two("b", "[4,8]", "[0,4]"), "");
  EXPECT_THAT(two("b", "[0,4]", "[2,6]"), HasSubstr("tensor 'b': overlaps 'a'"));
  EXPECT_THAT(two("b", "[0,4]", "[0,4]"), HasSubstr("overlaps"));
  EXPECT_THAT(two("a", "[0,4]", "[4,8]"), HasSubstr("tensor 'a': occurs twice"));
  EXPECT_THAT(file_error(SafetensorsWriter::framed(
                  R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[1,5]}})", "01234")),
              HasSubstr("tensor 'a': leaves a gap behind 'the header'"));
}

}  // namespace
}  // namespace tandem::model
