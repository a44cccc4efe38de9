// SPDX-License-Identifier: Apache-2.0
//
// Lines of entries: indices from 1, then a value, with blanks between.
//
// parse_entries() reads many lines, in parallel parts. Empty lines and those that begin with '#' or
// '%' are skipped. The first wrong line is reported, whichever part finds it. Cost: about 60 ns for
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

// What an entry of a file has.
struct EntryForm {
  std::size_t order = 0;
  bool has_value = true;             // without: the value is 1
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
  std::optional<EntryFault> fault;      // then entries of later lines are missing
};

EntryPart parse_part(std::string_view lines, const EntryForm& form);

// Parts in the order of the lines. Those behind a fault are missing.
std::vector<EntryPart> parse_entries(std::string_view lines, const EntryForm& form,
                                     ThreadPool& pool);

// Between blanks.
std::vector<std::string_view> words_of(std::string_view line);
// An empty line counts as one.
bool is_comment(std::string_view line);

// A number of a header; nothing for what is no integer above 0.
std::optional<std::uint64_t> positive_integer(std::string_view word);

// The word in quotes, cut at 40 letters, with '?' for what does not print.
std::string quoted(std::string_view word);

}  // namespace tandem::sparse
