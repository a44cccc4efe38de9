// SPDX-License-Identifier: Apache-2.0
//
// Pictures of small tensors, whose fields are counted by hand.
#include "tensor/sparse/features/spy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../random_tensor.h"
#include "common/error.h"

namespace tandem::sparse {
namespace {

using test::Index;
using testing::HasSubstr;
using testing::ThrowsMessage;

CooTensor diagonal_of_six() {
  CooTensor tensor(Index{6, 6, 2});
  for (std::uint64_t i = 0; i < 6; ++i) tensor.append(Index{i, i, i % 2}, 1);
  tensor.append(Index{0, 5, 0}, 1);
  return tensor;
}

TEST(Spy, CountsTheEntriesOfEachField) {
  const SpyPlot plot = spy(diagonal_of_six(), 0, 1, 3, 2);
  EXPECT_EQ(plot.rows, 3u);
  EXPECT_EQ(plot.columns, 2u);
  EXPECT_EQ(plot.counts, (std::vector<std::uint64_t>{2, 1, 1, 1, 0, 2}));
  EXPECT_EQ(plot.max(), 2u);
}

TEST(Spy, GivesASmallModeAFieldForEachIndex) {
  const SpyPlot plot = spy(diagonal_of_six(), 2, 0, 50, 3);
  EXPECT_EQ(plot.rows, 2u);
  EXPECT_EQ(plot.columns, 3u);
  EXPECT_EQ(plot.counts, (std::vector<std::uint64_t>{2, 1, 1, 1, 1, 1}));
}

TEST(Spy, PlacesIndicesBeyond32Bits) {
  CooTensor tensor(Index{~std::uint64_t{0}, 1});
  tensor.append(Index{~std::uint64_t{0} - 1, 0}, 1);
  EXPECT_EQ(spy(tensor, 0, 1, 4, 4).counts, (std::vector<std::uint64_t>{0, 0, 0, 1}));
}

TEST(Spy, DrawsTextThatDarkensWithTheCount) {
  EXPECT_EQ(spy_text(spy(diagonal_of_six(), 0, 1, 3, 2)),
            "rows: mode 0 (1..6), columns: mode 1 (1..6), darkest: 2 entries\n"
            "+--+\n|@*|\n|**|\n| @|\n+--+\n");
  EXPECT_THAT(spy_text(spy(CooTensor(Index{1, 2}), 0, 1, 3, 3)), HasSubstr("|  |\n"));
}

TEST(Spy, DrawsASquareForEachFieldWithEntries) {
  const std::string svg = spy_svg(spy(diagonal_of_six(), 0, 1, 3, 2));
  std::size_t squares = 0;
  for (std::size_t at = 0; (at = svg.find("rgb(", at)) != svg.npos; ++at) ++squares;
  EXPECT_EQ(squares, 5u);
  EXPECT_THAT(svg, HasSubstr("rgb(0,0,0)"));
  EXPECT_TRUE(svg.ends_with("</svg>"));
}

TEST(Spy, RefusesAModeThatIsNotThere) {
  EXPECT_THAT(
      [] { spy(diagonal_of_six(), 0, 3, 4, 4); },
      ThrowsMessage<Error>(HasSubstr("there is no mode 3; the tensor has the modes 0 to 2")));
}

}  // namespace
}  // namespace tandem::sparse
