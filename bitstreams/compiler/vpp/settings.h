// SPDX-License-Identifier: Apache-2.0
//
// The settings of v++ as text, not yet interpreted: those of the command line and of the
// configuration files, in one list.
//
// A setting's key is the long option's name without dashes ("platform", "connectivity.nk"); a line
// "nk=..." below "[connectivity]" of a configuration file has the same key. The command line comes
// first, then the files, each in order. Of a setting that may occur once, the first one counts.
// An unknown option of the command line gives a warning. An unknown section or key of a file is an
// Error, because a typing error would change the design; options.cpp checks the keys of
// [connectivity]. Errors: Error("v++", ...). Threads: any. Source: the vendor's user guide of the
// compiler command (general, advanced and packaging options).
#pragma once

#include <string>
#include <vector>

namespace tandem::vpp {

struct Setting {
  std::string key;
  std::string value;
  std::string where;  // "--connectivity.nk" or "link.cfg:3", for messages
  bool from_file = false;
};

struct Settings {
  std::vector<Setting> settings;
  std::vector<std::string> inputs;        // file names, in order
  std::vector<std::string> warnings;      // unknown options
  std::vector<std::string> config_files;  // the configuration files that were read
};

// Without blanks and line ends around it.
std::string trim(const std::string& text);

// The parts of a value between any of the separators; empty parts are left out.
std::vector<std::string> split(const std::string& text, const std::string& separators);

// `arguments`: without the program's name.
Settings read_settings(const std::vector<std::string>& arguments);

// Appends the settings of a configuration file's text; `file_name` for messages.
void read_configuration(const std::string& text, const std::string& file_name, Settings& result);

}  // namespace tandem::vpp
