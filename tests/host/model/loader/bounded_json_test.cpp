// SPDX-License-Identifier: Apache-2.0
//
// parse_json: values, streams, and the limits that hostile text meets.
#include "model/loader/bounded_json.h"

#include <gmock/gmock.h>

#include "common/error.h"

namespace tandem::model {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string json_error(const std::string& text, const JsonLimits& limits = {}) {
  try {
    parse_json(text, "f.json", limits);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(BoundedJson, ReadsWhatTheLibraryReads) {
  const std::string text =
      R"({"a":[1,-2,3.5,true,null,"x\u00e9"],"b":{"c":{}},"":"empty","d":18446744073709551615})";
  EXPECT_EQ(parse_json(text, "f"), json::parse(text));
  EXPECT_EQ(parse_json("7", "f"), json(7));
}

TEST(BoundedJson, StreamsTheContainerThatAPathNames) {
  std::vector<std::string> heard;
  const JsonStream stream{{"m", "v"}, [&](const std::string& key, const json& value) {
                            heard.push_back(key + '=' + value.dump());
                          }};
  const json rest =
      parse_json(R"({"v":{"x":1},"m":{"w":2,"v":{"a":1,"m":{"v":{"z":0}},"b":[1,2]}},"m/v":[3]})",
                 "f", {}, {stream});
  EXPECT_THAT(heard, testing::ElementsAre("a=1", R"(m={"v":{"z":0}})", "b=[1,2]"));
  EXPECT_EQ(rest, json::parse(R"({"v":{"x":1},"m":{"w":2,"v":{}},"m/v":[3]})"));
}

TEST(BoundedJson, CountsOnlyWhatItKeeps) {
  std::size_t heard = 0;
  const JsonStream stream{{"v"}, [&](const std::string&, const json&) { ++heard; }};
  std::string text = "{\"v\":[[0]";
  for (int i = 1; i < 1000; ++i) text += ",[0]";
  text += "]}";
  parse_json(text, "f", {.values = 10}, {stream});
  EXPECT_EQ(heard, 1000u);
  EXPECT_THAT(json_error(text, {.values = 10}), HasSubstr("f.json: holds more than 10 values"));
}

TEST(BoundedJson, RefusesWhatIsTooMuch) {
  EXPECT_THAT(json_error(std::string(1 << 20, '[')), HasSubstr("nested more than 32 deep"));
  EXPECT_THAT(json_error("[1,2]", {.bytes = 4}), HasSubstr("has 5 bytes, more than the 4"));
  EXPECT_EQ(json_error("[[1]]", {.depth = 2}), "");
}

TEST(BoundedJson, RefusesKeysThatStandTwice) {
  EXPECT_THAT(json_error(R"({"a":1,"b":{"c":1,"c":2}})"), HasSubstr("the key 'c' occurs twice"));
  EXPECT_THAT(json_error(R"({"a":null,"a":1})"), HasSubstr("the key 'a' occurs twice"));
}

TEST(BoundedJson, SaysWhereTextIsWrong) {
  EXPECT_THAT(json_error("{\"a\": tru}"),
              HasSubstr("[safetensors] f.json: is not valid JSON at byte 10"));
  EXPECT_THAT(json_error(""), HasSubstr("not valid JSON"));
  EXPECT_THAT(json_error("[1] x"), HasSubstr("not valid JSON"));
  EXPECT_THAT(json_error("[\"\xff\"]"), HasSubstr("not valid JSON"));
  EXPECT_THAT(json_error("[1e999]"), HasSubstr("not valid JSON"));
  std::string unclosed(1 << 20, 'x');
  unclosed[0] = '"';
  EXPECT_LT(json_error(unclosed).size(), 300u);
}

}  // namespace
}  // namespace tandem::model
