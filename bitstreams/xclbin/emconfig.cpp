// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads emconfig.json.
#include "bitstreams/xclbin/emconfig.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "bitstreams/xclbin/hexadecimal.h"
#include "bitstreams/xclbin/platform_file.h"
#include "common/error.h"

namespace tandem::xclbin {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr uint32_t kXilinxVendor = 0x10ee;
constexpr uint32_t kDataAlignment = 4096;
constexpr const char* kFileVersion = "2.0";
constexpr const char* kToolVersion = "2022.1";

[[noreturn]] void fail(const std::string& origin, const std::string& field,
                       const std::string& what) {
  throw Error("emconfig", origin + ": field " + field + " " + what +
                              "; write the file again with emconfigutil");
}

const json& member(const json& object, const std::string& path, const char* key,
                   const std::string& origin) {
  const std::string field = path.empty() ? key : path + "." + key;
  if (!object.is_object() || !object.contains(key)) fail(origin, field, "is missing");
  return object[key];
}

// Some writers of XRT give numbers as text, so both forms are accepted.
uint32_t count_of(const json& object, const std::string& path, const char* key,
                  const std::string& origin) {
  if (!object.contains(key)) return 1;
  const json& value = object[key];
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  const bool digits = !text.empty() && text.size() <= 4 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  const uint32_t count = digits ? static_cast<uint32_t>(std::stoul(text)) : 0;
  if (count < 1 || count > kMaxEmulatedCards) {
    fail(origin, path + "." + key,
         "is " + value.dump() + "; 1 to " + std::to_string(kMaxEmulatedCards) + " are possible");
  }
  return count;
}

const Platform& platform_of(const json& device, const std::string& path,
                            const std::string& origin) {
  const json& name = member(device, path, "Name", origin);
  if (!name.is_string()) fail(origin, path + ".Name", "must be text");
  if (device.contains("PlatformDescription")) {
    const std::string inside = origin + ": " + path + ".PlatformDescription";
    return add_platform(parse_platform(device["PlatformDescription"].dump(), inside));
  }
  return find_platform(name.get<std::string>());
}

const json& list_of(const json& object, const std::string& path, const char* key,
                    const std::string& origin) {
  const json& list = member(object, path, key, origin);
  if (!list.is_array() || list.empty()) fail(origin, path + "." + key, "must be a list");
  return list;
}

void read_board(const json& board, const std::string& path, const std::string& origin,
                std::vector<const Platform*>& cards) {
  const json& devices = list_of(board, path, "Devices", origin);
  std::vector<const Platform*> of_board;
  for (size_t index = 0; index < devices.size(); ++index) {
    const std::string field = path + ".Devices[" + std::to_string(index) + "]";
    const Platform& platform = platform_of(devices[index], field, origin);
    of_board.insert(of_board.end(), count_of(devices[index], field, "NumDevices", origin),
                    &platform);
  }
  const uint32_t num_boards = count_of(board, path, "NumBoards", origin);
  for (uint32_t copy = 0; copy < num_boards; ++copy) {
    cards.insert(cards.end(), of_board.begin(), of_board.end());
  }
}

}  // namespace

std::string write_emconfig(const Platform& platform, uint32_t num_cards) {
  ordered_json banks = ordered_json::array();
  for (const Bank& bank : platform.banks) {
    banks.push_back({{"Name", bank.tag}, {"Size", hex(bank.size_bytes)}});
  }
  ordered_json device = {{"Name", platform.vbnv},
                         {"HalMajorVersion", 1},
                         {"HalMinorVersion", 0},
                         {"VendorId", kXilinxVendor},
                         {"DeviceId", 0},
                         {"SubsystemId", 0},
                         {"SubsystemVendorId", 0},
                         {"DeviceVersion", 0},
                         {"DataAlignment", kDataAlignment},
                         {"OclFreqency", platform.kernel_clock_mhz},
                         {"NumDevices", num_cards},
                         {"DdrBanks", banks}};
  if (!platform.description.empty()) {
    device["PlatformDescription"] = ordered_json::parse(platform.description);
  }
  const ordered_json board = {{"NumBoards", 1}, {"Devices", ordered_json::array({device})}};
  const ordered_json file = {
      {"Version", {{"FileVersion", kFileVersion}, {"ToolVersion", kToolVersion}}},
      {"Platform",
       {{"UnifiedPlatform", "true"},
        {"ExpandedPR", "true"},
        {"Boards", ordered_json::array({board})}}}};
  return file.dump(2) + "\n";
}

std::vector<const Platform*> parse_emconfig(const std::string& text, const std::string& origin) {
  const json root = json::parse(text, nullptr, false);
  if (root.is_discarded()) fail(origin, "(top)", "is not valid JSON");
  const json& version =
      member(member(root, "", "Version", origin), "Version", "FileVersion", origin);
  if (version != kFileVersion) {
    fail(origin, "Version.FileVersion", "is " + version.dump() + ", not \"2.0\"");
  }
  const json& boards = list_of(member(root, "", "Platform", origin), "Platform", "Boards", origin);
  std::vector<const Platform*> cards;
  for (size_t index = 0; index < boards.size(); ++index) {
    read_board(boards[index], "Platform.Boards[" + std::to_string(index) + "]", origin, cards);
    if (cards.size() > kMaxEmulatedCards) {
      fail(origin, "Platform.Boards",
           "requests more than " + std::to_string(kMaxEmulatedCards) + " cards");
    }
  }
  return cards;
}

std::vector<const Platform*> read_emconfig(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  if (in) text.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  if (!in || in.bad()) throw Error("emconfig", path + ": cannot read the file");
  return parse_emconfig(text, path);
}

}  // namespace tandem::xclbin
