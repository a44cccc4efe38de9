// SPDX-License-Identifier: Apache-2.0
//
// The strict JSON reader, against the grammar's corners.
#include "server/openai/json_document.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/openai/api_error.h"

namespace tandem::server::openai {
namespace {

bool refused(std::string_view text, const DocumentLimits& limits = {}) {
  try {
    parse_document(text, limits);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 400);
    EXPECT_FALSE(std::string(error.what()).empty());
    return true;
  }
  return false;
}

TEST(JsonDocument, BuildsWhatTheTextSays) {
  const std::string text =
      R"({"a":[1,-2,2.5,"x\u00e9",null,true,{"b":[[],{}]}],"c":18446744073709551615})";
  EXPECT_EQ(parse_document(text), nlohmann::ordered_json::parse(text));
}

TEST(JsonDocument, MembersKeepTheirOrder) {
  EXPECT_EQ(parse_document(R"({"b":1,"a":{"z":[],"c":2}})").dump(),
            R"({"b":1,"a":{"z":[],"c":2}})");
}

TEST(JsonDocument, RefusesWhatIsNotOneObject) {
  for (const char* text : {"",
                           " ",
                           "null",
                           "[]",
                           "5",
                           "\"a\"",
                           "{",
                           "}",
                           "{}{}",
                           "{} x",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{'a':1}",
                           "[",
                           "{\"a\":[1,]}",
                           "{\"a\":01}",
                           "{\"a\":.5}",
                           "{\"a\":NaN}",
                           "{\"a\":1e999}",
                           "{\"a\":\"\x01\"}",
                           "{\"a\":\"\\ud800\"}",
                           "{} // comment"}) {
    EXPECT_TRUE(refused(text)) << text;
  }
}

TEST(JsonDocument, SaysWhereTheTextIsWrongInItsOwnWords) {
  const auto message = [](std::string_view text) -> std::string {
    try {
      parse_document(text);
    } catch (const ApiError& error) {
      return error.what();
    }
    return {};
  };
  const std::string wrong = "the body is not valid JSON: unexpected input at byte ";
  EXPECT_EQ(message("{a:1}"), wrong + "2");
  EXPECT_EQ(message("{\n\"a\": ?}"), wrong + "8");
  EXPECT_EQ(message("{\"a\":1"), wrong + "7");
  EXPECT_EQ(message("{\"a\":1e999}").rfind(wrong, 0), 0u);
}

TEST(JsonDocument, RefusesInvalidUtf8) {
  for (const char* bytes : {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    EXPECT_TRUE(refused(std::string("{\"a\":\"") + bytes + "\"}"));
  }
}

TEST(JsonDocument, RefusesDuplicateKeysNamingThem) {
  try {
    parse_document(R"({"n":1,"n":2})");
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.param, "n");
  }
  EXPECT_TRUE(refused(R"({"a":[{"b":1,"b":1}]})"));
  EXPECT_TRUE(refused(R"({"b":1,"a":1,"c":1,"b":1})"));
  EXPECT_FALSE(refused(R"({"a":{"b":1},"b":{"a":1}})"));
}

TEST(JsonDocument, RefusesDeepNestingWithoutRecursion) {
  const auto nested = [](std::size_t depth) {
    return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_FALSE(refused(nested(32)));
  EXPECT_TRUE(refused(nested(33)));
  EXPECT_TRUE(refused("{\"a\":" + std::string(4'000'000, '[')));
}

TEST(JsonDocument, AnObjectOfManyMembersIsReadInOnePass) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += '"' + std::to_string(i) + "\":1,";
  const auto document = parse_document(text + "\"x\":2}");
  EXPECT_EQ(document.size(), 200'001u);
  EXPECT_EQ(document.back(), 2);
}

TEST(JsonDocument, RefusesMoreValuesThanTheLimit) {
  DocumentLimits limits;
  limits.max_values = 4;
  EXPECT_FALSE(refused(R"({"a":[1,2]})", limits));
  EXPECT_TRUE(refused(R"({"a":[1,2,3]})", limits));
}

}  // namespace
}  // namespace tandem::server::openai
