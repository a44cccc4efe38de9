// SPDX-License-Identifier: Apache-2.0
//
// Names apply from left to right; `none` clears the defaults and all names before it.
#include "emulation/protocol/checks.h"

#include <sstream>
#include <stdexcept>

namespace tandem::emulation {
namespace {

constexpr uint32_t kUsual = kCheckMemory | kCheckRace | kCheckSync;

struct NamedChecks {
  const char* name;
  uint32_t checks;
};
constexpr NamedChecks kNamedChecks[] = {
    {"depths", kCheckDepths},
    {"memory", kCheckMemory},
    {"race", kCheckMemory | kCheckRace},
    {"sync", kCheckMemory | kCheckSync},
    {"strict", kUsual | kCheckDepths | kCheckStrict},
    {"all", kUsual | kCheckDepths},
};

}  // namespace

uint32_t parse_checks(const std::string& text, bool has_report) {
  uint32_t checks = has_report ? kUsual | kCheckFirstDepths : 0;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    bool known = name == "none";
    if (known) checks = 0;
    std::string all;
    for (const NamedChecks& named : kNamedChecks) {
      all += std::string(named.name) + ", ";
      if (name != named.name) continue;
      checks |= named.checks;
      known = true;
    }
    if (!known) {
      throw std::runtime_error("TANDEM_CHECKS names '" + name + "'; the checks are: " + all +
                               "none");
    }
  }
  return checks;
}

}  // namespace tandem::emulation
