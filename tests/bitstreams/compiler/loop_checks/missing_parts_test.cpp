// SPDX-License-Identifier: Apache-2.0
//
// What the plugin tells of parts of complex numbers, of arrays that are copied, and of functions
// that are compiled elsewhere.
#include "missing_card.h"
#include "missing_more.h"
#include "outside.h"

// These have no checks.
void set_outside(int* values) { values[0] = 21; }
void set_text_outside(char* text, int most) {
  for (int at = 0; at < most; ++at) text[at] = static_cast<char>('a' + at);
}
void set_in_other_file(int* values) { values[0] = 22; }
int sum_outside(const int* values) { return values[0] + values[1]; }

namespace {

using namespace tandem::loop_checks_test;
using testing::ElementsAre;
using testing::IsEmpty;

struct MissingParts : MissingCard {
  float real[4] = {1, 2, 3, 4}, imaginary[4] = {5, 6, 7, 8};
  std::complex<float> points[4] = {};
};

TEST_F(MissingParts, AFunctionElsewhereMayStoreToAllOfAVariable) {
  store_outside(in, out);
  EXPECT_EQ(out[0], 25);
  ASSERT_EQ(told.written.size(), 1u);
  EXPECT_EQ(told.written[0].bytes, 6 * sizeof(int));
  told = {};
  store_text_outside(out);
  EXPECT_EQ(out[0], 'd');
  ASSERT_EQ(told.written.size(), 1u);
  EXPECT_EQ(told.written[0].bytes, 12u);
}

TEST_F(MissingParts, AFunctionElsewhereMayStoreBehindAPointer) {
  store_behind(out);
  EXPECT_THAT(told.written, ElementsAre(ToldStore{nullptr, out, sizeof(int)}));
}

// It has checks of its own.
TEST_F(MissingParts, AFunctionOfTheKernelsOtherFilesStoresByItself) {
  store_in_other_file(out);
  EXPECT_EQ(out[0], 22);
  EXPECT_THAT(told.written, IsEmpty());
}

TEST_F(MissingParts, AFunctionElsewhereDoesNotStoreToWhatItOnlyReads) {
  read_outside(in, out);
  EXPECT_EQ(out[0], 9);
  EXPECT_THAT(told.written, IsEmpty());
}

// A structure may have padding, which is never set.
TEST_F(MissingParts, OnlyACopyOfAnArrayOfNumbersIsLookedAt) {
  copy_array_out(in, out);
  ASSERT_EQ(told.arrays.size(), 1u);
  EXPECT_EQ(told.arrays[0].at, out);
  EXPECT_EQ(told.arrays[0].bytes, 6 * sizeof(int));
  copy_record_out(in, out);
  EXPECT_EQ(told.arrays.size(), 1u);
}

TEST_F(MissingParts, OnlyThePartOfAComplexNumberIsMissingThatIs) {
  told.missing = imaginary;
  make_points(real, imaginary, points);
  EXPECT_EQ(points[0].imag(), 5);
  const char* const place = reinterpret_cast<const char*>(points);
  EXPECT_THAT(told.parts, ElementsAre(ToldStore{&token_of_missing, place + 4, 4}));
  told = {};
  told.missing = real;
  make_points(real, imaginary, points);
  EXPECT_THAT(told.parts, ElementsAre(ToldStore{&token_of_missing, place, 4}));
  EXPECT_THAT(told.stored, IsEmpty());
}

TEST_F(MissingParts, AReadOfAPartIsChecked) {
  imaginary_sum(points, 3);
  EXPECT_EQ(told.takes + told.loads, 3);
}

TEST_F(MissingParts, ASumOfComplexNumbersIsFollowedInMemory) {
  told.missing = imaginary + 1;
  add_points(real, imaginary, points);
  EXPECT_EQ(points[0], std::complex<float>(10, 26));
  EXPECT_FALSE(told.stored.empty());
}

}  // namespace
