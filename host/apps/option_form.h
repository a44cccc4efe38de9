// SPDX-License-Identifier: Apache-2.0
//
// How --help and manual pages show an option: the form of its value behind its name, and its range,
// its default and what it needs behind its description.
//
// Pure functions of a program's description; threads: any.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tandem::apps {

struct OptionForm {
  std::string value;  // "INT", "NUMBER", "SIZE", "FILE", "TEXT ...", "{f16,bf16}"; a switch: empty
  std::string facts;  // "1 to 64; default: 8"; may be empty
};

OptionForm form_of(const CLI::Option& option);

// The description, and the facts in brackets.
std::string description_of(const CLI::Option& option);

}  // namespace tandem::apps
