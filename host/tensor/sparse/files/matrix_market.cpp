// SPDX-License-Identifier: Apache-2.0
//
// Banner, comments, line of sizes, entries.
#include "tensor/sparse/files/matrix_market.h"

#include <string>
#include <vector>

#include "common/lower_case.h"
#include "tensor/sparse/files/entry_text.h"
#include "tensor/sparse/files/tensor_builder.h"

namespace tandem::sparse {
namespace {

constexpr std::string_view kBanner = "%%matrixmarket";

enum class Symmetry : std::uint8_t { kGeneral, kSymmetric, kSkew };

struct Banner {
  bool has_value = true;
  Symmetry symmetry = Symmetry::kGeneral;
};

Banner parse_banner(LineBlocks& file) {
  std::string_view line;
  file.next_line(line);
  const std::string text = lower_case(std::string(line));
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() != 5 || words[1] != "matrix") {
    file.fail(1, "a banner reads '%%MatrixMarket matrix coordinate real general'");
  }
  if (words[2] != "coordinate") {
    file.fail(1, "only coordinate matrices are sparse; this one is " + quoted(words[2]));
  }
  Banner banner;
  banner.has_value = words[3] != "pattern";
  if (banner.has_value && words[3] != "real" && words[3] != "integer") {
    file.fail(1, "values are real, integer or pattern, not " + quoted(words[3]));
  }
  if (words[4] == "symmetric") {
    banner.symmetry = Symmetry::kSymmetric;
  } else if (words[4] == "skew-symmetric") {
    banner.symmetry = Symmetry::kSkew;
  } else if (words[4] != "general") {
    file.fail(1, "a matrix is general, symmetric or skew-symmetric, not " + quoted(words[4]));
  }
  return banner;
}

// rows, columns, entries
std::vector<std::uint64_t> parse_sizes(LineBlocks& file) {
  std::string_view line;
  do {
    if (!file.next_line(line)) file.fail(file.line_number(), "the line of sizes is missing");
  } while (is_comment(line));
  const std::vector<std::string_view> words = words_of(line);
  if (words.size() != 3) {
    file.fail(file.line_number(), "the line of sizes has rows, columns and entries");
  }
  std::vector<std::uint64_t> numbers;
  for (const std::string_view word : words) {
    const auto number = positive_integer(word);
    if (!number && (numbers.size() < 2 || word != "0")) {
      file.fail(file.line_number(), quoted(word) + " is not a size");
    }
    numbers.push_back(number.value_or(0));
  }
  return numbers;
}

// Appends (column, row) for each (row, column) beside the diagonal.
void complete(const LineBlocks& file, CooTensor& tensor, Symmetry symmetry) {
  const std::size_t stored = tensor.num_entries();
  for (std::size_t entry = 0; entry < stored; ++entry) {
    const std::uint64_t row = tensor.indices[0][entry], column = tensor.indices[1][entry];
    const double value = tensor.values[entry];
    if (row == column && symmetry == Symmetry::kSkew && value != 0) {
      file.fail("a skew-symmetric matrix has no diagonal, but row and column " +
                std::to_string(row + 1) + " have an entry");
    }
    if (row == column) continue;
    const std::uint64_t index[] = {column, row};
    tensor.append(index, symmetry == Symmetry::kSkew ? -value : value);
  }
}

}  // namespace

bool is_matrix_market(std::string_view first_line) {
  return lower_case(std::string(first_line.substr(0, kBanner.size()))) == kBanner;
}

void read_matrix_market(LineBlocks& file, std::size_t most_bytes, ThreadPool& pool,
                        FunctionRef<void(CooTensor chunk)> take) {
  const Banner banner = parse_banner(file);
  const std::vector<std::uint64_t> sizes = parse_sizes(file);
  if (banner.symmetry != Symmetry::kGeneral && sizes[0] != sizes[1]) {
    file.fail(file.line_number(), "a symmetric matrix has as many rows as columns");
  }
  TensorBuilder builder(file, {2, banner.has_value, {sizes[0], sizes[1]}}, pool);
  const auto pass_on = [&] {
    CooTensor chunk = builder.take();
    if (banner.symmetry != Symmetry::kGeneral) complete(file, chunk, banner.symmetry);
    take(std::move(chunk));
  };
  std::string_view lines;
  while (file.next_block(lines)) {
    if (builder.size_bytes() >= most_bytes) pass_on();
    builder.add(lines, file.line_number());
  }
  if (builder.num_entries() != sizes[2]) {
    const bool is_short = builder.num_entries() < sizes[2];
    file.fail("the header says " + std::to_string(sizes[2]) + " entries, and there are " +
              std::to_string(builder.num_entries()) +
              (is_short ? "; the file may be cut off" : "; one of them is wrong"));
  }
  pass_on();
}

}  // namespace tandem::sparse
