// SPDX-License-Identifier: Apache-2.0
//
// Units first, as everything else names them; then banks and links in order.
#include "bitstreams/compiler/vpp/connectivity.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "common/error.h"
#include "common/lower_case.h"

namespace tandem::vpp {
namespace {

constexpr uint32_t kMaxUnits = 126;

// Parts between separators, trimmed; brackets keep their contents together.
std::vector<std::string> split_bracketed(const std::string& text, const std::string& separators) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : text) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (depth == 0 && separators.find(c) != std::string::npos) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (std::string& part : parts) part = trim(part);
  return parts;
}

template <typename List>
std::string join(const List& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

class Connector {
 public:
  Connector(const std::vector<Setting>& settings, xclbin::Design& design)
      : settings_(settings), design_(design) {}

  std::vector<std::string> run() {
    for (const Setting& setting : settings_) {
      setting_ = &setting;
      if (setting.key == "nk") read_units(setting.value);
    }
    name_remaining_units();
    for (const Setting& setting : settings_) {
      setting_ = &setting;
      read(setting);
    }
    warn_of_open_streams();
    return std::move(warnings_);
  }

 private:
  struct End {
    std::string unit;
    const xclbin::Kernel* kernel;
    std::string port;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw Error("v++",
                setting_->where + ": " + setting_->key + "=" + setting_->value + ": " + what);
  }

  void read(const Setting& setting) {
    if (setting.key == "sp") {
      read_bank(setting.value);
    } else if (setting.key == "sc" || setting.key == "stream_connect") {
      read_link(setting.value);
    } else if (setting.key == "slr") {
      find_unit(split_bracketed(setting.value, ":")[0]);
    }
  }

  uint32_t number(const std::string& text, const std::string& what) const {
    uint32_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size()) {
      fail(what + " '" + text + "' is not a number");
    }
    return value;
  }

  void read_units(const std::string& value) {
    const std::vector<std::string> parts = split_bracketed(value, ":");
    if (parts.size() < 2 || parts.size() > 3)
      fail("write kernel:count or kernel:count:name.name...");
    xclbin::Kernel& kernel = find_kernel(parts[0]);
    const uint32_t count = number(parts[1], "the count");
    if (count == 0 || count > kMaxUnits) {
      fail("the count of units is 1 to " + std::to_string(kMaxUnits));
    }
    std::vector<std::string> names;
    if (parts.size() == 3) names = split_bracketed(parts[2], ".,");
    for (uint32_t unit = 1; parts.size() < 3 && unit <= count; ++unit) {
      names.push_back(kernel.name + "_" + std::to_string(unit));
    }
    if (names.size() != count) {
      fail(std::to_string(count) + " units but " + std::to_string(names.size()) + " names");
    }
    if (!kernel.unit_names.empty() && kernel.unit_names != names) {
      fail("kernel '" + kernel.name + "' has units already: " + join(kernel.unit_names));
    }
    kernel.unit_names = names;
    check_names(kernel);
  }

  void check_names(const xclbin::Kernel& kernel) const {
    std::map<std::string, std::string> owners;
    for (const xclbin::Kernel& other : design_.kernels) {
      for (const std::string& name : other.unit_names) {
        if (name.empty()) fail("a unit's name is empty");
        const auto [owner, is_new] = owners.emplace(name, other.name);
        if (!is_new) {
          fail("two units are called '" + name + "', of kernels " + owner->second + " and " +
               (other.name == kernel.name ? kernel.name : other.name));
        }
      }
    }
  }

  void name_remaining_units() {
    for (xclbin::Kernel& kernel : design_.kernels) {
      if (kernel.unit_names.empty()) kernel.unit_names = {kernel.name + "_1"};
    }
  }

  xclbin::Kernel& find_kernel(const std::string& name) const {
    std::vector<std::string> names;
    for (xclbin::Kernel& kernel : design_.kernels) {
      if (kernel.name == name) return kernel;
      names.push_back(kernel.name);
    }
    fail("no kernel '" + name + "' is linked; there are: " + join(names));
  }

  const xclbin::Kernel& find_unit(const std::string& name) const {
    std::vector<std::string> names;
    for (const xclbin::Kernel& kernel : design_.kernels) {
      for (const std::string& unit : kernel.unit_names) {
        if (unit == name) return kernel;
        names.push_back(unit);
      }
    }
    fail("no compute unit is called '" + name + "'; there are: " + join(names));
  }

  End find_end(const std::string& text) const {
    const size_t dot = text.find('.');
    if (dot == std::string::npos) fail("'" + text + "' is not unit.argument");
    const std::string unit = trim(text.substr(0, dot));
    return {unit, &find_unit(unit), trim(text.substr(dot + 1))};
  }

  void read_bank(const std::string& value) {
    const std::vector<std::string> parts = split_bracketed(value, ":");
    if (parts.size() != 2 || parts[1].empty()) fail("write unit.argument:MEMORY[bank]");
    const End end = find_end(parts[0]);
    const auto [first, last] = find_banks(parts[1]);
    for (const std::string& name : memory_arguments(end)) {
      const std::string place = end.unit + "." + name;
      if (setting_->from_file && fixed_.count(place) > 0) continue;
      if (!setting_->from_file) fixed_.insert(place);
      auto& list = design_.connections;
      list.erase(std::remove_if(list.begin(), list.end(),
                                [&](const xclbin::BankConnection& known) {
                                  return known.unit == end.unit && known.argument == name;
                                }),
                 list.end());
      list.push_back({end.unit, name, first, last});
    }
  }

  // The argument itself, or all arguments of the bundle m_axi_<bundle>.
  std::vector<std::string> memory_arguments(const End& end) const {
    std::vector<std::string> found;
    std::set<std::string> possible;
    for (const xclbin::Argument& argument : end.kernel->arguments) {
      if (argument.name == end.port && argument.kind != 1) {
        fail("argument '" + end.port + "' of kernel " + end.kernel->name + " is " +
             (argument.kind == 4 ? "a stream" : "no pointer to global memory") +
             "; only pointers are connected to banks");
      }
      if (argument.kind != 1) continue;
      const std::string port = "m_axi_" + lower_case(argument.bundle);
      possible.insert(argument.name);
      if (!argument.bundle.empty()) possible.insert(port);
      if (argument.name == end.port) return {argument.name};
      if (lower_case(end.port) == port) found.push_back(argument.name);
    }
    if (found.empty()) {
      fail("kernel " + end.kernel->name + " has no argument or m_axi port '" + end.port +
           "'; there are: " + join(possible));
    }
    return found;
  }

  std::pair<uint32_t, uint32_t> find_banks(const std::string& memory) const {
    const size_t bracket = memory.find('[');
    const size_t close = memory.find(']');
    if (bracket == std::string::npos) {
      if (const auto index = find_tag(memory)) return {*index, *index};
      if (memory.starts_with("bank")) return one(find_bank("DDR[" + memory.substr(4) + "]"));
      return one(find_bank(memory + "[0]"));
    }
    if (close == std::string::npos || close < bracket)
      fail("write the memory as HBM[0] or HBM[0:3]");
    const std::string family = memory.substr(0, bracket);
    const std::string index = trim(memory.substr(bracket + 1, close - bracket - 1));
    const size_t colon = index.find(':');
    if (colon == std::string::npos) return one(find_bank(family + "[" + index + "]"));
    const uint32_t first = find_bank(family + "[" + trim(index.substr(0, colon)) + "]");
    const uint32_t last = find_bank(family + "[" + trim(index.substr(colon + 1)) + "]");
    if (first > last) fail("the first bank of the range comes after the last one");
    return {first, last};
  }

  static std::pair<uint32_t, uint32_t> one(uint32_t index) { return {index, index}; }

  std::optional<uint32_t> find_tag(const std::string& tag) const {
    const auto& banks = design_.platform->banks;
    for (uint32_t index = 0; index < banks.size(); ++index) {
      if (lower_case(banks[index].tag) == lower_case(tag)) return index;
    }
    return std::nullopt;
  }

  uint32_t find_bank(const std::string& tag) const {
    if (const auto index = find_tag(tag)) return *index;
    fail("platform " + design_.platform->name + " has no memory '" + tag +
         "'; it has: " + memories());
  }

  // "HBM[0:31], PLRAM[0:5]".
  std::string memories() const {
    std::vector<std::string> names;
    for (const xclbin::Bank& bank : design_.platform->banks) {
      const size_t bracket = bank.tag.find('[');
      const std::string family = bank.tag.substr(0, bracket);
      if (bracket == std::string::npos) {
        names.push_back(bank.tag);
      } else if (names.empty() || !names.back().starts_with(family + "[")) {
        names.push_back(bank.tag);
      } else {
        const std::string& known = names.back();
        const size_t end = known.find_first_of(":]");
        names.back() = known.substr(0, end) + ":" + bank.tag.substr(bracket + 1);
      }
    }
    return join(names);
  }

  void read_link(const std::string& value) {
    const std::vector<std::string> parts = split_bracketed(value, ":");
    if (parts.size() < 2 || parts.size() > 3)
      fail("write unit.output:unit.input or unit.output:unit.input:depth");
    const End from = find_end(parts[0]);
    const End to = find_end(parts[1]);
    const uint32_t depth = parts.size() == 3 ? number(parts[2], "the depth") : 0;
    const uint32_t written = stream(from).element_bytes;
    const uint32_t read = stream(to).element_bytes;
    if (written != read) {
      fail("elements differ: " + std::to_string(written) + " bytes (" + stream(from).type +
           ") are written, " + std::to_string(read) + " bytes (" + stream(to).type + ") are read");
    }
    for (const End* end : {&from, &to}) {
      if (!linked_.insert(end->unit + "." + end->port).second) {
        fail(end->unit + "." + end->port + " is linked already; a stream has one end on each side");
      }
    }
    design_.links.push_back({from.unit, from.port, to.unit, to.port, depth});
  }

  const xclbin::Argument& stream(const End& end) const {
    std::vector<std::string> names;
    for (const xclbin::Argument& argument : end.kernel->arguments) {
      if (argument.name == end.port && argument.kind == 4) return argument;
      if (argument.name == end.port) {
        fail("argument '" + end.port + "' of kernel " + end.kernel->name + " is not a stream");
      }
      if (argument.kind == 4) names.push_back(argument.name);
    }
    fail("kernel " + end.kernel->name + " has no stream '" + end.port +
         "'; there are: " + join(names));
  }

  void warn_of_open_streams() {
    for (const xclbin::Kernel& kernel : design_.kernels) {
      for (const xclbin::Argument& argument : kernel.arguments) {
        if (argument.kind != 4 || argument.hidden) continue;
        for (const std::string& unit : kernel.unit_names) {
          if (linked_.count(unit + "." + argument.name) > 0) continue;
          warnings_.push_back("stream " + unit + "." + argument.name +
                              " is linked to nothing; add sc=... to [connectivity]");
        }
      }
    }
  }

  const std::vector<Setting>& settings_;
  xclbin::Design& design_;
  const Setting* setting_ = nullptr;
  std::set<std::string> linked_;
  std::set<std::string> fixed_;  // arguments whose banks the command line has named
  std::vector<std::string> warnings_;
};

}  // namespace

ConnectivityKey connectivity_key(const std::string& key) {
  static const std::set<std::string> kUsed = {"nk", "sp", "sc", "stream_connect", "slr"};
  if (kUsed.count(key) > 0) return ConnectivityKey::kUsed;
  const bool idle = key == "connect" || key == "region" || key.starts_with("noc.");
  return idle ? ConnectivityKey::kWithoutEffect : ConnectivityKey::kUnknown;
}

std::string connectivity_keys() {
  return "nk, sp, sc (stream_connect) and slr, and without effect connect, region and noc.*";
}

std::vector<std::string> connect(const std::vector<Setting>& settings, xclbin::Design& design) {
  return Connector(settings, design).run();
}

}  // namespace tandem::vpp
