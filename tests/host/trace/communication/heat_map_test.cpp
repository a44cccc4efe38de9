// SPDX-License-Identifier: Apache-2.0
//
// Pictures of few ranks square by square, and of 1,024 ranks as joined shapes.
#include "trace/communication/heat_map.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>

namespace tandem::trace {
namespace {

std::size_t count_in(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

// The colour of a square by its tooltip.
std::string colour_of(const std::string& svg, const std::string& tooltip) {
  const std::size_t title = svg.find("<title>" + tooltip);
  if (title == std::string::npos) return "no such square";
  const std::size_t fill = svg.rfind("fill=\"", title) + 6;
  return svg.substr(fill, svg.find('"', fill) - fill);
}

TEST(HeatMap, SquaresNameBothPartiesAndTheirTraffic) {
  CommunicationMatrix matrix(3);
  matrix.add(0, 1, 1000, 2);
  const std::string svg = heat_map_svg(matrix, {"a < b", HeatScale::kLinear, {"host", "x", "y"}});
  EXPECT_EQ(colour_of(svg, "host to x: 1000 bytes, 2 messages"), "#08306b");
  EXPECT_EQ(colour_of(svg, "x to host: 0 bytes"), "white");
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  EXPECT_EQ(count_in(svg, "</title></rect>"), 9u);
  EXPECT_NE(svg.find(">1 kB</text>"), std::string::npos);
}

TEST(HeatMap, RowsReceiveAndColumnsSend) {
  CommunicationMatrix matrix(2);
  matrix.add(0, 1, 7, 1);
  const std::string svg = heat_map_svg(matrix, {"", HeatScale::kLinear});
  const std::size_t title = svg.find("<title>0 to 1:");
  const std::size_t rect = svg.rfind("<rect ", title);
  std::smatch at;
  const std::string tag = svg.substr(rect, title - rect);
  ASSERT_TRUE(std::regex_search(tag, at, std::regex("x=\"([0-9.]+)\" y=\"([0-9.]+)\"")));
  EXPECT_DOUBLE_EQ(std::stod(at[1]), 96);       // the first column
  EXPECT_DOUBLE_EQ(std::stod(at[2]), 84 + 44);  // the second row
}

TEST(HeatMap, TheLogarithmicScaleTellsSmallCellsApart) {
  CommunicationMatrix matrix(3);
  matrix.add(0, 1, 10, 1);
  matrix.add(1, 2, 1'000, 1);
  matrix.add(2, 0, 100'000'000, 1);
  const std::string linear = heat_map_svg(matrix, {"", HeatScale::kLinear});
  EXPECT_EQ(colour_of(linear, "0 to 1:"), colour_of(linear, "1 to 2:"));
  const std::string logarithmic = heat_map_svg(matrix, {"", HeatScale::kLogarithmic});
  EXPECT_NE(colour_of(logarithmic, "0 to 1:"), colour_of(logarithmic, "1 to 2:"));
  EXPECT_EQ(colour_of(logarithmic, "0 to 1:"), "#deebf7");
  EXPECT_EQ(colour_of(logarithmic, "2 to 0:"), "#08306b");
}

TEST(HeatMap, EqualCellsAreDarkOnBothScales) {
  CommunicationMatrix matrix(2);
  matrix.add(0, 1, 5, 1);
  for (const auto scale : {HeatScale::kLinear, HeatScale::kLogarithmic}) {
    EXPECT_EQ(colour_of(heat_map_svg(matrix, {"", scale}), "0 to 1:"), "#08306b");
  }
}

TEST(HeatMap, MachinesArePartedByLines) {
  const CommunicationMatrix matrix(4);
  const std::string svg =
      heat_map_svg(matrix, {"", HeatScale::kLinear, {}, {"node-1", "node-1", "node-2", "node-3"}});
  EXPECT_EQ(count_in(svg, "class=\"group\""), 2u);
  EXPECT_NE(svg.find("<title>node-1 | node-2</title>"), std::string::npos);
}

TEST(HeatMap, AThousandRanksOfARingAreAsManyShapes) {
  CommunicationMatrix matrix(1024);
  for (int i = 0; i < 1024; ++i) matrix.add(i, (i + 1) % 1024, 1'000'000, 1);
  const std::string svg = heat_map_svg(matrix, {"ring", HeatScale::kLogarithmic});
  EXPECT_EQ(count_in(svg, "<path fill=\"#08306b\""), 1u);
  EXPECT_EQ(count_in(svg, "h1v1h-1z"), 1024u);
  EXPECT_LT(svg.size(), 60'000u);
}

TEST(HeatMap, NeighboursOfOneShadeAreOneShape) {
  CommunicationMatrix matrix(1024);
  for (int from = 0; from < 1024; ++from) {
    for (int to = 0; to < 1024; ++to) {
      if (from != to) matrix.add(from, to, 4096, 1);
    }
  }
  const std::string svg = heat_map_svg(matrix, {"all to all", HeatScale::kLinear});
  EXPECT_NE(svg.find("M1 0h1023v1h-1023z"), std::string::npos);
  EXPECT_NE(svg.find("M0 5h5v1h-5zM6 5h1018v1h-1018z"), std::string::npos);
  EXPECT_LT(svg.size(), 120'000u);
}

TEST(HeatMap, BytesAreReadable) {
  EXPECT_EQ(readable_bytes(0), "0 B");
  EXPECT_EQ(readable_bytes(999), "999 B");
  EXPECT_EQ(readable_bytes(1000), "1 kB");
  EXPECT_EQ(readable_bytes(1'536'000), "1.54 MB");
  EXPECT_EQ(readable_bytes(999'600), "1 MB");
}

TEST(HeatMap, SquaresHaveNamesUpToSixtyFourParties) {
  const auto named = [](int world) {
    return count_in(heat_map_svg(CommunicationMatrix(world), {"", HeatScale::kLinear}),
                    "</title></rect>");
  };
  EXPECT_EQ(named(64), 64u * 64u);
  EXPECT_EQ(named(65), 0u);
}

TEST(HeatMap, TheLegendHasTheEndsOfTheScale) {
  CommunicationMatrix matrix(2);
  matrix.add(0, 1, 5, 1);
  matrix.add(1, 0, 7000, 1);
  const std::string linear = heat_map_svg(matrix, {"", HeatScale::kLinear});
  EXPECT_EQ(count_in(linear, ">0 B</text>"), 1u);
  EXPECT_EQ(count_in(linear, ">5 B</text>"), 0u);
  const std::string logarithmic = heat_map_svg(matrix, {"", HeatScale::kLogarithmic});
  EXPECT_EQ(count_in(logarithmic, ">5 B</text>"), 1u);
  EXPECT_EQ(count_in(logarithmic, ">7 kB</text>"), 1u);
}

}  // namespace
}  // namespace tandem::trace
