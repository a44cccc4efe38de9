// SPDX-License-Identifier: Apache-2.0
//
// Composite compute units against a single CPU unit, operation by operation.
//
// A layer split has the same bits with any number of parts. So does a tensor split, except for
// divided sums over inputs: NMSE 1e-10.
#include <gmock/gmock.h>

#include "drivers/parallel/op_cases.h"
#include "support/reference/compare.h"

namespace tandem::device::parallel {
namespace {

class CompositeOps : public testing::TestWithParam<OpCase> {};

TEST_P(CompositeOps, OfALayerSplitAreThoseOfOneUnit) {
  const auto expected = on_one_unit(GetParam().run);
  for (const int parts : {1, 2, 3}) {
    SCOPED_TRACE(parts);
    const auto actual = on_parts(parts, {Split::kLayers, 3, {}}, GetParam().run);
    EXPECT_THAT(actual, testing::ElementsAreArray(expected));
  }
  EXPECT_EQ(on_parts(2, {Split::kLayers, 3, {2, 1}}, GetParam().run), expected);
  EXPECT_EQ(on_parts(2, {Split::kLayers, 3, {1, 2}}, GetParam().run), expected);
}

TEST_P(CompositeOps, OfATensorSplitAreThoseOfOneUnit) {
  const auto expected = on_one_unit(GetParam().run);
  for (const int parts : {1, 2, 3}) {
    SCOPED_TRACE(parts);
    const auto actual = on_parts(parts, {Split::kTensor, 3, {}}, GetParam().run);
    ASSERT_EQ(actual.size(), expected.size());
    if (GetParam().bitwise_by_columns) {
      EXPECT_THAT(actual, testing::ElementsAreArray(expected));
    } else {
      EXPECT_LT(reference::nmse<float>(actual, expected), 1e-10);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, CompositeOps, testing::ValuesIn(op_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tandem::device::parallel
