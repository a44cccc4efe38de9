// SPDX-License-Identifier: Apache-2.0
//
// Reads the environment. A value without meaning is reported, and the default holds.
#include "emulation/xrt_shim/settings.h"

#include <dlfcn.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "bitstreams/xclbin/emconfig.h"
#include "emulation/xrt_shim/report.h"

namespace tandem::emulation {
namespace {

constexpr uint32_t kMaxCards = xclbin::kMaxEmulatedCards;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string shim_folder() {
  Dl_info info{};
  const bool found =
      dladdr(reinterpret_cast<void*>(&settings), &info) != 0 && info.dli_fname != nullptr;
  return found ? folder_of(info.dli_fname) : ".";
}

// TANDEM_CARDS, when it is set to a valid number.
std::optional<uint32_t> read_num_cards() {
  const std::string text = variable("TANDEM_CARDS");
  if (text.empty()) return std::nullopt;
  uint32_t count = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (code == std::errc() && end == text.data() + text.size() && count <= kMaxCards) return count;
  report_warning("TANDEM_CARDS is '" + text + "', not a number from 0 to 16; it is ignored");
  return std::nullopt;
}

// The emconfig.json that applies; empty: none.
std::string find_emconfig() {
  namespace fs = std::filesystem;
  std::error_code code;
  const std::string named = variable("EMCONFIG_PATH");
  if (!named.empty()) {
    const std::string path = fs::is_directory(named, code) ? named + "/emconfig.json" : named;
    if (fs::exists(path, code)) return path;
    report_warning("EMCONFIG_PATH is '" + named + "', which has no emconfig.json; it is ignored");
  }
  const fs::path beside = fs::read_symlink("/proc/self/exe", code).parent_path() / "emconfig.json";
  if (fs::exists(beside, code)) return beside.string();
  return fs::exists("emconfig.json", code) ? "emconfig.json" : "";
}

std::vector<std::string> read_emconfig_platforms() {
  const std::string path = find_emconfig();
  std::vector<std::string> names;
  if (path.empty()) return names;
  try {
    for (const xclbin::Platform* platform : xclbin::read_emconfig(path)) {
      names.push_back(platform->vbnv);
    }
  } catch (const std::exception& error) {
    report_warning(std::string(error.what()) + "; the file is ignored");
  }
  return names;
}

void read_cards(Settings& result) {
  xclbin::search_platforms_in(std::getenv("PLATFORM_REPO_PATHS"));
  std::vector<std::string> names = read_emconfig_platforms();
  const std::string preset = variable("TANDEM_CARD_PRESET");
  result.platform_chosen = !names.empty() || !preset.empty();
  if (names.empty()) names.push_back(xclbin::kUndecidedPlatform);
  result.num_cards = read_num_cards().value_or(static_cast<uint32_t>(names.size()));
  names.resize(result.num_cards, names.back());
  if (!preset.empty()) names.assign(names.size(), preset);
  result.platforms = std::move(names);
}

Settings read_settings() {
  Settings result;
  read_cards(result);
  result.card_executable = variable("TANDEM_CARD_EXECUTABLE");
  if (result.card_executable.empty())
    result.card_executable = shim_folder() + "/../bin/tandem-card";
  result.scope = variable("TANDEM_CARD_SCOPE");
  result.statistics_file = variable("TANDEM_CARD_STATISTICS");
  result.software_emulation = variable("XCL_EMULATION_MODE") == "sw_emu";
  return result;
}

}  // namespace

const Settings& settings() {
  static const Settings* const value = new Settings(read_settings());
  return *value;
}

}  // namespace tandem::emulation
