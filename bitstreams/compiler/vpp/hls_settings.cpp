// SPDX-License-Identifier: Apache-2.0
//
// A script is read word by word, as Tcl without substitution; commands end at lines and semicolons.
#include "bitstreams/compiler/vpp/hls_settings.h"

#include <map>
#include <sstream>
#include <vector>

#include "common/error.h"

namespace tandem::vpp {
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Error("v++", where + ": " + what);
}

bool is_true(const std::string& value) {
  return value.empty() || value == "1" || value == "true" || value == "yes" || value == "on";
}

bool apply(const std::string& name, const std::string& value, const std::string& where,
           HlsSettings& result) {
  if (name == "s_axilite_mailbox") {
    static const std::map<std::string, Mailbox> kModes = {{"none", Mailbox::kNone},
                                                          {"in", Mailbox::kIn},
                                                          {"out", Mailbox::kOut},
                                                          {"both", Mailbox::kBoth}};
    const auto mode = kModes.find(value);
    if (mode == kModes.end()) {
      fail(where, "s_axilite_mailbox is none, in, out or both, not '" + value + "'");
    }
    result.mailbox = mode->second;
  } else if (name == "s_axilite_auto_restart_counter") {
    if (value != "0" && value != "1") {
      fail(where, "s_axilite_auto_restart_counter is 0 or 1, not '" + value + "'");
    }
    result.restart_counters = value == "1" ? 1 : 0;
  } else if (name == "s_axilite_sw_reset") {
    result.software_reset = is_true(value);
  } else if (name == "m_axi_auto_max_ports") {
    result.separate_ports = is_true(value);
  } else {
    return false;
  }
  return true;
}

// The words of one command, braces and quotes taken off.
std::vector<std::string> words_of(const std::string& command) {
  std::istringstream in(command);
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    while (!word.empty() && (word.front() == '{' || word.front() == '"')) word.erase(0, 1);
    while (!word.empty() && (word.back() == '}' || word.back() == '"')) word.pop_back();
    words.push_back(word);
  }
  return words;
}

void read_command(const std::string& command, const std::string& where, HlsSettings& result) {
  const std::vector<std::string> words = words_of(command);
  if (words.empty() || words[0] != "config_interface") return;
  for (size_t index = 1; index < words.size(); ++index) {
    const std::string& word = words[index];
    if (word.size() < 2 || word[0] != '-') continue;
    const size_t equals = word.find('=');
    const std::string name = word.substr(1, equals == std::string::npos ? equals : equals - 1);
    std::string value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (index + 1 < words.size() && words[index + 1][0] != '-') {
      value = words[index + 1];
    }
    apply(name, value, where, result);
  }
}

}  // namespace

void read_hls_script(const std::string& text, const std::string& file_name, HlsSettings& result) {
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    std::istringstream commands(line);
    for (std::string command; std::getline(commands, command, ';');) {
      read_command(command, file_name + ":" + std::to_string(number), result);
    }
  }
}

bool read_hls_key(const std::string& key, const std::string& value, const std::string& where,
                  HlsSettings& result) {
  const std::string prefix = "syn.interface.";
  return key.starts_with(prefix) && apply(key.substr(prefix.size()), value, where, result);
}

}  // namespace tandem::vpp
