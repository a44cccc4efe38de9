// SPDX-License-Identifier: Apache-2.0
//
// The fields of /proc/self/stat are counted from the last ')', since a program's name may hold
// blanks.
#include "trace/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace tandem::trace {
namespace {

std::string file_text(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Fields 3 (state) and following of proc(5).
std::vector<std::string> stat_fields() {
  const std::string text = file_text("/proc/self/stat");
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(text.substr(name_end + 1));
  return {std::istream_iterator<std::string>(rest), std::istream_iterator<std::string>()};
}

// When the system started, in Unix seconds.
std::optional<double> boot_time() {
  std::istringstream lines(file_text("/proc/stat"));
  std::string line;
  while (std::getline(lines, line)) {
    if (line.starts_with("btime ")) return std::stod(line.substr(6));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> count_fds() {
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc/self/fd", error);
  if (error) return std::nullopt;
  std::uint64_t count = 0;
  for (; entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    if (error) return std::nullopt;
    ++count;
  }
  return count - 1;  // the directory itself
}

}  // namespace

ProcessFigures process_figures() {
  constexpr std::size_t kFirst = 3, kUserTime = 14, kSystemTime = 15, kThreads = 20;
  constexpr std::size_t kStartTime = 22, kVirtual = 23, kResident = 24;
  ProcessFigures result;
  const std::vector<std::string> fields = stat_fields();
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  if (fields.size() > kResident - kFirst) {
    const auto field = [&](std::size_t number) { return std::stoull(fields[number - kFirst]); };
    result.cpu_seconds = static_cast<double>(field(kUserTime) + field(kSystemTime)) / ticks;
    result.threads = field(kThreads);
    result.virtual_bytes = field(kVirtual);
    result.resident_bytes = field(kResident) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    if (const auto boot = boot_time()) {
      result.start_time_seconds = *boot + static_cast<double>(field(kStartTime)) / ticks;
    }
  }
  result.open_fds = count_fds();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) result.max_fds = limit.rlim_cur;
  return result;
}

}  // namespace tandem::trace
