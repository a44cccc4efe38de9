// SPDX-License-Identifier: Apache-2.0
//
// Digits are parsed by hand, values by std::from_chars. The reason why a word is wrong is
// determined later, outside of the fast path.
#include "tensor/sparse/files/entry_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "common/number.h"
#include "tensor/sparse/formats/radix_sort.h"

namespace tandem::sparse {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

const char* skip_blanks(const char* at, const char* end) {
  while (at != end && is_blank(*at)) ++at;
  return at;
}

std::string_view word_at(const char* at, const char* end) {
  const char* const begin = at;
  while (at != end && !is_blank(*at)) ++at;
  return {begin, static_cast<std::size_t>(at - begin)};
}

constexpr std::uint64_t kMaxIndex = std::numeric_limits<std::uint64_t>::max();

// Reads an index from 1. On return `at` is behind it, or unmoved where there is none in 1 .. 2^64
// - 1.
std::uint64_t read_index(const char*& at, const char* end) {
  std::uint64_t value = 0;
  const char* digit = at;
  for (; digit != end && *digit >= '0' && *digit <= '9'; ++digit) {
    const auto next = static_cast<std::uint64_t>(*digit - '0');
    if (value > (kMaxIndex - next) / 10) return 0;
    value = value * 10 + next;
  }
  if (value != 0 && (digit == end || is_blank(*digit))) at = digit;
  return value;
}

std::string index_complaint(std::string_view word) {
  const bool is_negative = word.size() > 1 && word.front() == '-';
  const std::string_view digits = is_negative ? word.substr(1) : word;
  if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return quoted(word) + " is not an index";
  }
  if (is_negative) return "index " + quoted(word) + " is negative; indices begin at 1";
  if (digits.find_first_not_of('0') == digits.npos) return "index 0; indices begin at 1";
  return "index " + quoted(word) + " does not fit 64 bits";
}

class PartParser {
 public:
  PartParser(std::string_view lines, const EntryForm& form) : lines_(lines), form_(form) {
    part_.greatest.assign(form.order, 0);
    sizes_ = form.sizes.empty() ? std::vector(form.order, kMaxIndex) : form.sizes;
  }

  EntryPart run() {
    const char* at = lines_.data();
    const char* const end = at + lines_.size();
    while (at != end && !part_.fault) {
      const char* const newline = std::find(at, end, '\n');
      take(at, newline);
      at = newline == end ? end : newline + 1;
    }
    return std::move(part_);
  }

 private:
  void take(const char* const line, const char* end) {
    const char* at = skip_blanks(line, end);
    if (at == end || *at == '#' || *at == '%') return;
    const std::size_t base = part_.indices.size();
    part_.indices.resize(base + form_.order);
    std::string complaint;
    for (std::size_t mode = 0; mode < form_.order && complaint.empty(); ++mode) {
      complaint = take_index(at, end, mode, part_.indices[base + mode]);
      at = skip_blanks(at, end);
    }
    double value = 1;
    if (complaint.empty() && form_.has_value) complaint = take_value(at, end, value);
    if (complaint.empty() && skip_blanks(at, end) != end) {
      complaint = "more than " + num_words() + "; the first too many is " +
                  quoted(word_at(skip_blanks(at, end), end));
    }
    if (complaint.empty()) {
      part_.values.push_back(value);
    } else {
      part_.indices.resize(base);
      part_.fault = EntryFault{line, std::move(complaint)};
    }
  }

  std::string take_index(const char*& at, const char* end, std::size_t mode, std::uint64_t& to) {
    const char* const begin = at;
    const std::uint64_t index = read_index(at, end);
    if (at == begin) return at == end ? too_few() : index_complaint(word_at(at, end));
    if (index > sizes_[mode]) {
      return "index " + std::to_string(index) + " in column " + std::to_string(mode + 1) +
             " exceeds the mode's size " + std::to_string(sizes_[mode]);
    }
    to = index - 1;
    part_.greatest[mode] = std::max(part_.greatest[mode], to);
    return {};
  }

  std::string take_value(const char*& at, const char* end, double& value) {
    if (at == end) return too_few();
    const std::string_view word = word_at(at, end);
    const char* begin = at + (word.size() > 1 && word[0] == '+' && word[1] != '-' ? 1 : 0);
    const auto [rest, error] = std::from_chars(begin, at + word.size(), value);
    if (error == std::errc::result_out_of_range) {
      return "value " + quoted(word) + " is beyond what 64 bits hold";
    }
    if (error != std::errc() || rest != at + word.size()) return quoted(word) + " is not a number";
    if (!std::isfinite(value)) return "value " + quoted(word) + " is not finite";
    at = rest;
    return {};
  }

  std::string num_words() const {
    return std::to_string(form_.order) + (form_.order == 1 ? " index" : " indices") +
           (form_.has_value ? " and a value" : "");
  }
  std::string too_few() const { return "fewer than " + num_words(); }

  std::string_view lines_;
  const EntryForm& form_;
  std::vector<std::uint64_t> sizes_;
  EntryPart part_;
};

// Cuts after ends of lines, into at most `most` parts.
std::vector<std::string_view> cut(std::string_view lines, std::size_t most) {
  std::vector<std::string_view> parts;
  const EqualParts equal{lines.size(), most};
  std::size_t begin = 0;
  for (std::size_t part = 1; part <= most; ++part) {
    const std::size_t newline = lines.find('\n', std::max(equal.bound(part), begin + 1) - 1);
    const std::size_t end = newline == lines.npos ? lines.size() : newline + 1;
    if (end > begin) parts.push_back(lines.substr(begin, end - begin));
    begin = end;
    if (begin == lines.size()) break;
  }
  return parts;
}

}  // namespace

EntryPart parse_part(std::string_view lines, const EntryForm& form) {
  return PartParser(lines, form).run();
}

std::vector<EntryPart> parse_entries(std::string_view lines, const EntryForm& form,
                                     ThreadPool& pool) {
  const std::vector<std::string_view> cuts =
      cut(lines, static_cast<std::size_t>(pool.num_threads()));
  std::vector<EntryPart> parts(cuts.size());
  pool.run(cuts.size(), [&](std::size_t part) { parts[part] = parse_part(cuts[part], form); });
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (parts[part].fault) parts.resize(part + 1);
  }
  return parts;
}

bool is_comment(std::string_view line) {
  const char* const end = line.data() + line.size();
  const char* const at = skip_blanks(line.data(), end);
  return at == end || *at == '#' || *at == '%';
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  const char* const end = line.data() + line.size();
  for (const char* at = skip_blanks(line.data(), end); at != end; at = skip_blanks(at, end)) {
    words.push_back(word_at(at, end));
    at += words.back().size();
  }
  return words;
}

std::optional<std::uint64_t> positive_integer(std::string_view word) {
  const auto value = number_of<std::uint64_t>(word);
  return value && *value > 0 ? value : std::nullopt;
}

std::string quoted(std::string_view word) {
  constexpr std::size_t kLongest = 40;
  std::string text = "'";
  for (const char c : word.substr(0, kLongest)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (word.size() > kLongest ? "...'" : "'");
}

}  // namespace tandem::sparse
