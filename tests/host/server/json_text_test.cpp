// SPDX-License-Identifier: Apache-2.0
//
// JSON that is written as text reads as what went in.
#include "server/openai/json_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace tandem::server::openai {
namespace {

std::string as_json(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

TEST(JsonText, EveryCharacterReadsBackAsItself) {
  std::string text;
  for (int c = 0; c < 128; ++c) text += static_cast<char>(c);
  text += "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \"\\/";
  EXPECT_EQ(nlohmann::json::parse(as_json(text)), text);
  EXPECT_EQ(as_json(""), "\"\"");
}

TEST(JsonText, BytesThatAreNotUtf8AreReplaced) {
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(as_json("a\xff"
                    "b"),
            "\"a" + mark + "b\"");
  EXPECT_EQ(as_json("\xe2\x82"), "\"" + mark + "\"");
  EXPECT_EQ(as_json("\xed\xa0\x80").find('\xed'), std::string::npos) << "a surrogate";
  EXPECT_TRUE(nlohmann::json::accept(as_json("\xc0\xaf\xf8\x80")));
}

TEST(JsonText, NumbersReadBackExactly) {
  for (const float number :
       {0.0f, -0.5f, -9999.0f, -1.5e-7f, 0.1f, std::numeric_limits<float>::max()}) {
    std::string out;
    append_number(out, number);
    EXPECT_EQ(nlohmann::json::parse(out).get<float>(), number) << out;
  }
  std::string out;
  append_number(out, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(out, "-9223372036854775808");
}

}  // namespace
}  // namespace tandem::server::openai
