// SPDX-License-Identifier: Apache-2.0
//
// The table of options, and its text for --help.
#include "bitstreams/compiler/vpp/option_table.h"

#include <algorithm>
#include <array>
#include <vector>

#include "common/suggestion.h"

namespace tandem::vpp {
namespace {

constexpr Use kUsed = Use::kUsed;
constexpr Use kIdle = Use::kWithoutEffect;

constexpr std::array kOptions = {
    Option{"compile", 'c', false, kUsed},
    Option{"link", 'l', false, kUsed},
    Option{"package", 'p', false, kUsed},
    Option{"target", 't', true, kUsed},
    Option{"platform", 'f', true, kUsed},
    Option{"kernel", 'k', true, kUsed},
    Option{"output", 'o', true, kUsed},
    Option{"include", 'I', true, kUsed},
    Option{"define", 'D', true, kUsed},
    Option{"config", 0, true, kUsed},
    Option{"debug", 'g', false, kUsed},
    Option{"optimize", 'O', true, kUsed},
    Option{"save-temps", 's', false, kUsed},
    Option{"temp_dir", 0, true, kUsed},
    Option{"log_dir", 0, true, kUsed},
    Option{"kernel_frequency", 0, true, kUsed},
    Option{"input_files", 0, true, kUsed},
    Option{"hls_include", 0, true, kUsed},
    Option{"depfile", 0, true, kUsed},
    Option{"version", 'v', false, kUsed},
    Option{"help", 'h', false, kUsed},
    Option{"report_dir", 0, true, kIdle},
    Option{"report_level", 'R', true, kIdle},
    Option{"jobs", 'j', true, kIdle},
    Option{"lsf", 0, true, kIdle},
    Option{"dk", 0, true, kIdle},
    Option{"xp", 0, true, kIdle},
    Option{"profile_kernel", 0, true, kIdle},
    Option{"remote_ip_cache", 0, true, kIdle},
    Option{"no_ip_cache", 0, false, kIdle},
    Option{"messageDb", 0, true, kIdle},
    Option{"message-rules", 0, true, kIdle},
    Option{"export_script", 0, false, kIdle},
    Option{"custom_script", 0, true, kIdle},
    Option{"export_archive", 0, false, kIdle},
    Option{"from_step", 0, true, kIdle},
    Option{"to_step", 0, true, kIdle},
    Option{"list_steps", 0, false, kIdle},
    Option{"interactive", 0, true, kIdle},
    Option{"reuse_impl", 0, true, kIdle},
    Option{"reuse_bit", 0, true, kIdle},
    Option{"user_board_repo_paths", 0, true, kIdle},
    Option{"user_ip_repo_paths", 0, true, kIdle},
    Option{"trace_memory", 0, true, kIdle},
    Option{"sim_lib", 0, true, kIdle},
    Option{"clock-tolerance", 0, true, kIdle},
    Option{"mode", 0, true, kIdle},
    Option{"part", 0, true, kIdle},
    Option{"freqhz", 0, true, kIdle},
    Option{"work_dir", 0, true, kIdle},
    Option{"quiet", 0, false, kIdle},
};

constexpr std::array<std::string_view, 13> kSections = {
    "connectivity", "advanced", "vivado", "hls",      "clock",         "profile", "debug",
    "package",      "linkhook", "power",  "analysis", "configuration", "aie"};

// The keys of sections that are switches on the command line: no value follows.
constexpr std::array<std::string_view, 4> kSwitches = {
    "package.ps_on_x86", "package.no_image", "package.defer_aie_run", "package.enable_aie_debug"};

char plain(char c) { return c == '-' ? '_' : c; }

bool same_name(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char a, char b) { return plain(a) == plain(b); });
}

}  // namespace

std::string option_suggestion(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot != std::string_view::npos) return section_suggestion(name.substr(0, dot));
  std::vector<std::string_view> names;
  for (const Option& option : kOptions) names.push_back(option.name);
  return suggestion(name, names);
}

std::string section_suggestion(std::string_view section) { return suggestion(section, kSections); }

const Option* find_option(std::string_view name) {
  for (const Option& option : kOptions) {
    if (same_name(option.name, name)) return &option;
  }
  return nullptr;
}

const Option* find_letter(char letter) {
  for (const Option& option : kOptions) {
    if (option.letter != 0 && option.letter == letter) return &option;
  }
  return nullptr;
}

bool is_switch(std::string_view name) {
  return std::any_of(kSwitches.begin(), kSwitches.end(),
                     [&](std::string_view each) { return same_name(each, name); });
}

bool is_known_section(std::string_view section) {
  return std::find(kSections.begin(), kSections.end(), section) != kSections.end();
}

bool in_known_section(std::string_view name) {
  const size_t dot = name.find('.');
  return dot != std::string_view::npos && dot + 1 < name.size() &&
         is_known_section(name.substr(0, dot));
}

std::string usage() {
  std::string text =
      "Builds kernels and bitstreams for emulated cards, with the options of the vendor's v++.\n"
      "  v++ -c -k KERNEL -t sw_emu --platform P -o KERNEL.xo SOURCE...\n"
      "     (kernels are the same for all platforms: -c may go without --platform)\n"
      "  v++ -l -t sw_emu --platform P --config LINK.cfg -o NAME.xclbin KERNEL.xo...\n"
      "  v++ -p -t sw_emu --platform P -o NAME.xclbin LINKED.xclbin\n"
      "Options:\n";
  for (const Option& option : kOptions) {
    text += "  --" + std::string(option.name) + (option.takes_value ? " VALUE" : "");
    if (option.letter != 0) text += std::string(", -") + option.letter;
    text += option.use == kIdle ? "   (accepted, without effect in emulation)\n" : "\n";
  }
  text += "Sections of options and configuration files (--SECTION.KEY VALUE):";
  for (const std::string_view section : kSections) text += " " + std::string(section);
  return text + "\n";
}

}  // namespace tandem::vpp
