// SPDX-License-Identifier: Apache-2.0
//
// Reads the header line by line, then blocks of entries in parallel.
#include "tensor/sparse/files/read_tensor.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "tensor/sparse/files/entry_text.h"
#include "tensor/sparse/files/line_blocks.h"
#include "tensor/sparse/files/matrix_market.h"
#include "tensor/sparse/files/tensor_builder.h"

namespace tandem::sparse {
namespace {

// Of text, at a time.
constexpr std::size_t kLeastBlock = std::size_t{1} << 16, kMostBlock = std::size_t{16} << 20;
constexpr std::string_view kSizesComment = "sizes";

std::uint64_t order_word(const LineBlocks& file, std::string_view word) {
  const auto order = positive_integer(word);
  if (!order) {
    file.fail(file.line_number(),
              quoted(word) + " is neither an entry nor the order that a header begins with");
  }
  return *order;
}

std::uint64_t size_word(const LineBlocks& file, std::string_view word) {
  const auto size = positive_integer(word);
  if (!size)
    file.fail(file.line_number(), quoted(word) + " is not a size of a mode; sizes begin at 1");
  return *size;
}

void check_order(const LineBlocks& file, std::uint64_t order) {
  if (order >= 1 && order <= kMaxOrder) return;
  file.fail(file.line_number(), "a tensor has 1 to " + std::to_string(kMaxOrder) + " modes, not " +
                                    std::to_string(order));
}

// "# sizes 4 5 6" -> the sizes; nothing for other comments.
std::vector<std::uint64_t> sizes_of_comment(const LineBlocks& file, std::string_view line) {
  const std::vector<std::string_view> words = words_of(line);
  if (words.size() < 3 || words[0] != "#" || words[1] != kSizesComment) return {};
  check_order(file, words.size() - 2);
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 2; i < words.size(); ++i) sizes.push_back(size_word(file, words[i]));
  return sizes;
}

// The next line that is no comment. False at the end.
bool next_content(LineBlocks& file, std::string_view& line, EntryForm& form) {
  while (file.next_line(line)) {
    if (!is_comment(line)) return true;
    const std::vector<std::uint64_t> sizes = sizes_of_comment(file, line);
    if (!sizes.empty()) form.sizes = sizes;
  }
  return false;
}

// The line of sizes, after the line with the order.
std::vector<std::uint64_t> header_sizes(LineBlocks& file, std::uint64_t order) {
  std::string_view line;
  EntryForm ignored;
  if (!next_content(file, line, ignored)) {
    file.fail(file.line_number(), "the file ends behind the order; a line with " +
                                      std::to_string(order) + " sizes must follow");
  }
  const std::vector<std::string_view> words = words_of(line);
  if (words.size() != order) {
    file.fail(file.line_number(), "the order is " + std::to_string(order) + ", and here are " +
                                      std::to_string(words.size()) + " sizes");
  }
  std::vector<std::uint64_t> sizes;
  for (const std::string_view word : words) sizes.push_back(size_word(file, word));
  return sizes;
}

// Reads what stands before the entries. Returns the first line of entries, if it was read already.
std::string first_entry(LineBlocks& file, EntryForm& form) {
  std::string_view line;
  if (!next_content(file, line, form)) {
    if (form.sizes.empty()) file.fail("has neither entries nor a header with sizes");
    form.order = form.sizes.size();
    return {};
  }
  const std::vector<std::string_view> words = words_of(line);
  if (words.size() == 1) {
    const std::uint64_t order = order_word(file, words[0]);
    check_order(file, order);
    form.sizes = header_sizes(file, order);
    form.order = order;
    return {};
  }
  form.order = words.size() - 1;
  check_order(file, form.order);
  if (!form.sizes.empty() && form.sizes.size() != form.order) {
    file.fail(file.line_number(), "an entry of " + std::to_string(form.order) +
                                      " indices, but the comment names " +
                                      std::to_string(form.sizes.size()) + " sizes");
  }
  return std::string(line);
}

}  // namespace

void read_chunks(const std::string& path, std::size_t most_bytes, ThreadPool& pool,
                 FunctionRef<void(CooTensor chunk)> take) {
  LineBlocks file(path, std::clamp(most_bytes, kLeastBlock, kMostBlock));
  std::string_view line;
  if (!file.peek_line(line)) file.fail("is empty; a tensor has a header or entries");
  if (is_matrix_market(line)) return read_matrix_market(file, most_bytes, pool, take);
  EntryForm form;
  const std::string first = first_entry(file, form);
  TensorBuilder builder(file, form, pool);
  if (!first.empty()) builder.add(first, file.line_number());
  while (file.next_block(line)) {
    if (builder.size_bytes() >= most_bytes) take(builder.take());
    builder.add(line, file.line_number());
  }
  take(builder.take());
}

CooTensor read_tensor(const std::string& path, ThreadPool& pool) {
  CooTensor whole;
  read_chunks(path, std::numeric_limits<std::size_t>::max(), pool,
              [&](CooTensor chunk) { whole = std::move(chunk); });
  return whole;
}

}  // namespace tandem::sparse
