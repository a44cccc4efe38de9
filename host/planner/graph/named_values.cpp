// SPDX-License-Identifier: Apache-2.0
//
// The last "::" of a line separates name and value, because names may contain "::" too.
#include "planner/graph/named_values.h"

#include "common/error.h"
#include "common/number.h"
#include "common/text_parts.h"

namespace tandem::planner {
namespace {

std::string_view without_marks(std::string_view text) { return trimmed(text, " \t\r\";"); }

}  // namespace

void NamedValuesSource::refuse(std::int64_t line, const std::string& what) const {
  throw Error(module, file + ": line " + std::to_string(line) + ": " + what);
}

void read_named_values(
    std::istream& in, const NamedValuesSource& source,
    const std::function<void(const std::string& name, double value, std::int64_t line)>& take) {
  std::string text;
  for (std::int64_t line = 1; std::getline(in, text); ++line) {
    if (without_marks(text).empty()) continue;
    const std::size_t colons = text.rfind("::");
    if (colons == std::string::npos) {
      source.refuse(line, "'" + text + "' is not a line name::value");
    }
    const std::string_view whole = text;
    const std::string_view value = without_marks(whole.substr(colons + 2));
    const auto number = number_of<double>(value);
    if (!number || *number < 0) {
      source.refuse(line, "'" + std::string(value) + "' is not a number of at least 0");
    }
    take(std::string(without_marks(whole.substr(0, colons))), *number, line);
  }
}

}  // namespace tandem::planner
