// SPDX-License-Identifier: Apache-2.0
//
// A stream buffer without a buffer: all that is printed arrives here, in the printing thread.
#include "apps/error_lines.h"

#include <spdlog/spdlog.h>

#include <iostream>
#include <utility>

namespace tandem::apps {
namespace {

using spdlog::level::level_enum;

constexpr std::pair<const char*, level_enum> kSeverities[] = {
    {"EMERGENCY: ", spdlog::level::critical}, {"ALERT: ", spdlog::level::critical},
    {"CRITICAL: ", spdlog::level::critical},  {"ERROR: ", spdlog::level::err},
    {"WARNING: ", spdlog::level::warn},       {"NOTICE: ", spdlog::level::info},
    {"INFO: ", spdlog::level::info},          {"DEBUG: ", spdlog::level::debug}};

struct Line {
  std::string text;
  bool introduces = false;  // XRT names its build, in lines from "XRT build version" to "EXE"
};

thread_local Line line;

void log_line(std::string text) {
  if (text.rfind("XRT build version: ", 0) == 0) line.introduces = true;
  if (line.introduces) {
    line.introduces = text.rfind("EXE: ", 0) != 0;
    spdlog::debug("[xrt] {}", text);
    return;
  }
  const std::size_t end = text.front() == '[' ? text.find("] ") : std::string::npos;
  if (end != std::string::npos) {
    for (const auto& [word, level] : kSeverities) {
      const std::string_view severity(word);
      if (text.compare(end + 2, severity.size(), severity) != 0) continue;
      text.erase(end + 2, severity.size());
      return spdlog::log(level, "{}", text);
    }
  }
  spdlog::warn("{}", text);
}

void take(const char* text, std::size_t count) {
  line.text.append(text, count);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = line.text.find('\n', begin)) != std::string::npos;) {
    if (end > begin) log_line(line.text.substr(begin, end - begin));
    begin = end + 1;
  }
  line.text.erase(0, begin);
}

}  // namespace

std::streamsize ErrorLines::Lines::xsputn(const char* text, std::streamsize count) {
  take(text, static_cast<std::size_t>(count));
  return count;
}

ErrorLines::Lines::int_type ErrorLines::Lines::overflow(int_type c) {
  const char letter = traits_type::to_char_type(c);
  if (!traits_type::eq_int_type(c, traits_type::eof())) take(&letter, 1);
  return traits_type::not_eof(c);
}

ErrorLines::ErrorLines() : before_(std::cerr.rdbuf(&lines_)), raw_(before_) {}

ErrorLines::~ErrorLines() { std::cerr.rdbuf(before_); }

}  // namespace tandem::apps
