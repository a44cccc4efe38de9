// SPDX-License-Identifier: Apache-2.0
//
// The matrix's sums, its CSV cell by cell, and that its SVG has a square per pair and is well
// formed as far as tags go.
#include "trace/communication_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tandem::trace {
namespace {

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(CommunicationMatrix, AddsUpAndTellsTheBusiest) {
  CommunicationMatrix matrix(3);
  matrix.add(0, 1, 100, 1);
  matrix.add(0, 1, 50, 2);
  matrix.add(2, 1, 50, 1);
  EXPECT_EQ(matrix.bytes(0, 1), 150u);
  EXPECT_EQ(matrix.messages(0, 1), 3u);
  EXPECT_DOUBLE_EQ(matrix.send_imbalance(), 150.0 * 3 / 200);
  EXPECT_DOUBLE_EQ(matrix.receive_imbalance(), 3.0);
}

TEST(CommunicationMatrix, WithoutTrafficNobodyIsBusiest) {
  EXPECT_DOUBLE_EQ(CommunicationMatrix(4).send_imbalance(), 1.0);
  EXPECT_NE(CommunicationMatrix(1).to_svg("").find("</svg>"), std::string::npos);
}

TEST(CommunicationMatrix, CsvNamesEveryPair) {
  CommunicationMatrix matrix(2);
  matrix.add(1, 0, 7, 2);
  EXPECT_EQ(matrix.to_csv(), "from,to,bytes,messages\n0,0,0,0\n0,1,0,0\n1,0,7,2\n1,1,0,0\n");
}

TEST(CommunicationMatrix, SvgHasASquareForEveryPairAndEscapesItsTitle) {
  CommunicationMatrix matrix(16);
  matrix.add(3, 4, 1'000'000, 5);
  const std::string svg = matrix.to_svg("a < b & c");
  EXPECT_EQ(count(svg, "<title>"), 256u);
  EXPECT_EQ(count(svg, "<text"), count(svg, "</text>"));
  EXPECT_NE(svg.find("3 to 4: 1000000 bytes, 5 messages"), std::string::npos);
  EXPECT_NE(svg.find("a &lt; b &amp; c"), std::string::npos);
  EXPECT_NE(svg.find("#08306b"), std::string::npos);  // the largest cell is darkest
}

}  // namespace
}  // namespace tandem::trace
