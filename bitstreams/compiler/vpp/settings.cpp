// SPDX-License-Identifier: Apache-2.0
//
// Reads words and lines; what an option means is decided in options.cpp.
#include "bitstreams/compiler/vpp/settings.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "bitstreams/compiler/vpp/option_table.h"
#include "common/error.h"

namespace tandem::vpp {
namespace {

// Without the quotes that enclose all of it.
std::string unquote(const std::string& text) {
  const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                      text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

bool is_input_name(const std::string& word) {
  static constexpr std::array<std::string_view, 12> kEndings = {
      ".xo", ".cpp", ".cc", ".cxx", ".c", ".cl", ".xclbin", ".xsa", ".a", ".o", ".h", ".hpp"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return word.ends_with(ending); });
}

class CommandLineReader {
 public:
  explicit CommandLineReader(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  Settings run() {
    while (at_ < arguments_.size()) read_word(arguments_[at_++]);
    for (const std::string& path : result_.config_files) read_file(path);
    return std::move(result_);
  }

 private:
  void read_word(const std::string& word) {
    if (word.size() < 2 || word[0] != '-') {
      if (!word.empty()) result_.inputs.push_back(word);
      return;
    }
    const size_t begin = word[1] == '-' ? 2 : 1;
    const size_t equals = word.find('=');
    const std::string name =
        word.substr(begin, equals == std::string::npos ? equals : equals - begin);
    const bool known = find_option(name) != nullptr || in_known_section(name);
    if (begin == 2 || (known && name.size() > 1)) {
      read_long(word, name, equals, known);
    } else {
      read_short(word);
    }
  }

  void read_long(const std::string& word, const std::string& name, size_t equals, bool known) {
    const Option* option = find_option(name);
    if (!known) return skip_unknown(word, equals != std::string::npos);
    std::string value;
    if (equals != std::string::npos) {
      value = unquote(word.substr(equals + 1));
    } else if (option == nullptr ? !is_switch(name) : option->takes_value) {
      value = next_value("--" + name);
    }
    add(option == nullptr ? name : std::string(option->name), value, "--" + name);
  }

  void read_short(const std::string& word) {
    const Option* option = find_letter(word[1]);
    if (option == nullptr || (!option->takes_value && word.size() > 2)) {
      return skip_unknown(word, word.find('=') != std::string::npos);
    }
    const std::string spelling = word.substr(0, 2);
    std::string value;
    if (option->takes_value) {
      value = word.size() > 2 ? unquote(word.substr(word[2] == '=' ? 3 : 2)) : next_value(spelling);
    }
    add(std::string(option->name), value, spelling);
  }

  std::string next_value(const std::string& spelling) {
    if (at_ >= arguments_.size()) throw Error("v++", "option " + spelling + " needs a value");
    return unquote(arguments_[at_++]);
  }

  // The message for an unknown option includes the next word when that can only be its value.
  void skip_unknown(const std::string& word, bool has_value) {
    const size_t begin = std::min(word.find_first_not_of('-'), word.size());
    std::string text = "option " + word + " is unknown and has no effect" +
                       option_suggestion(word.substr(begin, word.find('=') - begin));
    if (!has_value && at_ < arguments_.size() && !arguments_[at_].empty() &&
        arguments_[at_][0] != '-' && !is_input_name(arguments_[at_])) {
      text += " (nor has '" + arguments_[at_++] + "' behind it)";
    }
    result_.warnings.push_back(text);
  }

  void add(const std::string& key, const std::string& value, const std::string& where) {
    if (key != "config") {
      result_.settings.push_back({key, value, where});
      return;
    }
    result_.config_files.push_back(value);
  }

  void read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) throw Error("v++", "--config: cannot read the configuration file " + path);
    read_configuration(text.str(), path, result_);
  }

  const std::vector<std::string>& arguments_;
  size_t at_ = 0;
  Settings result_;
};

// A '#' starts a comment at the start of the line or after a blank; elsewhere it is part of the
// value.
std::string without_comment(const std::string& line) {
  for (size_t at = line.find('#'); at != std::string::npos; at = line.find('#', at + 1)) {
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return line.substr(0, at);
  }
  return line;
}

class ConfigurationReader {
 public:
  ConfigurationReader(const std::string& file_name, Settings& result)
      : file_name_(file_name), result_(result) {}

  void run(const std::string& text) {
    std::istringstream in(text);
    for (std::string raw; std::getline(in, raw);) {
      ++line_;
      const std::string line = trim(without_comment(raw));
      if (line.empty()) continue;
      if (line.front() == '[') {
        open_section(line);
      } else if (line.starts_with("--")) {
        read_setting(trim(line.substr(2)), "");
      } else {
        read_setting(line, section_);
      }
    }
  }

 private:
  std::string where() const { return file_name_ + ":" + std::to_string(line_); }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("v++", where() + ": " + what);
  }

  void open_section(const std::string& line) {
    if (line.back() != ']') fail("'" + line + "' lacks its closing bracket");
    section_ = trim(line.substr(1, line.size() - 2));
    if (!is_known_section(section_)) {
      fail("section [" + section_ + "] is unknown" + section_suggestion(section_));
    }
  }

  void read_setting(const std::string& line, const std::string& section) {
    const size_t equals = line.find('=');
    const std::string key = trim(line.substr(0, equals));
    const std::string value =
        equals == std::string::npos ? "" : unquote(trim(line.substr(equals + 1)));
    const std::string name = section.empty() ? key : section + "." + key;
    if (section == "connectivity" || name.starts_with("connectivity.")) {
      if (equals == std::string::npos) fail("'" + line + "' in [connectivity] is not 'key=value'");
    }
    const Option* option = find_option(name);
    if (option == nullptr && !in_known_section(name)) {
      fail("key '" + key + "' is unknown" + option_suggestion(name));
    }
    result_.settings.push_back(
        {option == nullptr ? name : std::string(option->name), value, where(), true});
  }

  std::string file_name_;
  Settings& result_;
  std::string section_;
  int line_ = 0;
};

}  // namespace

std::string trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string> split(const std::string& text, const std::string& separators) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void read_configuration(const std::string& text, const std::string& file_name, Settings& result) {
  ConfigurationReader(file_name, result).run(text);
}

Settings read_settings(const std::vector<std::string>& arguments) {
  return CommandLineReader(arguments).run();
}

}  // namespace tandem::vpp
