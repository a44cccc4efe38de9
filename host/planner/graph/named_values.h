// SPDX-License-Identifier: Apache-2.0
//
// read_named_values: reads lines "name::value" of a text, such as the times of operators.
//
// Empty lines are skipped. Quotation marks and semicolons around names and values are removed.
// Threads: pure. Errors: Error(module, "FILE: line N: ...").
#pragma once

#include <functional>
#include <istream>
#include <string>
#include <string_view>

namespace tandem::planner {

struct NamedValuesSource {
  std::string module, file;

  [[noreturn]] void refuse(std::int64_t line, const std::string& what) const;
};

// Calls `take`(name, value, line) for every line. Values are at least 0.
void read_named_values(
    std::istream& in, const NamedValuesSource& source,
    const std::function<void(const std::string& name, double value, std::int64_t line)>& take);

}  // namespace tandem::planner
