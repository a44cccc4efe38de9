// SPDX-License-Identifier: Apache-2.0
//
// The text and the JSON of a platform.
#include "bitstreams/tools/platform_report.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bitstreams/xclbin/hexadecimal.h"
#include "common/error.h"

namespace tandem::xclbin {
namespace {

using nlohmann::ordered_json;

constexpr BankType kBankTypes[] = {BankType::kHbm, BankType::kDdr, BankType::kPlram,
                                   BankType::kHost};

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

// "xcu250" of "xcu250-figd2104-2L-e".
std::string device_of(const Platform& platform) {
  return platform.fpga_part.substr(0, platform.fpga_part.find('-'));
}

std::string vendor_of(const Platform& platform) {
  return platform.vbnv.substr(0, platform.vbnv.find('_'));
}

std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6f", value);
  return text;
}

class Text {
 public:
  void title(const std::string& text) {
    const std::string line(text.size(), '=');
    out_ << line << "\n" << text << "\n" << line << "\n";
  }
  void field(const std::string& indent, const std::string& name, const std::string& value) {
    std::string label = indent + name + ":";
    if (label.size() < 35) label.resize(35, ' ');
    out_ << label << value << "\n";
  }
  void gap() { out_ << "\n"; }
  std::string take() { return out_.str(); }

 private:
  std::ostringstream out_;
};

void write_hardware(Text& text, const Platform& platform) {
  text.title("Hardware Platform (Shell) Information");
  text.field("", "Vendor", vendor_of(platform));
  text.field("", "Board", upper(platform.name));
  text.field("", "Name", platform.vbnv);
  text.field("", "Hardware", "0");
  text.field("", "Software Emulation", "1");
  text.field("", "Hardware Emulation", "1");
  text.field("", "FPGA Family", platform.fpga_family);
  text.field("", "FPGA Device", device_of(platform));
  text.field("", "Board Part", platform.fpga_part);
  text.field("", "PCIe",
             "Gen" + std::to_string(platform.pcie_generation) + " x" +
                 std::to_string(platform.pcie_lanes));
  text.field("", "Host Copy Engine", platform.has_dma ? "yes" : "no");
  text.gap();
}

void write_clocks(Text& text, const Platform& platform) {
  text.title("Clock Information");
  text.field("  ", "Default Clock Index", "0");
  const uint32_t clocks[] = {platform.kernel_clock_mhz, platform.second_clock_mhz};
  for (size_t index = 0; index < std::size(clocks); ++index) {
    text.field("  ", "Clock Index", std::to_string(index));
    text.field("    ", "Frequency", decimal(clocks[index]));
  }
  text.gap();
}

void write_memories(Text& text, const Platform& platform) {
  text.title("Memory Information");
  for (BankType type : kBankTypes) {
    if (platform.num_banks(type) == 0) continue;
    text.field("  ", "Bus SP Tag", bank_type_name(type));
    int segment = 0;
    for (const Bank& bank : platform.banks) {
      if (bank.type != type) continue;
      text.field("    ", "Segment Index", std::to_string(segment++));
      text.field("      ", "SP Tag", bank.tag);
      text.field("      ", "Base Address", hex(bank.base));
      text.field("      ", "Size", hex(bank.size_bytes));
      text.field("      ", "Bandwidth (GB/s)", decimal(bank.gb_per_s));
    }
  }
  text.field("  ", "Total Bandwidth (GB/s)", decimal(platform.memory_gb_per_s));
  text.gap();
}

void write_software(Text& text) {
  text.title("Software Platform Information");
  text.field("", "Number of Runtimes", "1");
  text.field("", "Default System Configuration", "config0_0");
  text.field("  ", "Processor Group Name", "x86");
  text.field("    ", "CPU Type", "x86");
  text.field("    ", "OS Name", "Linux OS");
}

void collect_paths(const ordered_json& json, const std::string& path,
                   std::vector<std::string>& paths) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      collect_paths(value, path.empty() ? key : path + "." + key, paths);
    }
  } else if (json.is_array()) {
    for (size_t index = 0; index < json.size(); ++index) {
      collect_paths(json[index], path + "[" + std::to_string(index) + "]", paths);
    }
  } else {
    paths.push_back(path);
  }
}

ordered_json memories_json(const Platform& platform) {
  ordered_json memories = ordered_json::array();
  for (const Bank& bank : platform.banks) {
    memories.push_back({{"tag", bank.tag},
                        {"type", bank_type_name(bank.type)},
                        {"baseAddress", hex(bank.base)},
                        {"size", hex(bank.size_bytes)},
                        {"bandwidthGBps", bank.gb_per_s}});
  }
  return memories;
}

}  // namespace

std::string platform_text(const Platform& platform) {
  Text text;
  text.title("Basic Platform Information");
  text.field("", "Platform", platform.vbnv);
  text.field("", "Description", "emulated " + upper(platform.name));
  text.gap();
  write_hardware(text, platform);
  write_clocks(text, platform);
  write_memories(text, platform);
  write_software(text);
  return text.take();
}

ordered_json platform_json(const Platform& platform) {
  ordered_json support;
  for (BankType type : kBankTypes) {
    support[bank_type_name(type)] = std::to_string(platform.num_banks(type));
  }
  const ordered_json clocks = {
      {{"id", "0"}, {"default", "true"}, {"frequency", decimal(platform.kernel_clock_mhz)}},
      {{"id", "1"}, {"default", "false"}, {"frequency", decimal(platform.second_clock_mhz)}}};
  const ordered_json hardware = {
      {"uniqueName", platform.vbnv},
      {"vendor", vendor_of(platform)},
      {"usesPR", "true"},
      {"board", {{"name", platform.name}, {"vendor", "xilinx.com"}, {"part", platform.fpga_part}}},
      {"devices",
       {{{"name", "fpga0"},
         {"fpgaFamily", platform.fpga_family},
         {"fpgaDevice", device_of(platform)},
         {"fpgaPart", platform.fpga_family + "-" + platform.fpga_part}}}},
      {"pcie", {{"generation", platform.pcie_generation}, {"lanes", platform.pcie_lanes}}},
      {"dma", platform.has_dma},
      {"systemClocks", clocks},
      {"memories", memories_json(platform)},
      {"extensions", {{"raptor2", {{"feature_support", support}}}}}};
  const ordered_json software = {{"defaultConfiguration", "config0_0"},
                                 {"processorGroups", {{{"name", "x86"}, {"cpuType", "x86"}}}}};
  return {{"uniqueName", platform.vbnv},  {"vendor", vendor_of(platform)}, {"name", platform.name},
          {"platformState", "emulated"},  {"dataCenter", "true"},          {"embedded", "false"},
          {"hardwarePlatform", hardware}, {"softwarePlatform", software}};
}

std::vector<std::string> json_paths(const ordered_json& json) {
  std::vector<std::string> paths;
  collect_paths(json, "", paths);
  return paths;
}

std::string value_at(const ordered_json& json, const std::string& path) {
  std::string pointer = "/";
  for (char c : path) {
    if (c == '.' || c == '[') {
      pointer += '/';
    } else if (c != ']') {
      pointer += c;
    }
  }
  try {
    const ordered_json& value = json.at(ordered_json::json_pointer(pointer));
    return value.is_string() ? value.get<std::string>() : value.dump(2);
  } catch (const ordered_json::exception&) {
    throw Error("platform",
                "the platform's JSON has no value at '" + path + "'; --keys lists the paths");
  }
}

}  // namespace tandem::xclbin
