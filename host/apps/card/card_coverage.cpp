// SPDX-License-Identifier: Apache-2.0
//
// GCOV_PREFIX is the variable of libgcov that moves its files.
#include "apps/card/card_coverage.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "common/error.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> counts_below(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& each : fs::recursive_directory_iterator(folder)) {
    if (each.path().extension() == ".gcda") found.push_back(each.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

void count_coverage(CommandOnCards& command, const std::string& folder) {
  std::error_code failed;
  const fs::path path = fs::absolute(folder).lexically_normal();
  fs::create_directories(path, failed);
  if (failed) {
    throw Error("card", fmt::format("--coverage: cannot make the folder '{}': {}", folder,
                                    failed.message()));
  }
  command.environment["GCOV_PREFIX"] = path.string();
  command.environment["GCOV_PREFIX_STRIP"] = "0";
}

std::string gather_coverage(const std::string& folder) {
  const fs::path root = fs::absolute(folder).lexically_normal();
  const std::vector<fs::path> counts = counts_below(root);
  if (counts.empty()) {
    throw Error("card",
                "--coverage: no kernel that ran counts its lines; compile it with "
                "TANDEM_KERNEL_COVERAGE=on v++ -c, and link it again");
  }
  std::string text;
  for (const fs::path& each : counts) {
    fs::path notes = each;
    notes.replace_extension(".gcno");
    const fs::path original = fs::path("/") / fs::relative(notes, root);
    std::error_code failed;
    if (fs::exists(original, failed)) {
      fs::copy_file(original, notes, fs::copy_options::overwrite_existing, failed);
    }
    if (failed || !fs::exists(notes)) {
      throw Error("card", fmt::format("--coverage: '{}', which v++ -c wrote, cannot be copied to "
                                      "'{}'; gcov needs it",
                                      original.string(), notes.string()));
    }
    text += fmt::format("tandem: coverage: gcov '{}'\n", each.string());
  }
  return text;
}

}  // namespace tandem::apps
