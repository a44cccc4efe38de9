// SPDX-License-Identifier: Apache-2.0
//
// The table of platforms and the search by name. Source: the vendor's public data sheets and user
// guides of the Alveo U50, U55C, U200, U250 and U280 cards and of the Versal VCK5000.
#include "bitstreams/xclbin/platform.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <mutex>
#include <sstream>

#include "bitstreams/xclbin/platform_file.h"
#include "common/error.h"

namespace tandem::xclbin {
namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kUndecidedBytes = 128 * kGiB;
constexpr double kDdrGbPerS = 19.2;  // 64 bits of DDR4-2400
constexpr double kPlramGbPerS = 38.4;
constexpr double kPcieGbPerS = 16.0;

void add_banks(Platform& platform, BankType type, int count, uint64_t size_bytes, double gb_per_s) {
  uint64_t base = platform.memory_end();
  const std::string prefix = std::string(bank_type_name(type)) + "[";
  for (int bank = 0; bank < count; ++bank) {
    platform.banks.push_back(
        {prefix + std::to_string(bank) + "]", type, base, size_bytes, gb_per_s});
    base += size_bytes;
  }
}

// Adds on-chip banks and the host's bank after the card's memory. The host's bank begins at a
// multiple of its size.
void add_small_banks(Platform& platform, int num_plram) {
  add_banks(platform, BankType::kPlram, num_plram, 128 * kKiB, kPlramGbPerS);
  const uint64_t base = (platform.memory_end() + 16 * kGiB - 1) / (16 * kGiB) * (16 * kGiB);
  platform.banks.push_back({"HOST[0]", BankType::kHost, base, 16 * kGiB, kPcieGbPerS});
}

Platform make_card(const std::string& name, const std::string& vbnv, const std::string& family,
                   const std::string& part) {
  Platform platform;
  platform.name = name;
  platform.vbnv = vbnv;
  platform.fpga_family = family;
  platform.fpga_part = part;
  return platform;
}

Platform make_u50() {
  Platform card =
      make_card("u50", "xilinx_u50_gen3x16_xdma_base_5", "virtexuplusHBM", "xcu50-fsvh2104-2-e");
  card.memory_gb_per_s = 316.0;
  add_banks(card, BankType::kHbm, 32, 256 * kMiB, 316.0 / 32);
  add_small_banks(card, 4);
  return card;
}

Platform make_u55c() {
  Platform card = make_card("u55c", "xilinx_u55c_gen3x16_xdma_base_3", "virtexuplusHBM",
                            "xcu55c-fsvh2892-2L-e");
  card.memory_gb_per_s = 460.0;
  add_banks(card, BankType::kHbm, 32, 512 * kMiB, 460.0 / 32);
  add_small_banks(card, 6);
  return card;
}

Platform make_u280() {
  Platform card = make_card("u280", "xilinx_u280_gen3x16_xdma_base_1", "virtexuplusHBM",
                            "xcu280-fsvh2892-2L-e");
  card.memory_gb_per_s = 460.0 + 2 * kDdrGbPerS;
  add_banks(card, BankType::kHbm, 32, 256 * kMiB, 460.0 / 32);
  add_banks(card, BankType::kDdr, 2, 16 * kGiB, kDdrGbPerS);
  add_small_banks(card, 6);
  return card;
}

Platform make_ddr_card(const std::string& name, const std::string& vbnv, const std::string& part,
                       int num_plram) {
  Platform card = make_card(name, vbnv, "virtexuplus", part);
  card.memory_gb_per_s = 4 * kDdrGbPerS;
  add_banks(card, BankType::kDdr, 4, 16 * kGiB, kDdrGbPerS);
  add_small_banks(card, num_plram);
  return card;
}

Platform make_vck5000() {
  Platform card = make_card("vck5000", "xilinx_vck5000_gen4x8_qdma_base_2", "versal",
                            "xcvc1902-vsvd1760-2MP-e-S");
  card.pcie_generation = 4;
  card.pcie_lanes = 8;
  card.memory_gb_per_s = 102.4;
  // The four controllers are interleaved by the network on chip: one bank.
  card.banks.push_back({"MC_NOC0", BankType::kDdr, 0, 12 * kGiB, 102.4});
  add_small_banks(card, 0);
  return card;
}

const std::vector<Platform>& boards() {
  static const std::vector<Platform> table = {
      make_u50(),
      make_u55c(),
      make_ddr_card("u200", "xilinx_u200_gen3x16_xdma_base_2", "xcu200-fsgd2104-2-e", 3),
      make_ddr_card("u250", "xilinx_u250_gen3x16_xdma_shell_4_1", "xcu250-figd2104-2L-e", 4),
      make_u280(),
      make_vck5000()};
  return table;
}

const Platform& undecided_platform() {
  static const Platform platform = [] {
    Platform card = make_u55c();
    card.address_space_bytes = kUndecidedBytes;
    return card;
  }();
  return platform;
}

// Platforms made from names and files. They never move and exist until the process ends.
struct MadePlatforms {
  std::mutex mutex;
  std::deque<Platform> platforms;
  std::string folders;  // folders with platforms of users, separated by ':'
};

MadePlatforms& made() {
  static auto& instance = *new MadePlatforms;
  return instance;
}

const Platform* find_made(const std::string& vbnv) {
  std::lock_guard lock(made().mutex);
  const auto& all = made().platforms;
  const auto found = std::find_if(all.rbegin(), all.rend(),
                                  [&](const Platform& platform) { return platform.vbnv == vbnv; });
  return found == all.rend() ? nullptr : &*found;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// "vendor_board_generationxlanes_shell_...": the board selects the platform, the rest sets
// details.
const Platform* make_from_shell_name(const std::string& name) {
  const std::vector<std::string> parts = split(name, '_');
  if (parts.size() < 3) return nullptr;
  const auto board = std::find_if(boards().begin(), boards().end(), [&](const Platform& platform) {
    return platform.name == parts[1];
  });
  if (board == boards().end()) return nullptr;
  Platform platform = *board;
  platform.vbnv = name;
  for (const std::string& part : parts) {
    unsigned generation = 0;
    unsigned lanes = 0;
    if (part == "nodma") platform.has_dma = false;
    if (std::sscanf(part.c_str(), "gen%1ux%2u", &generation, &lanes) == 2 && lanes > 0) {
      platform.pcie_generation = generation;
      platform.pcie_lanes = lanes;
    }
  }
  return &add_platform(platform);
}

// The file of the platform `name` in one of the folders; empty if there is none.
std::string find_in_folders(const std::string& name) {
  if (name.find('/') != std::string::npos) return "";
  std::lock_guard lock(made().mutex);
  for (const std::string& folder : split(made().folders, ':')) {
    if (folder.empty()) continue;
    for (const std::string& candidate :
         {folder + "/" + name + ".json", folder + "/" + name + "/" + name + ".json"}) {
      std::error_code code;
      if (std::filesystem::is_regular_file(candidate, code)) return candidate;
    }
  }
  return "";
}

// Whether `name` is a board whose host is its own processor: "zcu102", "xilinx_vck190_base_1".
bool is_embedded(const std::string& name) {
  static constexpr const char* kBoards[] = {"zcu",    "zc70",   "zed", "zynq",   "vck190",
                                            "vmk180", "vek280", "vpk", "vhk158", "kv260",
                                            "kr260",  "kria",   "k26", "ultra96"};
  const std::vector<std::string> parts = split(name, '_');
  return std::any_of(parts.begin(), parts.end(), [](const std::string& part) {
    return std::any_of(std::begin(kBoards), std::end(kBoards),
                       [&](const char* board) { return part.rfind(board, 0) == 0; });
  });
}

[[noreturn]] void refuse(const std::string& name) {
  std::string known;
  for (const std::string& candidate : platform_names()) known += " " + candidate;
  const bool embedded = is_embedded(std::filesystem::path(name).filename().string());
  const std::string what =
      embedded ? "' is an embedded platform: its programs run on the board's own processor, which "
                 "is not emulated"
               : "' is unknown";
  throw Error("platform", "platform '" + name + what + "; choose one of:" + known +
                              ", a full name such as " + boards().front().vbnv +
                              ", or a JSON file that describes your own");
}

}  // namespace

uint64_t Platform::memory_end() const {
  uint64_t end = address_space_bytes;
  for (const Bank& bank : banks) end = std::max(end, bank.base + bank.size_bytes);
  return end;
}

uint64_t Platform::memory_bytes(BankType type) const {
  uint64_t bytes = 0;
  for (const Bank& bank : banks) bytes += bank.type == type ? bank.size_bytes : 0;
  return bytes;
}

uint32_t Platform::num_banks(BankType type) const {
  return static_cast<uint32_t>(std::count_if(banks.begin(), banks.end(),
                                             [&](const Bank& bank) { return bank.type == type; }));
}

const char* bank_type_name(BankType type) {
  switch (type) {
    case BankType::kHbm:
      return "HBM";
    case BankType::kDdr:
      return "DDR";
    case BankType::kPlram:
      return "PLRAM";
    case BankType::kHost:
      return "HOST";
  }
  return "";
}

std::vector<std::string> platform_names() {
  std::vector<std::string> names;
  for (const Platform& platform : boards()) names.push_back(platform.name);
  return names;
}

void search_platforms_in(const char* folders) {
  std::lock_guard lock(made().mutex);
  made().folders = folders == nullptr ? "" : folders;
}

const Platform& add_platform(const Platform& platform) {
  std::lock_guard lock(made().mutex);
  return made().platforms.emplace_back(platform);
}

const Platform& find_platform(const std::string& name) {
  if (ends_with(name, ".json")) return add_platform(read_platform_file(name));
  std::string stem = std::filesystem::path(name).filename().string();
  if (ends_with(stem, ".xpfm")) stem.resize(stem.size() - 5);
  if (stem.empty()) refuse(name);
  if (name == kUndecidedPlatform) return undecided_platform();
  for (const Platform& platform : boards()) {
    if (platform.name == stem || platform.vbnv == stem) return platform;
  }
  if (const Platform* known = find_made(stem)) return *known;
  const std::string file = find_in_folders(stem);
  if (!file.empty()) return add_platform(read_platform_file(file));
  if (const Platform* shell = make_from_shell_name(stem)) return *shell;
  refuse(name);
}

}  // namespace tandem::xclbin
