// SPDX-License-Identifier: Apache-2.0
//
// The subset of a Vitis linker configuration that an emulated design needs: [connectivity] with nk=
// and sp= lines.
//
// slr= lines and other sections concern placement and timing and are skipped; stream_connect= is an
// error, because a design whose links were dropped would not be the design.
#include <algorithm>
#include <charconv>
#include <sstream>

#include "bitstreams/recipe.h"
#include "common/error.h"

namespace tandem::xclbin {
namespace {

std::string trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

class ConnectivityReader {
 public:
  ConnectivityReader(const std::string& file_name, const Platform& platform)
      : file_name_(file_name), platform_(platform) {}

  Connectivity run(const std::string& text) {
    std::istringstream in(text);
    bool relevant = false;
    for (std::string raw; std::getline(in, raw);) {
      ++line_;
      const std::string line = trim(raw.substr(0, raw.find('#')));
      if (line.empty()) continue;
      if (line.front() == '[') {
        relevant = line == "[connectivity]";
      } else if (relevant) {
        read_line(line);
      }
    }
    return result_;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("xclbin", file_name_ + ":" + std::to_string(line_) + ": " + what);
  }

  void read_line(const std::string& line) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos) fail("'" + line + "' is not 'key=value'");
    const std::string key = trim(line.substr(0, equals));
    const std::string value = trim(line.substr(equals + 1));
    if (key == "nk") {
      read_units(value);
    } else if (key == "sp") {
      read_connection(value);
    } else if (key == "stream_connect" || key == "sc") {
      fail("links between kernels (" + key + ") are not emulated");
    } else if (key != "slr") {
      fail("key '" + key + "' is unknown; nk, sp and slr are possible");
    }
  }

  uint32_t number(const std::string& text) const {
    uint32_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size())
      fail("'" + text + "' is not a number");
    return value;
  }

  // kernel:count[:name.name or name,name]
  void read_units(const std::string& value) {
    std::istringstream in(value);
    std::string kernel, count_text, names;
    std::getline(in, kernel, ':');
    std::getline(in, count_text, ':');
    std::getline(in, names);
    const uint32_t count = number(count_text);
    if (kernel.empty() || count == 0 || count > 126)
      fail("nk: want kernel:count with 1 to 126 units");
    UnitCount units{kernel, {}};
    std::replace(names.begin(), names.end(), ',', '.');
    std::istringstream name_stream(names);
    for (std::string name; std::getline(name_stream, name, '.');) units.unit_names.push_back(name);
    for (uint32_t unit = 1; names.empty() && unit <= count; ++unit) {
      units.unit_names.push_back(kernel + "_" + std::to_string(unit));
    }
    if (units.unit_names.size() != count) {
      fail("nk: " + std::to_string(count) + " units but " +
           std::to_string(units.unit_names.size()) + " names");
    }
    result_.units.push_back(units);
  }

  uint32_t bank(const std::string& tag) const {
    for (uint32_t index = 0; index < platform_.banks.size(); ++index) {
      if (platform_.banks[index].tag == tag) return index;
    }
    fail("sp: platform " + platform_.name + " has no memory " + tag);
  }

  // unit.argument:HBM[3] or unit.argument:HBM[0:3]
  void read_connection(const std::string& value) {
    const size_t dot = value.find('.');
    const size_t colon = value.find(':');
    if (dot == std::string::npos || colon == std::string::npos || dot > colon) {
      fail("sp: want unit.argument:MEMORY[bank]");
    }
    BankConnection connection{value.substr(0, dot), value.substr(dot + 1, colon - dot - 1), 0, 0};
    const std::string memory = value.substr(colon + 1);
    const size_t bracket = memory.find('[');
    const size_t range = memory.find(':');
    if (bracket == std::string::npos || memory.back() != ']') fail("sp: want a memory as HBM[0]");
    if (range == std::string::npos) {
      connection.first_bank = connection.last_bank = bank(memory);
    } else {
      const std::string family = memory.substr(0, bracket);
      const std::string first = memory.substr(bracket + 1, range - bracket - 1);
      connection.first_bank = bank(family + "[" + first + "]");
      connection.last_bank = bank(family + "[" + memory.substr(range + 1));
      if (connection.first_bank > connection.last_bank) fail("sp: the bank range runs backwards");
    }
    result_.connections.push_back(connection);
  }

  std::string file_name_;
  const Platform& platform_;
  int line_ = 0;
  Connectivity result_;
};

}  // namespace

Connectivity parse_connectivity(const std::string& text, const std::string& file_name,
                                const Platform& platform) {
  return ConnectivityReader(file_name, platform).run(text);
}

}  // namespace tandem::xclbin
