// SPDX-License-Identifier: Apache-2.0
//
// Written tensors are read back the same; the texts themselves are as stated.
#include "tensor/sparse/files/write_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "../random_tensor.h"
#include "common/error.h"
#include "tensor_text.h"

namespace tandem::sparse {
namespace {

using test::Index;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string written(const CooTensor& tensor, const WriteOptions& options, int threads = 2) {
  const tandem::test::ScratchPath path("written.tns");
  ThreadPool pool(threads);
  write_tensor(tensor, path.string(), options, pool);
  return test::bytes_of(path.string());
}

CooTensor small_matrix() {
  CooTensor tensor(Index{3, 4});
  tensor.append(Index{0, 3}, 0.1);
  tensor.append(Index{2, 0}, -3e-300);
  return tensor;
}

TEST(WriteTensor, WritesEachForm) {
  const std::string entries = "1 4 0.1\n3 1 -3e-300\n";
  EXPECT_EQ(written(small_matrix(), {TextFormat::kTns}), "# sizes 3 4\n" + entries);
  EXPECT_EQ(written(small_matrix(), {TextFormat::kTnsWithHeader}), "2\n3 4\n" + entries);
  EXPECT_EQ(written(small_matrix(), {TextFormat::kMatrixMarket}),
            "%%MatrixMarket matrix coordinate real general\n3 4 2\n" + entries);
}

TEST(WriteTensor, IsReadBackTheSameBitForBit) {
  const std::vector<Index> shapes{{1},       {90},         {40, 50},
                                  {5, 1, 6}, Index(12, 3), {~std::uint64_t{0}, 2}};
  for (const Index& sizes : shapes) {
    CooTensor tensor = test::random_tensor(sizes, 200, 3);
    tensor.values[0] = std::numeric_limits<double>::denorm_min();
    tensor.values[1] = -std::numeric_limits<double>::max();
    tensor.values[2] = 1.0 / 3;
    for (const bool gzip : {false, true}) {
      for (const TextFormat format : {TextFormat::kTns, TextFormat::kTnsWithHeader}) {
        const std::string bytes = written(tensor, {format, gzip});
        EXPECT_EQ(bytes.starts_with("\x1f\x8b"), gzip);
        EXPECT_TRUE(test::tensor_of_text(bytes) == tensor);
      }
      if (sizes.size() != 2) continue;
      EXPECT_TRUE(test::tensor_of_text(written(tensor, {TextFormat::kMatrixMarket, gzip})) ==
                  tensor);
    }
  }
}

TEST(WriteTensor, WritesTheSameBytesForEveryNumberOfThreads) {
  const CooTensor tensor = test::random_tensor({300, 400, 50}, 150'000, 4);
  const std::string one = written(tensor, {}, 1);
  EXPECT_EQ(written(tensor, {}, 2), one);
  EXPECT_EQ(written(tensor, {}, 3), one);
}

TEST(WriteTensor, KeepsATensorWithoutEntries) {
  const CooTensor none(Index{4, 5});
  EXPECT_TRUE(test::tensor_of_text(written(none, {TextFormat::kTns})) == none);
  EXPECT_TRUE(test::tensor_of_text(written(none, {TextFormat::kMatrixMarket, true})) == none);
}

TEST(WriteTensor, RefusesAMatrixMarketFileOfAnotherOrder) {
  EXPECT_THAT(
      [] {
        written(CooTensor(Index{2, 2, 2}), {TextFormat::kMatrixMarket});
      },
      ThrowsMessage<Error>(HasSubstr("this tensor has order 3, so write a .tns file")));
}

TEST(WriteTensor, TellsWhyAFileCannotBeWritten) {
  ThreadPool pool(1);
  EXPECT_THAT([&] { write_tensor(small_matrix(), "/no/such/folder/a.tns", {}, pool); },
              ThrowsMessage<Error>(AllOf(HasSubstr("/no/such/folder/a.tns"),
                                         HasSubstr("No such file or directory"))));
  const CooTensor large = test::random_tensor({3000, 3000}, 100'000, 5);
  for (const bool gzip : {false, true}) {
    for (const CooTensor& tensor : {small_matrix(), large}) {
      EXPECT_THAT(
          [&] {
            write_tensor(tensor, "/dev/full", {TextFormat::kTns, gzip}, pool);
          },
          ThrowsMessage<Error>(HasSubstr("'/dev/full': No space left on device")));
    }
  }
  EXPECT_THAT(
      [&] {
        write_tensor(large, "/dev/full", {TextFormat::kTns, false, "b.tns"}, pool);
      },
      ThrowsMessage<Error>(HasSubstr("'b.tns': No space left on device")));
}

TEST(WriteTensor, ChoosesTheFormByTheName) {
  EXPECT_EQ(write_options_for("a.tns").format, TextFormat::kTns);
  EXPECT_FALSE(write_options_for("a.tns").gzip);
  EXPECT_TRUE(write_options_for("a.tns.gz").gzip);
  EXPECT_EQ(write_options_for("a.mtx.gz").format, TextFormat::kMatrixMarket);
  EXPECT_THAT([] { write_options_for("a.txt"); },
              ThrowsMessage<Error>(HasSubstr("'a.txt' must end in .tns or .mtx")));
  EXPECT_THROW(write_options_for("a.gz"), Error);
}

}  // namespace
}  // namespace tandem::sparse
