// SPDX-License-Identifier: Apache-2.0
//
// Reads the end of the file again each time, because cards append to it.
#include "apps/serve/card_reports.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace tandem::apps {
namespace {

constexpr std::streamoff kBytesRead = 256 << 10;
constexpr std::size_t kMostReports = 100;

std::string end_of_file(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  // A folder opens too, and says that it is endless.
  const std::streamoff begin = std::max<std::streamoff>(0, size - kBytesRead);
  file.seekg(begin);
  std::string text(static_cast<std::size_t>(std::min(size - begin, kBytesRead)), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

std::string card_reports_json() {
  using nlohmann::ordered_json;
  ordered_json reports = ordered_json::array();
  const char* path = std::getenv("TANDEM_CARD_REPORT");
  const std::string text = path == nullptr ? "" : end_of_file(path);
  for (std::size_t end = text.rfind('\n');
       end != std::string::npos && reports.size() < kMostReports;) {
    const std::size_t before = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    // The first line may be cut: it then is no object.
    ordered_json line = ordered_json::parse(text.substr(begin, end - begin), nullptr, false);
    if (line.is_object()) reports.push_back(std::move(line));
    end = before;
  }
  const ordered_json file = path == nullptr ? ordered_json(nullptr) : ordered_json(path);
  const ordered_json result = {{"file", file}, {"reports", std::move(reports)}};
  return result.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace tandem::apps
