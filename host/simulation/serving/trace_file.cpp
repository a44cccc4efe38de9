// SPDX-License-Identifier: Apache-2.0
//
// Recorded traces. Columns: those of the Azure LLM inference traces (TIMESTAMP, ContextTokens,
// GeneratedTokens), of BurstGPT (Timestamp, Request tokens, Response tokens), and plain names.
#include <algorithm>
#include <array>
#include <chrono>
#include <istream>
#include <optional>
#include <span>

#include "common/error.h"
#include "common/lower_case.h"
#include "common/number.h"
#include "common/text_parts.h"
#include "simulation/serving/load.h"

namespace tandem::simulation {
namespace {

constexpr std::array<std::string_view, 5> kArrival = {"arrival", "timestamp", "arrival_s", "time",
                                                      "arrival_time"};
constexpr std::array<std::string_view, 5> kPrompt = {"prompt", "contexttokens", "request tokens",
                                                     "prompt_tokens", "input_length"};
constexpr std::array<std::string_view, 5> kOutput = {"output", "generatedtokens", "response tokens",
                                                     "output_tokens", "output_length"};

constexpr std::size_t kDateLength = 19;  // to the second

[[noreturn]] void refuse_line(std::int64_t line, const std::string& what) {
  throw Error("trace", "line " + std::to_string(line) + ": " + what);
}

// The field without blanks and quotes.
std::string_view bare(std::string_view field) { return trimmed(field, " \t\r\""); }

struct Columns {
  std::size_t arrival = 0, prompt = 0, output = 0, count = 0;
};

std::size_t find_column(const std::vector<std::string_view>& header,
                        std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (std::ranges::count(names, lower_case(std::string(bare(header[i])))) > 0) return i;
  }
  std::string known;
  for (const std::string_view name : names) known.append(" ").append(name);
  refuse_line(1, "the header has no column of these:" + known);
}

Columns columns_of(const std::string& line) {
  const std::vector<std::string_view> header = parts_of(line, ',');
  return {find_column(header, kArrival), find_column(header, kPrompt), find_column(header, kOutput),
          header.size()};
}

// Removes "Z", "+02:00" or "-07:00" from the end; empty for any other text after the seconds.
std::optional<double> take_offset(std::string_view& text) {
  const std::size_t at = text.find_first_of("Z+-", std::min(text.size(), kDateLength));
  if (at == std::string_view::npos) return 0;
  const std::string_view zone = text.substr(at);
  text = text.substr(0, at);
  if (zone == "Z") return 0;
  if (zone.size() != 6 || zone[3] != ':') return std::nullopt;
  const auto hour = number_of<unsigned>(zone.substr(1, 2)),
             minute = number_of<unsigned>(zone.substr(4));
  if (!hour || !minute || *hour > 14 || *minute > 59) return std::nullopt;
  const double seconds = 3600.0 * *hour + 60.0 * *minute;
  return zone[0] == '+' ? seconds : -seconds;
}

// "2023-11-16 18:15:46.6805900", "2024-05-10 00:00:00.009930+00:00"
std::optional<double> seconds_of_date(std::string_view text) {
  const auto offset = take_offset(text);
  if (!offset) return std::nullopt;
  if (text.size() < kDateLength || text[4] != '-' || text[7] != '-' || text[13] != ':' ||
      text[16] != ':') {
    return std::nullopt;
  }
  const auto year = number_of<int>(text.substr(0, 4)), month = number_of<int>(text.substr(5, 2));
  const auto day = number_of<int>(text.substr(8, 2)), hour = number_of<int>(text.substr(11, 2));
  const auto minute = number_of<int>(text.substr(14, 2));
  const auto second = number_of<double>(text.substr(17));
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  const bool is_time = *hour >= 0 && *hour < 24 && *minute >= 0 && *minute < 60 && *second >= 0 &&
                       *second < 61;  // a leap second
  if (!date.ok() || !is_time) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return 86400.0 * static_cast<double>(days) + 3600 * *hour + 60 * *minute + *second - *offset;
}

double time_of(std::string_view text, std::int64_t line) {
  auto value = number_of<double>(text);
  if (!value) value = seconds_of_date(text);
  if (!value)
    refuse_line(line, "'" + std::string(text) + "' is neither seconds nor a date with a time");
  if (*value < 0) refuse_line(line, "the time " + std::string(text) + " is negative");
  return *value;
}

int length_of(std::string_view text, std::int64_t line, int least) {
  const auto value = number_of<int>(text);
  if (!value || *value < least || *value > kMostTokens) {
    refuse_line(line, "'" + std::string(text) + "' is not a number of tokens, at least " +
                          std::to_string(least) + " and at most " + std::to_string(kMostTokens));
  }
  return *value;
}

}  // namespace

std::vector<SimulatedRequest> read_trace(std::istream& in) {
  std::string line;
  if (!std::getline(in, line)) throw Error("trace", "the file is empty");
  const Columns columns = columns_of(line);
  std::vector<SimulatedRequest> requests;
  std::optional<double> first;
  double last = 0;
  for (std::int64_t number = 2; std::getline(in, line); ++number) {
    if (bare(line).empty()) continue;
    const std::vector<std::string_view> fields = parts_of(line, ',');
    if (fields.size() != columns.count) {
      refuse_line(number, std::to_string(fields.size()) + " fields, but the header has " +
                              std::to_string(columns.count));
    }
    const double time = time_of(bare(fields[columns.arrival]), number);
    if (!first) first = last = time;
    if (time < last)
      refuse_line(number, "its time is before that of the line above: sort the trace");
    last = time;
    const int prompt = length_of(bare(fields[columns.prompt]), number, 1);
    const int output = length_of(bare(fields[columns.output]), number, 0);
    // Published traces list requests that failed without an answer.
    if (output > 0) requests.push_back({time - *first, prompt, output});
  }
  if (requests.empty()) throw Error("trace", "the file has a header and no requests");
  return requests;
}

}  // namespace tandem::simulation
