// SPDX-License-Identifier: Apache-2.0
//
// The published sequence.
#include "common/split_mix.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(SplitMix, HasTheSequenceOfItsReference) {
  std::uint64_t state = 1234567;
  EXPECT_EQ(split_mix(state), 6457827717110365317u);
  for (const std::uint64_t bits : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                   4593380528125082431u, 16408922859458223821u}) {
    EXPECT_EQ(next_split_mix(state), bits);
  }
}

}  // namespace
}  // namespace tandem
