// SPDX-License-Identifier: Apache-2.0
//
// Reads the environment; a value that makes no sense is reported and the default taken.
#include "emulation/xrt_shim/settings.h"

#include <dlfcn.h>

#include <charconv>
#include <cstdlib>

#include "emulation/xrt_shim/report.h"

namespace tandem::emulation {
namespace {

constexpr uint32_t kMaxCards = 16;

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

uint32_t read_num_cards() {
  const std::string text = variable("TANDEM_CARDS");
  if (text.empty()) return 1;
  uint32_t count = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (code == std::errc() && end == text.data() + text.size() && count <= kMaxCards) return count;
  report_warning("TANDEM_CARDS is '" + text + "', not a number from 0 to 16; one card is emulated");
  return 1;
}

Settings read_settings() {
  Settings result;
  result.num_cards = read_num_cards();
  if (!variable("TANDEM_CARD_PRESET").empty()) result.preset = variable("TANDEM_CARD_PRESET");
  result.card_executable = variable("TANDEM_CARD_EXECUTABLE");
  if (result.card_executable.empty())
    result.card_executable = shim_folder() + "/../bin/tandem-card";
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
