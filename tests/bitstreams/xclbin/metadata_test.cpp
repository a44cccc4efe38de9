// SPDX-License-Identifier: Apache-2.0
//
// EMBEDDED_METADATA and BUILD_METADATA: reading, writing, and the byte that an error names.
#include <gmock/gmock.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "bitstreams/xclbin/inspect.h"
#include "bitstreams/xclbin/kernel_ports.h"
#include "bitstreams/xclbin/metadata_document.h"
#include "common/error.h"
#include "test_design.h"

namespace tandem::xclbin {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string metadata_refusal(const std::string& text) {
  try {
    load_metadata(text, "bad.xclbin");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string nested(int levels) {
  std::string text;
  for (int level = 0; level < levels; ++level) text += "<a>";
  for (int level = 0; level < levels; ++level) text += "</a>";
  return text;
}

std::string siblings(int count) {
  std::string text = "<a>";
  for (int index = 1; index < count; ++index) text += "<b/>";
  return text + "</a>";
}

TEST(XclbinMetadata, CharactersMayBeNumbers) {
  const auto text = [](const std::string& value) -> std::string {
    return load_metadata("<a b=\"" + value + "\"/>", "a.xclbin")
        .document_element()
        .attribute("b")
        .value();
  };
  EXPECT_EQ(text("x&#10;y&#x41;&#xe9;&#8364;&#x1F600;&amp;"), "x\ny\x41\u00e9\u20ac\U0001f600&");
  for (const char* wrong : {"&#;", "&#x;", "&#0;", "&#12", "&#x110000;", "&#xd800;", "&#1g;",
                            "&#99999999999;", "&#-1;", "&what;"}) {
    EXPECT_THROW(text(wrong), Error) << wrong;
  }
}

TEST(XclbinMetadata, CommentsDeclarationsTextAndPaddingAreNoElements) {
  using namespace std::string_literals;
  const auto text =
      "<?xml version=\"1.0\"?>\n<!-- a & b -->\n<a>text<![CDATA[<x>]]><b/></a>\n\0\0"s;
  const pugi::xml_document document = load_metadata(text, "a.xclbin");
  EXPECT_STREQ(document.document_element().name(), "a");
  EXPECT_TRUE(document.document_element().child("b"));
  EXPECT_FALSE(document.document_element().child("x"));
}

TEST(XclbinMetadata, WhatIsNoDocumentIsRefusedAtItsByte) {
  using namespace std::string_literals;
  for (const auto& [text, byte, what] : {
           std::tuple{""s, 0, "no root element"},
           {"<!-- nothing -->"s, 0, "no root element"},
           {"<a/>junk"s, 4, "text outside the root"},
           {"junk<a/>"s, 0, "text outside the root"},
           {"<a/><b/>"s, 5, "second root"},
           {"<!DOCTYPE a><a/>"s, 10, "document type"},
           {"<a b=\"\" b=\"\"/>"s, 1, "attribute b is given twice"},
           {"<a><b c=\"&d;\"/></a>"s, 4, "attribute c has a character reference"},
           {"<a>\0</a>"s, 3, "zero byte"},
           {"<a><b></a>"s, 8, "mismatch"},
           {"<a"s, 1, ""},
       }) {
    EXPECT_THAT(metadata_refusal(text),
                AllOf(HasSubstr("bad.xclbin"), HasSubstr("byte " + std::to_string(byte) + ":"),
                      HasSubstr(what)))
        << text;
  }
}

TEST(XclbinMetadata, DepthAndNumberOfElementsAreBounded) {
  EXPECT_EQ(metadata_refusal(nested(33)), "");
  EXPECT_THAT(metadata_refusal(nested(34)), HasSubstr("byte 100: elements nest deeper than 32"));
  EXPECT_THAT(metadata_refusal(nested(100000)), HasSubstr("elements nest deeper than 32"));
  EXPECT_EQ(metadata_refusal(siblings(1 << 16)), "");
  EXPECT_THAT(metadata_refusal(siblings((1 << 16) + 1)), HasSubstr("too many elements"));
  EXPECT_THAT(metadata_refusal(siblings(1 << 20)),
              HasSubstr("byte 0: there are too many elements"));
}

TEST(XclbinMetadata, NamesWithMarkupAreReadAsTheyWereWritten) {
  Design design = xclbin_test::small_design();
  const std::string type = "ap_int<9> & \"x\" 'y' > z*";
  design.kernels[0].arguments[0].type = type;
  const XclbinInfo info = inspect(encode(design), "a.xclbin");
  EXPECT_EQ(info.kernels[0].arguments[0].type, type);
}

TEST(XclbinMetadata, AStreamPortReadsWhereALinkEnds) {
  Design design = xclbin_test::small_design();
  for (Kernel& kernel : design.kernels) {
    kernel.arguments = {{"in", "hls::stream<int>", 4, 0, 8, 0x10, "", false, 4},
                        {"out", "hls::stream<int>", 4, 0, 8, 0x1c, "", false, 4}};
  }
  design.links = {{"copy_1", "out", "scale_1", "in", 0}};
  const std::vector<Port> reader = ports_of(design, design.kernels[1]);
  ASSERT_EQ(reader.size(), 3u);
  EXPECT_EQ(reader[1].mode, "read_only");
  EXPECT_EQ(reader[2].mode, "write_only");
  EXPECT_EQ(ports_of(design, design.kernels[0])[1].mode, "write_only") << "of another unit";
}

// The vendor's xclbinutil --info stops at a field of these that is missing.
TEST(XclbinMetadata, TheBuildDescriptionHasWhatTheVendorsToolPrints) {
  const auto text = nlohmann::json::parse(build_metadata(xclbin_test::small_design()));
  const auto& kernel = text["build_metadata"]["xclbin"]["user_regions"][0]["kernels"][0];
  ASSERT_EQ(kernel["ports"].size(), 3u);
  EXPECT_EQ(kernel["ports"][1], nlohmann::json({{"name", "M_AXI_in"},
                                                {"mode", "master"},
                                                {"range", "0xFFFFFFFFFFFFFFFF"},
                                                {"data_width", 512},
                                                {"port_type", "addressable"}}));
  EXPECT_EQ(kernel["arguments"][1], nlohmann::json({{"name", "out"},
                                                    {"type", "int*"},
                                                    {"port", "M_AXI_out"},
                                                    {"address_qualifier", 1},
                                                    {"offset", "0x1C"},
                                                    {"size", "0x8"}}));
  EXPECT_EQ(kernel["instances"][1]["name"], "copy_2");
  EXPECT_EQ(text["build_metadata"]["platform"]["board_id"], "u55c");
}

TEST(XclbinMetadata, NumbersThatAreNoneAreNamed) {
  std::vector<std::byte> bytes = encode(xclbin_test::small_design());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t at = text.find("hostSize=\"0x8\"");
  ASSERT_NE(at, std::string_view::npos);
  std::memcpy(bytes.data() + at + 10, "0xg", 3);
  try {
    inspect(bytes, "bad.xclbin");
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("element arg, attribute hostSize: '0xg' is not a 32-bit number"));
  }
}

}  // namespace
}  // namespace tandem::xclbin
