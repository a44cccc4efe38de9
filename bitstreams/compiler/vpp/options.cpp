// SPDX-License-Identifier: Apache-2.0
//
// Reads the settings in order: the first value of a single setting counts, lists grow.
#include "bitstreams/compiler/vpp/options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "bitstreams/compiler/vpp/connectivity.h"
#include "bitstreams/compiler/vpp/option_table.h"
#include "common/error.h"

namespace tandem::vpp {
namespace {

[[noreturn]] void fail(const Setting& setting, const std::string& what) {
  throw Error("v++", setting.where + ": " + what);
}

bool is_on(const Setting& setting) {
  return setting.value.empty() || setting.value == "1" || setting.value == "true";
}

void append(std::vector<std::string>& list, const std::vector<std::string>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

// Whether each setting of this key adds something; of all other keys the first setting counts.
bool is_list(const std::string& key) {
  static const std::set<std::string> kLists = {
      "kernel",          "include",       "define",         "hls_include",   "input_files",
      "package.sd_file", "advanced.prop", "advanced.param", "advanced.misc", "hls.pre_tcl"};
  return kLists.count(key) > 0 || key.starts_with("connectivity.");
}

class OptionReader {
 public:
  explicit OptionReader(Settings settings) : settings_(std::move(settings)) {
    options_.inputs = std::move(settings_.inputs);
    options_.warnings = std::move(settings_.warnings);
    options_.config_files = std::move(settings_.config_files);
  }

  Options run() {
    for (const Setting& setting : settings_.settings) read(setting);
    if (asks_for_help_) {
      options_.stage = Stage::kHelp;
    } else if (asks_for_version_) {
      options_.stage = Stage::kVersion;
    } else {
      check();
    }
    for (const std::string& kernel : options_.kernels) {
      append(options_.kernel_flags, flags_of_[kernel]);
    }
    for (const std::string& name : idle_) {
      options_.notes.push_back(name + " is accepted and has no effect in emulation");
    }
    return std::move(options_);
  }

 private:
  using Reader = void (OptionReader::*)(const Setting&);

  void read(const Setting& setting) {
    if (!is_list(setting.key) && !taken_.insert(setting.key).second) return;
    if (read_flag(setting) || read_value(setting) || read_list(setting)) return;
    const size_t dot = setting.key.find('.');
    if (dot != std::string::npos) {
      read_section(setting, setting.key.substr(0, dot), setting.key.substr(dot + 1));
    } else if (find_option(setting.key)->use == Use::kWithoutEffect && setting.key != "jobs" &&
               setting.key != "report_level") {
      idle_.insert("--" + setting.key);
    }
  }

  bool read_flag(const Setting& setting) {
    const std::string& key = setting.key;
    if (key == "compile" || key == "link" || key == "package") {
      if (is_on(setting)) stages_.insert(key);
    } else if (key == "debug") {
      options_.debug = is_on(setting);
    } else if (key == "save-temps") {
      options_.save_temps = is_on(setting);
    } else if (key == "help") {
      asks_for_help_ = true;
    } else if (key == "version") {
      asks_for_version_ = true;
    } else {
      return false;
    }
    return true;
  }

  bool read_value(const Setting& setting) {
    const std::map<std::string, std::string*> values = {{"platform", &options_.platform},
                                                        {"output", &options_.output},
                                                        {"temp_dir", &options_.temp_dir},
                                                        {"log_dir", &options_.log_dir},
                                                        {"depfile", &options_.depfile}};
    const auto found = values.find(setting.key);
    if (found != values.end()) {
      if (setting.value.empty()) fail(setting, "the value is missing");
      *found->second = setting.value;
    } else if (setting.key == "target") {
      read_target(setting);
    } else if (setting.key == "optimize") {
      read_optimization(setting);
    } else if (setting.key == "kernel_frequency") {
      read_frequency(setting);
    } else {
      return false;
    }
    return true;
  }

  bool read_list(const Setting& setting) {
    if (setting.key == "kernel") {
      // the file may name kernels that the command line names too
      auto& kernels = options_.kernels;
      if (std::find(kernels.begin(), kernels.end(), setting.value) == kernels.end()) {
        kernels.push_back(setting.value);
      }
    } else if (setting.key == "include") {
      options_.include_dirs.push_back(setting.value);
    } else if (setting.key == "define") {
      options_.defines.push_back(setting.value);
    } else if (setting.key == "hls_include") {
      append(options_.hls_include_dirs, split(setting.value, ":"));
    } else if (setting.key == "input_files") {
      append(options_.inputs, split(setting.value, " ,"));
    } else {
      return false;
    }
    return true;
  }

  void read_target(const Setting& setting) {
    if (setting.value == "sw_emu") {
      options_.target = Target::kSoftware;
    } else if (setting.value == "hw_emu") {
      options_.target = Target::kHardware;
    } else if (setting.value == "hw") {
      fail(
          setting,
          "target hw needs the vendor's tools and a card; here kernels are emulated: use sw_emu or "
          "hw_emu");
    } else {
      fail(setting, "target '" + setting.value + "' is unknown; choose sw_emu or hw_emu");
    }
    has_target_ = true;
  }

  void read_optimization(const Setting& setting) {
    static const std::set<std::string> kLevels = {"0", "1", "2", "3", "s", "fast", "quick"};
    if (kLevels.count(setting.value) == 0) {
      fail(setting, "optimization level '" + setting.value + "' is unknown; use 0, 1, 2, 3 or s");
    }
    options_.optimization = setting.value == "quick" ? "1" : setting.value;
  }

  void read_frequency(const Setting& setting) {
    // "300", or "0:300|1:500": the first clock's counts.
    std::string text = setting.value.substr(0, setting.value.find('|'));
    text = text.substr(text.find(':') + 1);
    uint32_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || value == 0 || value > 65535) {
      fail(setting, "'" + setting.value + "' is not a frequency in MHz");
    }
    options_.kernel_frequency_mhz = value;
  }

  void read_section(const Setting& setting, const std::string& section, const std::string& key) {
    if (section == "connectivity") {
      read_connectivity(setting, key);
    } else if (section == "package") {
      read_package(setting, key);
    } else if (section == "advanced" && (key == "prop" || key == "param")) {
      read_property(setting, section);
    } else if (section == "hls" && key == "pre_tcl") {
      append(options_.hls_scripts, split(setting.value, ","));
    } else if (section == "hls" && read_hls_key(key, setting.value, setting.where, options_.hls)) {
      return;
    } else {
      idle_.insert("[" + section + "]");
    }
  }

  void read_connectivity(const Setting& setting, const std::string& key) {
    switch (connectivity_key(key)) {
      case ConnectivityKey::kUsed:
        options_.connectivity.push_back({key, setting.value, setting.where, setting.from_file});
        break;
      case ConnectivityKey::kWithoutEffect:
        idle_.insert("[connectivity] " + key);
        break;
      case ConnectivityKey::kUnknown:
        fail(setting, "[connectivity] has no key '" + key + "'; it has " + connectivity_keys());
    }
  }

  void read_package(const Setting& setting, const std::string& key) {
    if (key == "out_dir") {
      options_.package_dir = setting.value;
    } else if (key == "sd_file") {
      options_.package_files.push_back(setting.value);
    } else {
      idle_.insert("[package]");
    }
  }

  // prop=kernel.<name>.kernel_flags=-std=c++17 adds compiler flags for that kernel.
  void read_property(const Setting& setting, const std::string& section) {
    const size_t equals = setting.value.find('=');
    const std::string name = setting.value.substr(0, equals);
    const std::string prefix = "kernel.";
    const std::string suffix = ".kernel_flags";
    if (equals != std::string::npos && name.starts_with(prefix) && name.ends_with(suffix) &&
        name.size() > prefix.size() + suffix.size()) {
      const std::string kernel =
          name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
      std::string flags = setting.value.substr(equals + 1);
      if (flags.size() >= 2 && (flags[0] == '"' || flags[0] == '\'')) {
        flags = flags.substr(1, flags.size() - 2);
      }
      append(flags_of_[kernel], split(flags, " "));
    } else {
      idle_.insert("[" + section + "]");
    }
  }

  void check() {
    if (stages_.size() > 1) {
      throw Error("v++", "--compile, --link and --package exclude each other: choose one");
    }
    if (stages_.empty()) {
      throw Error("v++",
                  "the stage is missing: add -c (compile), -l (link) or -p (package); see --help");
    }
    const std::string& stage = *stages_.begin();
    options_.stage =
        stage == "compile" ? Stage::kCompile : (stage == "link" ? Stage::kLink : Stage::kPackage);
    if (!has_target_) {
      throw Error("v++",
                  "the target is missing, and without one it is hw: add -t sw_emu or -t hw_emu");
    }
    if (options_.inputs.empty()) throw Error("v++", "no input files");
  }

  Settings settings_;
  Options options_;
  std::set<std::string> stages_;
  std::set<std::string> idle_;
  std::map<std::string, std::vector<std::string>> flags_of_;  // by kernel
  std::set<std::string> taken_;                               // single values
  bool has_target_ = false;
  bool asks_for_help_ = false;
  bool asks_for_version_ = false;
};

}  // namespace

std::string output_name(const Options& options) {
  if (!options.output.empty()) return options.output;
  if (options.stage != Stage::kCompile) return "a.xclbin";
  const bool named = options.kernels.size() == 1;
  return (named ? options.kernels[0] : std::filesystem::path(options.inputs[0]).stem().string()) +
         ".xo";
}

Options read_options(const std::vector<std::string>& arguments) {
  return OptionReader(read_settings(arguments)).run();
}

}  // namespace tandem::vpp
