// SPDX-License-Identifier: Apache-2.0
//
// Numbers with their lines.
#include "planner/mapping/qaplib_file.h"

#include <string>
#include <string_view>

#include "common/error.h"
#include "common/number.h"

namespace tandem::planner {
namespace {

struct PlacedNumber {
  std::int64_t value = 0;
  std::int64_t line = 0;
};

[[noreturn]] void refuse_at(std::int64_t line, const std::string& what) {
  throw Error("qaplib", "line " + std::to_string(line) + ": " + what);
}

void add_numbers(std::string_view text, std::int64_t line, std::vector<PlacedNumber>& numbers) {
  constexpr std::string_view kBlank = " \t\r\f\v";
  for (std::size_t at = text.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlank, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const auto value = number_of<std::int64_t>(word);
    if (!value) refuse_at(line, "'" + std::string(word) + "' is not a whole number");
    numbers.push_back({*value, line});
    at = text.find_first_not_of(kBlank, end);
  }
}

}  // namespace

QuadraticAssignment read_qaplib(std::istream& in) {
  std::vector<PlacedNumber> numbers;
  std::string text;
  std::int64_t line = 0;
  while (std::getline(in, text)) add_numbers(text, ++line, numbers);
  if (numbers.empty()) throw Error("qaplib", "the file is empty");
  const PlacedNumber size = numbers.front();
  if (size.value < 1 || size.value > kMostTasks) {
    refuse_at(size.line, "the size " + std::to_string(size.value) + " is not from 1 to " +
                             std::to_string(kMostTasks));
  }
  const auto cells = static_cast<std::size_t>(size.value) * static_cast<std::size_t>(size.value);
  const bool has_best = numbers.size() == 2 * cells + 2 && numbers[1].line == size.line &&
                        numbers[2].line > size.line;
  const std::size_t first = has_best ? 2 : 1;
  if (numbers.size() != first + 2 * cells) {
    refuse_at(numbers.back().line, "the file ends with " + std::to_string(numbers.size() - 1) +
                                       " numbers behind the size " + std::to_string(size.value) +
                                       "; two matrices have " + std::to_string(2 * cells));
  }
  QuadraticAssignment problem;
  problem.num_tasks = static_cast<int>(size.value);
  for (std::size_t i = 0; i < cells; ++i) problem.flow.push_back(numbers[first + i].value);
  for (std::size_t i = 0; i < cells; ++i) {
    problem.distance.push_back(numbers[first + cells + i].value);
  }
  problem.check_range();
  return problem;
}

}  // namespace tandem::planner
