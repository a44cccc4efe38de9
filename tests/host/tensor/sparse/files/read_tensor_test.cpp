// SPDX-License-Identifier: Apache-2.0
//
// What files hold, and which line of them is wrong.
#include "tensor/sparse/files/read_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../random_tensor.h"
#include "common/error.h"
#include "tensor/sparse/files/line_blocks.h"
#include "tensor_text.h"

namespace tandem::sparse {
namespace {

using test::entries_of;
using test::Index;
using test::tensor_of_text;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Entries = std::map<Index, double>;

// The text is refused with these words.
void expect_refused(const std::string& text, const std::string& words) {
  EXPECT_THAT([&] { tensor_of_text(text); }, ThrowsMessage<Error>(HasSubstr(words))) << text;
}

TEST(ReadTensor, TakesSizesFromAHeaderACommentOrTheGreatestIndices) {
  const Entries expected{{{0, 1, 2}, 1.5}, {{3, 0, 0}, -2}};
  const std::string entries = "1 2 3 1.5\n4 1 1 -2\n";
  for (const std::string blank : {"", "\n", "# a note\n", "   \n% another\n"}) {
    EXPECT_EQ(tensor_of_text(blank + entries).sizes, (Index{4, 2, 3}));
    EXPECT_EQ(tensor_of_text(blank + "3\n" + blank + "7 8 9\n" + entries).sizes, (Index{7, 8, 9}));
    EXPECT_EQ(tensor_of_text(blank + "# sizes 7 8 9\n" + entries).sizes, (Index{7, 8, 9}));
    EXPECT_EQ(entries_of(tensor_of_text(blank + entries)), expected);
    EXPECT_EQ(entries_of(tensor_of_text("3\n7 8 9\n" + blank + entries)), expected)
        << "the first two entries stay";
  }
}

TEST(ReadTensor, TakesEveryWayToWriteLinesAndNumbers) {
  const CooTensor tensor = tensor_of_text("  1\t2   +3e1 \r\n\r\n2 2 -0.5\r\n001 1 .25");
  EXPECT_EQ(entries_of(tensor), (Entries{{{0, 1}, 30}, {{1, 1}, -0.5}, {{0, 0}, 0.25}}));
}

TEST(ReadTensor, KeepsEntriesInTheirOrderWithDuplicatesAndZeros) {
  const CooTensor tensor = tensor_of_text("2 2 1\n1 1 0\n2 2 4\n");
  ASSERT_EQ(tensor.num_entries(), 3u);
  EXPECT_EQ(test::index_of_entry(tensor, 0), (Index{1, 1}));
  EXPECT_EQ(tensor.values[1], 0);
  EXPECT_EQ(tensor.values[2], 4);
}

TEST(ReadTensor, TakesOrdersFrom1To32AndModesOfLength1) {
  EXPECT_EQ(entries_of(tensor_of_text("3 7\n")), (Entries{{{2}, 7}}));
  std::string ones, line = "1 1 1 1 2 1 1 1 1 1 1 1 9\n";
  EXPECT_EQ(tensor_of_text(line).sizes, (Index{1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1}));
  for (int mode = 0; mode < 32; ++mode) ones += "1 ";
  EXPECT_EQ(tensor_of_text(ones + "5").order(), 32u);
  expect_refused(ones + "1 5", "line 1: a tensor has 1 to 32 modes, not 33");
  expect_refused("0\n\n", "line 1: '0' is neither an entry nor the order");
  expect_refused("33\n", "1 to 32 modes, not 33");
}

TEST(ReadTensor, TakesATensorWithoutEntriesIfItsSizesAreKnown) {
  EXPECT_EQ(tensor_of_text("2\n4 5\n").sizes, (Index{4, 5}));
  EXPECT_EQ(tensor_of_text("# sizes 4 5\n").num_entries(), 0u);
  expect_refused("", "is empty");
  expect_refused("# nothing\n", "has neither entries nor a header");
  expect_refused("3\n", "line 1: the file ends behind the order; a line with 3 sizes must follow");
}

TEST(ReadTensor, TakesIndicesBeyond32Bits) {
  const CooTensor tensor = tensor_of_text("18446744073709551615 1 2\n4294967297 2 3\n");
  EXPECT_EQ(tensor.sizes[0], ~std::uint64_t{0});
  EXPECT_TRUE(tensor.indices[0].wide());
  EXPECT_FALSE(tensor.indices[1].wide());
  EXPECT_EQ(tensor.indices[0][1], std::uint64_t{1} << 32);
  for (const std::string beyond : {"18446744073709551616", "18446744073709551617",
                                   "18446744073709551619", "184467440737095516150"}) {
    expect_refused("1 1 1\n" + beyond + " 1 2\n",
                   "line 2: index '" + beyond + "' does not fit 64 bits");
  }
}

TEST(ReadTensor, NamesTheWrongLine) {
  expect_refused("1 1 1\n\n0 1 2\n", "line 3: index 0; indices begin at 1");
  expect_refused("1 1 1\n1 -4 2\n", "line 2: index '-4' is negative");
  expect_refused("1 1 1\n1 x 2\n", "line 2: 'x' is not an index");
  expect_refused("1 1 1\n1 1.0 2\n", "line 2: '1.0' is not an index");
  expect_refused("1 1 1\n1 2x 2\n", "line 2: '2x' is not an index");
  expect_refused("1 1 1\n1 1 two\n", "line 2: 'two' is not a number");
  expect_refused("1 1 1\n1 1 2,5\n", "line 2: '2,5' is not a number");
  expect_refused("1 1 1\n1 1 +-2\n", "line 2: '+-2' is not a number");
  expect_refused("1 1 1\n1 1 1e999\n", "line 2: value '1e999' is beyond what 64 bits hold");
  expect_refused("1 1 1\n1 1 nan\n", "line 2: value 'nan' is not finite");
  expect_refused("1 1 1\n1 1\n", "line 2: fewer than 2 indices and a value");
  expect_refused("1 1 1\n1\n", "line 2: fewer than 2 indices and a value");
  expect_refused("1 1 1\n1 1 1 1\n",
                 "line 2: more than 2 indices and a value; the first too many is '1'");
  expect_refused("2\n3 4\n1 5 1\n", "line 3: index 5 in column 2 exceeds the mode's size 4");
  expect_refused("2\n3 4 5\n", "line 2: the order is 2, and here are 3 sizes");
  expect_refused("2\n3 0\n", "line 2: '0' is not a size of a mode");
  expect_refused("# sizes 3 4\n1 1 1 1\n",
                 "line 2: an entry of 3 indices, but the comment names 2");
  expect_refused(std::string("1 1 1\n1 \x01\x80 1\n"), "line 2: '\?\?' is not an index");
}

TEST(ReadTensor, NamesTheFirstWrongLineWhicheverThreadMeetsIt) {
  std::string text;
  for (int line = 1; line <= 1000; ++line) {
    text += line == 700 || line == 990 ? "1 bad 1\n" : "1 2 3\n";
  }
  for (const int threads : {1, 2, 5}) {
    EXPECT_THAT([&] { tensor_of_text(text, threads); },
                ThrowsMessage<Error>(HasSubstr("line 700:")));
  }
}

TEST(ReadTensor, GivesTheSameForEveryNumberOfThreads) {
  std::string text;
  for (int line = 0; line < 5000; ++line) {
    text += std::to_string(line * 37 % 501 + 1) + " " + std::to_string(line % 77 + 1) + " " +
            std::to_string(line) + "\n";
    if (line % 9 == 0) text += "# a comment\n";
  }
  const CooTensor one = tensor_of_text(text, 1);
  EXPECT_EQ(one.num_entries(), 5000u);
  EXPECT_EQ(one.values[4999], 4999);
  for (const int threads : {2, 3, 16}) EXPECT_TRUE(tensor_of_text(text, threads) == one);
}

TEST(ReadTensor, TakesGzipWhateverItsName) {
  const std::string text = "3\n7 8 9\n1 2 3 1.5\n";
  EXPECT_TRUE(tensor_of_text(test::zipped(text)) == tensor_of_text(text));
}

TEST(ReadTensor, RefusesGzipThatIsCutOffOrDamaged) {
  std::string text;
  for (int line = 1; line < 5000; ++line) {
    text += std::to_string(line) + " " + std::to_string(line * line % 977 + 1) + " 1\n";
  }
  const std::string whole = test::zipped(text);
  expect_refused(whole.substr(0, whole.size() / 2), "the gzip stream is damaged or cut off");
  expect_refused(whole.substr(0, whole.size() - 3), "the gzip stream is damaged or cut off");
  std::string damaged = whole;
  damaged[whole.size() / 2] = static_cast<char>(damaged[whole.size() / 2] ^ 0x55);
  EXPECT_THROW(tensor_of_text(damaged), Error);
}

// Padding and further streams follow a stream, and nothing else that would be lost silently.
TEST(ReadTensor, RefusesWhatFollowsAGzipStream) {
  const std::string one = test::zipped("1 2 3\n"), two = test::zipped("4 5 6\n");
  const Entries both{{{0, 1}, 3}, {{3, 4}, 6}};
  EXPECT_EQ(entries_of(tensor_of_text(one + two)), both);
  EXPECT_EQ(entries_of(tensor_of_text(one + two + std::string(1000, '\0'))), both);
  const std::string zeros(300'000, '\0');
  for (const std::string& rest : {std::string("4 5 6\n"), std::string("\x1f"), zeros + "4 5 6\n"}) {
    expect_refused(one + rest, "the gzip stream ends before the file");
    expect_refused(one + two + rest, "the gzip stream ends before the file");
  }
  expect_refused(one + two.substr(0, two.size() - 1), "damaged or cut off (unexpected end");
  expect_refused(one + two.substr(0, 2), "damaged or cut off (unexpected end");
}

TEST(ReadTensor, NamesAFileThatIsMissing) {
  ThreadPool pool(1);
  EXPECT_THAT([&] { read_tensor("/no/such.tns", pool); },
              ThrowsMessage<Error>(AllOf(HasSubstr("/no/such.tns"), HasSubstr("No such file"))));
}

TEST(LineBlocks, GivesEveryLineOnceInBlocksOfAnySize) {
  std::string text;
  for (int line = 1; line <= 300; ++line) {
    text += std::string(static_cast<std::size_t>(line % 50), 'x') + std::to_string(line) + "\n";
  }
  text += "last";
  const test::TensorFile path(text);
  for (const std::size_t block : {1, 7, 64, 100'000}) {
    LineBlocks file(path.path(), block);
    std::string_view line;
    ASSERT_TRUE(file.peek_line(line));
    EXPECT_EQ(line, "x1");
    ASSERT_TRUE(file.next_line(line));
    EXPECT_EQ(line, "x1");
    EXPECT_EQ(file.line_number(), 1u);
    std::string rest;
    std::uint64_t number = 2;
    while (file.next_block(line)) {
      EXPECT_EQ(file.line_number(), number);
      number += static_cast<std::uint64_t>(std::count(line.begin(), line.end(), '\n'));
      rest += line;
    }
    EXPECT_EQ("x1\n" + rest, text);
    EXPECT_EQ(number, 301u);
  }
}

TEST(LineBlocks, RefusesALineThatIsNoText) {
  const test::TensorFile path("1 1 1\n" + std::string(5 << 20, '7'));
  LineBlocks file(path.path(), 1 << 16);
  std::string_view line;
  ASSERT_TRUE(file.next_line(line));
  EXPECT_THAT([&] { file.next_line(line); },
              ThrowsMessage<Error>(HasSubstr("line 2: the line has more than 1 MiB")));
}

TEST(MatrixMarket, ReadsEveryFieldAndSymmetry) {
  const auto text = [](const std::string& kind, const std::string& rest) {
    return "%%MatrixMarket matrix coordinate " + kind + "\n% a note\n\n" + rest;
  };
  const CooTensor general = tensor_of_text(text("real general", "3 4 2\n1 4 2.5\n3 1 -1\n"));
  EXPECT_EQ(general.sizes, (Index{3, 4}));
  EXPECT_EQ(entries_of(general), (Entries{{{0, 3}, 2.5}, {{2, 0}, -1}}));
  EXPECT_EQ(entries_of(tensor_of_text(text("pattern general", "3 4 1\n2 2\n"))),
            (Entries{{{1, 1}, 1}}));
  EXPECT_EQ(entries_of(tensor_of_text(text("integer symmetric", "3 3 2\n2 2 5\n3 1 7\n"))),
            (Entries{{{1, 1}, 5}, {{2, 0}, 7}, {{0, 2}, 7}}));
  EXPECT_EQ(entries_of(tensor_of_text(text("REAL Skew-Symmetric", "3 3 1\n3 1 7\n"))),
            (Entries{{{2, 0}, 7}, {{0, 2}, -7}}));
  EXPECT_EQ(tensor_of_text(text("real general", "3 4 0\n")).sizes, (Index{3, 4}));
}

// The chunks of a file, one after the other.
CooTensor joined_chunks(const std::string& text, std::size_t& count) {
  ThreadPool pool(2);
  CooTensor all;
  count = 0;
  read_chunks(test::TensorFile(text).path(), 1000, pool, [&](const CooTensor& chunk) {
    if (count++ == 0) all.indices.resize(chunk.order());
    all.sizes.assign(chunk.order(), ~std::uint64_t{0});
    for (std::size_t i = 0; i < chunk.num_entries(); ++i) {
      all.append(test::index_of_entry(chunk, i), chunk.values[i]);
    }
    all.sizes = chunk.sizes;
  });
  return all;
}

TEST(ReadChunks, PassesAllEntriesOnInTheirOrderAndTheSizesWithTheLastOnes) {
  std::string lines;
  for (int i = 1; i <= 20000; ++i) {
    lines += std::to_string(i % 777 + 1) + " " + std::to_string(i) + " " + std::to_string(i) + "\n";
  }
  std::size_t count = 0;
  for (const std::string header : {"", "2\n777 20001\n"}) {
    EXPECT_EQ(joined_chunks(header + lines, count), tensor_of_text(header + lines));
    EXPECT_GT(count, 2u);
  }
  const std::string banner = "%%MatrixMarket matrix coordinate real symmetric\n20000 20000 20000\n";
  const CooTensor symmetric = joined_chunks(banner + lines, count);
  EXPECT_GT(count, 2u);
  EXPECT_EQ(entries_of(symmetric), entries_of(tensor_of_text(banner + lines)));
  EXPECT_EQ(joined_chunks("# sizes 3 4\n", count).sizes, (Index{3, 4}));
  EXPECT_EQ(count, 1u);
  EXPECT_THROW(joined_chunks(banner + lines + "1 1 1\n", count), Error) << "too many in all chunks";
}

TEST(MatrixMarket, NamesWhatIsWrong) {
  const auto refused = [](const std::string& banner, const std::string& rest,
                          const std::string& words) {
    expect_refused("%%MatrixMarket " + banner + "\n" + rest, words);
  };
  refused("matrix array real general", "1 1\n", "line 1: only coordinate matrices are sparse");
  refused("matrix coordinate complex general", "", "real, integer or pattern, not 'complex'");
  refused("matrix coordinate real hermitian", "", "skew-symmetric, not 'hermitian'");
  refused("vector coordinate real general", "", "line 1: a banner reads");
  const std::string banner = "matrix coordinate real general";
  refused(banner, "% note\n", "the line of sizes is missing");
  refused(banner, "3 4\n", "line 2: the line of sizes has rows, columns and entries");
  refused(banner, "3 0 1\n", "line 2: '0' is not a size");
  refused(banner, "3 4 -1\n", "line 2: '-1' is not a size");
  refused(banner, "3 4 2\n1 1 1\n",
          "the header says 2 entries, and there are 1; the file may be cut");
  refused(banner, "3 4 1\n1 1 1\n2 2 2\n",
          "the header says 1 entries, and there are 2; one of them is wrong");
  refused(banner, "3 4 1\n4 1 1\n", "line 3: index 4 in column 1 exceeds the mode's size 3");
  refused("matrix coordinate real symmetric", "3 4 1\n1 1 1\n", "as many rows as columns");
  refused("matrix coordinate real skew-symmetric", "3 3 2\n2 1 1\n3 3 4\n",
          "a skew-symmetric matrix has no diagonal, but row and column 3 have an entry");
}

}  // namespace
}  // namespace tandem::sparse
