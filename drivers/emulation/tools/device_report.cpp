// SPDX-License-Identifier: Apache-2.0
//
// The reports of xbutil examine.
#include "emulation/tools/device_report.h"

#include <dlfcn.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <version.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "common/error.h"
#include "emulation/xrt_shim/settings.h"

namespace tandem::emulation {
namespace {

using nlohmann::ordered_json;

std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string human_bytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + " " + kUnits[unit];
}

ordered_json platform_part(const xclbin::Platform& platform) {
  return {{"name", platform.vbnv},
          {"board", platform.name},
          {"fpga_part", platform.fpga_part},
          {"pcie", "Gen" + std::to_string(platform.pcie_generation) + "x" +
                       std::to_string(platform.pcie_lanes)},
          {"dma", platform.has_dma},
          {"clocks",
           {{{"id", "DATA_CLK"}, {"freq_mhz", platform.kernel_clock_mhz}},
            {{"id", "KERNEL_CLK"}, {"freq_mhz", platform.second_clock_mhz}}}},
          {"memory_gb_per_s", platform.memory_gb_per_s}};
}

ordered_json memory_part(const xclbin::Platform& platform) {
  ordered_json memories = ordered_json::array();
  for (const xclbin::Bank& bank : platform.banks) {
    memories.push_back({{"tag", bank.tag},
                        {"type", xclbin::bank_type_name(bank.type)},
                        {"base_address", hex(bank.base)},
                        {"size", human_bytes(bank.size_bytes)},
                        {"gb_per_s", bank.gb_per_s}});
  }
  return memories;
}

ordered_json region_part(const xrt::device& device) {
  const std::string uuid = device.get_xclbin_uuid().to_string();
  const bool loaded = uuid.find_first_not_of("0-") != std::string::npos;
  return {{"xclbin_uuid", loaded ? uuid : "none"}};
}

class Text {
 public:
  void title(const std::string& text) { out_ << text << "\n"; }
  void field(const std::string& name, const std::string& value) {
    std::string label = "  " + name;
    if (label.size() < 23) label.resize(23, ' ');
    out_ << label << ": " << value << "\n";
  }
  void field(const std::string& name, const ordered_json& value) {
    field(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  void line(const std::string& text) { out_ << text << "\n"; }
  std::string take() { return out_.str(); }

 private:
  std::ostringstream out_;
};

// The shim's number: XRT's own count misses cards that are not on the PCIe bus.
uint32_t num_cards() {
  const char* tree = std::getenv("XILINX_XRT");
  const std::string path = std::string(tree == nullptr ? "" : tree) + "/lib/libxrt_core.so.2";
  void* const shim = dlopen(path.c_str(), RTLD_NOW);
  void* const probe = shim == nullptr ? nullptr : dlsym(shim, "xclProbe");
  if (probe == nullptr) {
    throw Error("xbutil", path + " is not a library of emulated cards; source the tree's setup.sh");
  }
  return reinterpret_cast<unsigned int (*)()>(probe)();
}

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

void write_memory_table(Text& text, const ordered_json& memories) {
  text.title("\nMemory Topology");
  text.line("  " + padded("Tag", 12) + padded("Type", 8) + padded("Base Address", 18) +
            padded("Size", 10) + "GB/s");
  for (const auto& memory : memories) {
    text.line("  " + padded(memory["tag"], 12) + padded(memory["type"], 8) +
              padded(memory["base_address"], 18) + padded(memory["size"], 10) +
              memory["gb_per_s"].dump());
  }
}

}  // namespace

std::vector<ListedCard> list_cards() {
  std::vector<ListedCard> cards;
  const uint32_t count = num_cards();
  for (uint32_t index = 0; index < count; ++index) {
    const xrt::device device(index);
    cards.push_back({index, device.get_info<xrt::info::device::bdf>(),
                     device.get_info<xrt::info::device::name>()});
  }
  return cards;
}

ListedCard find_card(const std::string& name) {
  const std::vector<ListedCard> cards = list_cards();
  for (const ListedCard& card : cards) {
    const bool is_end =
        name.size() >= 4 && card.address.size() >= name.size() &&
        card.address.compare(card.address.size() - name.size(), name.size(), name) == 0;
    if (name == std::to_string(card.index) || is_end) return card;
  }
  std::string known;
  for (const ListedCard& card : cards) {
    known += " " + std::to_string(card.index) + " (" + card.address + ")";
  }
  throw Error("xbutil", "no card is called '" + name +
                            "'; cards here:" + (known.empty() ? " none, see TANDEM_CARDS" : known));
}

const xclbin::Platform& platform_of(const ListedCard& card) {
  // The shim in this process has read the same settings, but does not export its platforms.
  const std::vector<std::string>& configured = settings().platforms;
  if (card.index < configured.size()) {
    const xclbin::Platform& platform = xclbin::find_platform(configured[card.index]);
    if (platform.vbnv == card.platform) return platform;
  }
  return xclbin::find_platform(card.platform);
}

const std::vector<std::string>& report_names() {
  static const std::vector<std::string> names = {"platform", "memory", "dynamic-regions"};
  return names;
}

ordered_json host_report(const std::vector<ListedCard>& cards) {
  utsname system{};
  uname(&system);
  ordered_json devices = ordered_json::array();
  for (const ListedCard& card : cards) {
    devices.push_back({{"index", card.index},
                       {"bdf", card.address},
                       {"vbnv", card.platform},
                       {"is_ready", true}});
  }
  const uint64_t pages = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  const uint64_t page_bytes = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
  return {{"os",
           {{"sysname", system.sysname},
            {"release", system.release},
            {"version", system.version},
            {"machine", system.machine},
            {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
            {"memory_bytes", pages * page_bytes}}},
          {"xrt",
           {{"version", xrt_build_version},
            {"build_date", xrt_build_version_date},
            {"cards", "emulated"}}},
          {"devices", devices}};
}

ordered_json card_report(const ListedCard& card, const std::vector<std::string>& reports) {
  const xclbin::Platform& platform = platform_of(card);
  ordered_json result = {{"index", card.index}, {"device_id", card.address}};
  for (const std::string& report : reports) {
    if (report == "platform") result["platform"] = platform_part(platform);
    if (report == "memory") result["memory"] = memory_part(platform);
    if (report == "dynamic-regions") {
      result["dynamic_regions"] = region_part(xrt::device(card.index));
    }
  }
  return result;
}

std::string host_text(const ordered_json& report) {
  Text text;
  text.title("System Configuration");
  const ordered_json& os = report["os"];
  text.field("OS Name", os["sysname"]);
  text.field("Release", os["release"]);
  text.field("Version", os["version"]);
  text.field("Machine", os["machine"]);
  text.field("CPU Cores", os["cores"]);
  text.field("Memory", std::to_string(os["memory_bytes"].get<uint64_t>() >> 20) + " MB");
  text.title("\nXRT");
  text.field("Version", report["xrt"]["version"]);
  text.field("Build Date", report["xrt"]["build_date"]);
  text.field("Cards", report["xrt"]["cards"]);
  text.title("\nDevices present");
  for (const auto& device : report["devices"]) {
    text.line("  [" + device["bdf"].get<std::string>() +
              "] : " + device["vbnv"].get<std::string>() + " (index " + device["index"].dump() +
              ", emulated, ready)");
  }
  if (report["devices"].empty()) text.line("  0 devices found");
  return text.take();
}

std::string card_text(const ordered_json& report) {
  Text text;
  const std::string address = report["device_id"].get<std::string>();
  text.title(std::string(47, '-') + "\n1/1 [" + address + "] (index " + report["index"].dump() +
             ")\n" + std::string(47, '-'));
  if (report.contains("platform")) {
    const ordered_json& platform = report["platform"];
    text.title("Platform");
    text.field("XSA Name", platform["name"]);
    text.field("Board", platform["board"]);
    text.field("FPGA Part", platform["fpga_part"]);
    text.field("PCIe", platform["pcie"]);
    text.field("Copy Engine", std::string(platform["dma"].get<bool>() ? "yes" : "no"));
    for (const auto& clock : platform["clocks"]) {
      text.field(clock["id"].get<std::string>(), clock["freq_mhz"].dump() + " MHz");
    }
    text.field("Memory Bandwidth", platform["memory_gb_per_s"].dump() + " GB/s");
  }
  if (report.contains("memory")) write_memory_table(text, report["memory"]);
  if (report.contains("dynamic_regions")) {
    text.title("\nDynamic Regions");
    text.field("Xclbin UUID", report["dynamic_regions"]["xclbin_uuid"]);
  }
  return text.take();
}

}  // namespace tandem::emulation
