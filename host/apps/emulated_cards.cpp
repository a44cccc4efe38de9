// SPDX-License-Identifier: Apache-2.0
//
// Environment in, environment out.
#include "apps/emulated_cards.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "common/counted.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTree = "XILINX_XRT";
constexpr const char* kCards = "TANDEM_CARDS";
constexpr int kMostCards = 16;  // of the emulation

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == 0) return std::nullopt;
  return value;
}

bool is_tree_of_emulation(const fs::path& tree) {
  std::error_code none;
  return fs::exists(tree / "bin" / "tandem-card", none) &&
         fs::exists(tree / "lib" / "libxrt_core.so.2", none);
}

std::string find_own_tree() {
  std::error_code error;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  for (const fs::path& tree : {prefix / "share" / "tandem" / "xrt", prefix / "xrt"}) {
    if (is_tree_of_emulation(tree)) return tree.string();
  }
  return {};
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// The index of a card; none for another device.
std::optional<int> card_index(std::string_view id) {
  if (id == "xrt") return 0;
  constexpr std::string_view kPrefix = "xrt:";
  return id.starts_with(kPrefix) ? number(id.substr(kPrefix.size())) : std::nullopt;
}

std::string cards(std::int64_t count) { return counted(count, "card"); }

}  // namespace

CardEnvironment card_environment() {
  std::error_code none;
  CardEnvironment environment;
  environment.xilinx_xrt = variable(kTree);
  environment.tandem_cards = variable(kCards);
  environment.own_tree = find_own_tree();
  environment.is_emulation =
      environment.xilinx_xrt && is_tree_of_emulation(*environment.xilinx_xrt);
  environment.has_real_runtime =
      fs::exists("/opt/xilinx/xrt", none) || fs::exists("/sys/bus/pci/drivers/xocl", none);
  return environment;
}

std::map<std::string, std::string> card_variables(const std::vector<std::string>& ids,
                                                  const CardEnvironment& environment) {
  std::int64_t wanted = 0;
  std::string last;
  for (const std::string& id : ids) {
    const std::int64_t index = card_index(id).value_or(-1);
    if (index < wanted) continue;
    wanted = index + 1;
    last = id;
  }
  std::map<std::string, std::string> variables;
  if (wanted == 0) return variables;
  if (!environment.xilinx_xrt) {
    if (environment.own_tree.empty() || environment.has_real_runtime) return variables;
    variables[kTree] = environment.own_tree;
  } else if (!environment.is_emulation) {
    return variables;
  }
  if (wanted > kMostCards) {
    throw Error("attention", last + " asks for " + cards(wanted) + "; at most " +
                                 cards(kMostCards) +
                                 " are emulated, xrt:0 to xrt:" + std::to_string(kMostCards - 1));
  }
  if (!environment.tandem_cards) {
    variables[kCards] = std::to_string(wanted);
    return variables;
  }
  const std::optional<int> there = number(*environment.tandem_cards);
  if (there && *there < wanted) {
    throw Error("attention", last + " asks for " + cards(wanted) + ", but TANDEM_CARDS=" +
                                 *environment.tandem_cards + " gives " + cards(*there) +
                                 "; set TANDEM_CARDS=" + std::to_string(wanted) + " or unset it");
  }
  return variables;
}

void provide_cards(const std::vector<std::string>& ids,
                   const std::function<void(const std::string&)>& warn) {
  for (const auto& [name, value] : card_variables(ids, card_environment())) {
    if (name == kTree) {
      warn("XILINX_XRT is not set, so xrt ids are emulated cards (" + value +
           "); for real cards source the setup script of their runtime");
    }
    setenv(name.c_str(), value.c_str(), 1);
  }
}

std::string missing_cards_hint(const CardEnvironment& environment) {
  if (environment.xilinx_xrt) {
    if (!environment.is_emulation) return "XRT in " + *environment.xilinx_xrt + " finds no card";
    return "TANDEM_CARDS=" + environment.tandem_cards.value_or("") +
           " gives no emulated card; unset it";
  }
  if (environment.has_real_runtime || environment.own_tree.empty()) {
    return "XILINX_XRT is not set; source the setup script of your cards' runtime";
  }
  return "XILINX_XRT is not set; --attention xrt:0,xrt:1 starts two emulated cards, and `source " +
         environment.own_tree + "/setup.sh` lists them here";
}

}  // namespace tandem::apps
