// SPDX-License-Identifier: Apache-2.0
//
// The options that v++ accepts: names, short letters, whether a value follows, and whether
// emulation uses them.
//
// Sections ("connectivity.", "package." and so on) are known as a whole, because the vendor's tools
// add keys to them with every version. Threads: any (constant data). Source: the vendor's user
// guide.
#pragma once

#include <string>
#include <string_view>

namespace tandem::vpp {

enum class Use { kUsed, kWithoutEffect };

struct Option {
  std::string_view name;  // long name without dashes
  char letter;            // 0: none
  bool takes_value;
  Use use;
};

// The option called `name`; dashes and underscores are equal. Null when there is none.
const Option* find_option(std::string_view name);
// The option with this letter; null when there is none.
const Option* find_letter(char letter);
// Whether `name` is "section.key" of a known section.
bool in_known_section(std::string_view name);
// Whether `name` is "section.key" of a key that is written without a value.
bool is_switch(std::string_view name);
// Whether a configuration file may have the section `[section]`.
bool is_known_section(std::string_view section);
// " (did you mean 'platform'?)" when a known name is like `name`, else nothing.
std::string option_suggestion(std::string_view name);
std::string section_suggestion(std::string_view section);
// The text of --help.
std::string usage();

}  // namespace tandem::vpp
