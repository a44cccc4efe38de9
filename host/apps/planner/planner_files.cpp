// SPDX-License-Identifier: Apache-2.0
//
// A folder can be opened and then reads as an empty file, so folders are refused first.
#include "apps/planner/planner_files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "apps/whole_file.h"

namespace tandem::apps {

std::ifstream opened_input(const std::string& module, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(module, "cannot read '" + path + "': " + std::strerror(errno));
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error(module, "cannot read '" + path + "': it is a folder; name a file");
  }
  return file;
}

void write_whole(const std::string& module, const std::string& path, const std::string& text) {
  WholeFile file(module, regular_target(module, path));
  file.write(text);
  file.keep();
}

nlohmann::json us_json(std::int64_t time_ps) {
  constexpr std::int64_t kPsPerUs = 1'000'000;
  if (time_ps % kPsPerUs == 0) return time_ps / kPsPerUs;
  return static_cast<double>(time_ps) / static_cast<double>(kPsPerUs);
}

}  // namespace tandem::apps
