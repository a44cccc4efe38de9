// SPDX-License-Identifier: Apache-2.0
//
// Lines of entries: the indices, counted from 1, then a value, separated by blanks.
//
// parse_entries() parses many lines in parallel parts. It skips empty lines and lines that begin
// with '#' or '%'. It reports the first wrong line, whichever part finds it. Cost: about 60 ns for
// an entry of three indices. Threads: parse_part() from any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/raw_vector.h"
#include "common/thread_pool.h"

namespace tandem::sparse {

// The form of an entry in a file.
struct EntryForm {
  std::size_t order = 0;
  bool has_value = true;             // false: every value is 1
  std::vector<std::uint64_t> sizes;  // [order] greatest indices; empty: not known
};

struct EntryFault {
  const char* line = nullptr;  // where the wrong line begins
  std::string text;
};

struct EntryPart {
  RawVector<std::uint64_t> indices;     // [num_entries, order] from 0
  RawVector<double> values;             // [num_entries]
  std::vector<std::uint64_t> greatest;  // [order] greatest index; 0 without entries
  std::optional<EntryFault> fault;      // if set, the entries of later lines are missing
};

EntryPart parse_part(std::string_view lines, const EntryForm& form);

// Returns the parts in the order of the lines. Parts after a fault are missing.
std::vector<EntryPart> parse_entries(std::string_view lines, const EntryForm& form,
                                     ThreadPool& pool);

// Splits a line at blanks.
std::vector<std::string_view> words_of(std::string_view line);
// True for a comment or an empty line.
bool is_comment(std::string_view line);

// Parses a number of a header; returns nothing unless the word is an integer above 0.
std::optional<std::uint64_t> positive_integer(std::string_view word);

// The word in quotes, cut after 40 letters, with '?' for unprintable characters.
std::string quoted(std::string_view word);

}  // namespace tandem::sparse
