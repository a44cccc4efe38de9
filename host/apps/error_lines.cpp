// SPDX-License-Identifier: Apache-2.0
//
// An unbuffered stream buffer: every output arrives here, in the thread that prints.
#include "apps/error_lines.h"

#include <spdlog/spdlog.h>

#include <iostream>
#include <optional>
#include <string_view>
#include <utility>

namespace tandem::apps {
namespace {

using spdlog::level::level_enum;

constexpr std::pair<const char*, level_enum> kSeverities[] = {
    {"EMERGENCY: ", spdlog::level::critical}, {"ALERT: ", spdlog::level::critical},
    {"CRITICAL: ", spdlog::level::critical},  {"ERROR: ", spdlog::level::err},
    {"WARNING: ", spdlog::level::warn},       {"NOTICE: ", spdlog::level::info},
    {"INFO: ", spdlog::level::info},          {"DEBUG: ", spdlog::level::debug}};

// XRT names its build, in nine lines from "XRT build version" to "EXE"; some may be missing.
constexpr int kIntroductionLines = 10;

// Takes it out of the text.
std::optional<level_enum> stated_severity(std::string& text) {
  const std::size_t end = text.front() == '[' ? text.find("] ") : std::string::npos;
  if (end == std::string::npos) return std::nullopt;
  for (const auto& [word, level] : kSeverities) {
    const std::string_view severity(word);
    if (text.compare(end + 2, severity.size(), severity) != 0) continue;
    text.erase(end + 2, severity.size());
    return level;
  }
  return std::nullopt;
}

}  // namespace

void ErrorLines::Lines::log_line(Line& line, std::string text) {
  if (const auto severity = stated_severity(text)) {
    line.introduction = 0;
    return spdlog::log(*severity, "{}", text);
  }
  if (text.rfind("XRT build version: ", 0) == 0) line.introduction = kIntroductionLines;
  if (line.introduction == 0) return spdlog::warn("{}", text);
  line.introduction = text.rfind("EXE: ", 0) == 0 ? 0 : line.introduction - 1;
  spdlog::debug("[xrt] {}", text);
}

void ErrorLines::Lines::take(const char* text, std::size_t count) {
  std::unique_lock lock(mutex_);
  Line& line = lines_[std::this_thread::get_id()];
  lock.unlock();
  line.text.append(text, count);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = line.text.find('\n', begin)) != std::string::npos;) {
    if (end > begin) log_line(line, line.text.substr(begin, end - begin));
    begin = end + 1;
  }
  line.text.erase(0, begin);
}

void ErrorLines::Lines::log_rests() {
  const std::scoped_lock lock(mutex_);
  for (auto& [thread, line] : lines_) {
    if (!line.text.empty()) log_line(line, std::exchange(line.text, {}));
  }
}

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

ErrorLines::~ErrorLines() {
  std::cerr.rdbuf(before_);
  lines_.log_rests();
}

}  // namespace tandem::apps
