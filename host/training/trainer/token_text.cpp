// SPDX-License-Identifier: Apache-2.0
//
// Ids are read as unsigned and little endian, two or four bytes each.
#include "training/trainer/token_text.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>

#include "common/error.h"
#include "common/utf8.h"
#include "training/trainer/input_file.h"

namespace tandem::training {
namespace {

void check_text(std::string_view text, const std::string& path) {
  for (std::string_view left = text; !left.empty();) {
    const Utf8Sequence next = next_utf8(left);
    if (!next.valid) {
      throw Error(
          "train",
          "'" + path + "' is not UTF-8 text: byte " + std::to_string(text.size() - left.size()) +
              " begins no character; convert it to UTF-8, or give token ids in .u16 or .u32");
    }
    left.remove_prefix(next.length);
  }
}

int bytes_of_id(const std::string& path) {
  if (path.ends_with(".u16")) return 2;
  return path.ends_with(".u32") ? 4 : 0;
}

}  // namespace

TokenText::TokenText(const std::string& path, const model::Tokenizer& tokenizer) {
  require_file(path, "a file of text, or of token ids");
  model::MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes_of_id(path) != 0) {
    id_bytes_ = bytes_of_id(path);
    size_ = bytes.size() / static_cast<std::size_t>(id_bytes_);
    if (bytes.size() % static_cast<std::size_t>(id_bytes_) != 0) {
      throw Error("train", "'" + path + "' has " + std::to_string(bytes.size()) +
                               " bytes, which are no whole ids of " + std::to_string(id_bytes_) +
                               "; it was cut off, or its ids have another size");
    }
    ids_ = bytes.data();
    mapping_ = std::move(file);
    check_ids(path, tokenizer.vocab_size());
    return;
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  check_text(text, path);
  own_ = tokenizer.encode(text, {.add_special = false});
  size_ = own_.size();
  ids_ = reinterpret_cast<const std::byte*>(own_.data());
}

void TokenText::check_ids(const std::string& path, int vocab_size) const {
  for (std::uint64_t at = 0; at < size_; ++at) {
    const std::int32_t id = (*this)[at];
    if (id >= 0 && id < vocab_size) continue;
    throw Error("train", "'" + path + "': token " + std::to_string(at) + " has the id " +
                             std::to_string(static_cast<std::uint32_t>(id)) +
                             "; the vocabulary has " + std::to_string(vocab_size) +
                             "; make the ids with the model's tokenizer");
  }
}

std::int32_t TokenText::operator[](std::uint64_t at) const {
  std::uint16_t narrow = 0;
  std::uint32_t wide = 0;
  if (id_bytes_ == 2) {
    std::memcpy(&narrow, ids_ + 2 * at, 2);
    return narrow;
  }
  std::memcpy(&wide, ids_ + 4 * at, 4);
  return static_cast<std::int32_t>(wide);
}

TokenRows::TokenRows(int rows, int columns)
    : rows_(rows),
      columns_(columns),
      tokens_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns)),
      targets_(tokens_.size(), kNotScored) {}

void TokenRows::fill(int row, const TokenText& text, std::uint64_t begin, std::uint64_t count,
                     model::TokenId bos) {
  clear(row);
  const std::size_t at = static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_);
  const std::uint64_t head = bos == model::kNoToken ? 0 : 1;
  const std::uint64_t pairs = count + head - 1;
  for (std::uint64_t place = 0; place < pairs; ++place) {
    const bool is_head = head == 1 && place == 0;
    tokens_[at + place] = is_head ? bos : text[begin + place - head];
    targets_[at + place] = text[begin + place + 1 - head];
  }
}

void TokenRows::clear(int row) {
  const auto at = static_cast<std::ptrdiff_t>(row) * columns_;
  std::fill_n(tokens_.begin() + at, columns_, 0);
  std::fill_n(targets_.begin() + at, columns_, kNotScored);
}

TokenBatch TokenRows::view() const { return {tokens_.data(), targets_.data(), rows_, columns_}; }

std::uint64_t TokenRows::num_scored() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(targets_, [](std::int32_t target) { return target != kNotScored; }));
}

Likelihood evaluate(Computation& computation, const TokenText& text, TokenRows& batch,
                    model::TokenId bos, EvaluationPart part) {
  const std::uint64_t head = bos == model::kNoToken ? 0 : 1;
  // A server keeps one token of its context for the answer.
  const std::uint64_t stride = static_cast<std::uint64_t>(batch.columns() - 1) - head;
  std::vector<float> losses(static_cast<std::size_t>(batch.rows()) *
                            static_cast<std::size_t>(batch.columns()));
  Likelihood result;
  int number = 0;
  for (std::uint64_t begin = 0; begin < text.size(); ++number) {
    const bool is_mine = number % part.parts == part.part;
    for (int row = 0; row < batch.rows(); ++row, begin += stride) {
      const std::uint64_t count = begin < text.size() ? std::min(stride, text.size() - begin) : 0;
      if (count + head < 2) {
        batch.clear(row);
      } else {
        batch.fill(row, text, begin, count, bos);
      }
    }
    if (!is_mine) continue;
    computation.losses(batch.view(), losses.data());
    result.nll += std::accumulate(losses.begin(), losses.end(), 0.0);
    result.tokens += batch.num_scored();
  }
  return result;
}

}  // namespace tandem::training
