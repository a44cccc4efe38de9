// SPDX-License-Identifier: Apache-2.0
//
// Reads platform JSON. Every object knows its fields, so a typo is an error and not ignored.
#include "bitstreams/xclbin/platform_file.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "common/error.h"

namespace tandem::xclbin {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxAddress = uint64_t{1} << 40;
constexpr uint64_t kGranuleBytes = 4096;
constexpr size_t kMaxBanks = 256;  // as many as an xclbin's memory table holds
constexpr size_t kMaxNameCharacters = 63;
constexpr size_t kMaxTagCharacters = 15;
constexpr size_t kMaxFileBytes = size_t{1} << 20;

class PlatformParser {
 public:
  PlatformParser(const std::string& text, const std::string& origin) : origin_(origin) {
    root_ = json::parse(text, nullptr, false);
    if (root_.is_discarded()) {
      throw Error("platform", origin_ + ": is not valid JSON; see " +
                                  "bitstreams/xclbin/platform_file.h" +
                                  " for what a platform file holds");
    }
    platform_.description = root_.is_object() ? root_.dump() : "";
  }

  Platform run() {
    expect_fields(root_, "", {"name", "banks", "clocks_mhz", "pcie", "fpga", "dma"});
    platform_.name = platform_.vbnv = read_name();
    read_banks();
    read_clocks();
    read_pcie();
    read_fpga();
    if (root_.contains("dma")) {
      if (!root_["dma"].is_boolean()) fail("dma", "must be true or false");
      platform_.has_dma = root_["dma"].get<bool>();
    }
    return std::move(platform_);
  }

 private:
  [[noreturn]] void fail(const std::string& field, const std::string& what) const {
    throw Error("platform", origin_ + ": field " + field + " " + what);
  }

  void expect_fields(const json& object, const std::string& path,
                     const std::set<std::string>& known) const {
    if (!object.is_object()) fail(path.empty() ? "(top)" : path, "must be an object");
    for (const auto& [key, value] : object.items()) {
      if (known.count(key) > 0) continue;
      std::string all;
      for (const std::string& name : known) all += (all.empty() ? "" : ", ") + name;
      fail((path.empty() ? "" : path + ".") + key, "is unknown; known here: " + all);
    }
  }

  std::string read_text(const json& object, const std::string& path, const char* key,
                        size_t max_characters) const {
    const std::string field = (path.empty() ? "" : path + ".") + key;
    if (!object.contains(key)) fail(field, "is missing");
    if (!object[key].is_string()) fail(field, "must be text");
    const auto text = object[key].get<std::string>();
    if (text.empty() || text.size() > max_characters) {
      fail(field, "must have 1 to " + std::to_string(max_characters) + " characters");
    }
    const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '[' || c == ']';
    });
    if (!plain) fail(field, "may have letters, digits, '_', '-' and '.' only");
    return text;
  }

  std::string read_name() const { return read_text(root_, "", "name", kMaxNameCharacters); }

  // A number, or text with an optional 0x prefix or K, M, G suffix.
  uint64_t read_bytes(const json& value, const std::string& field) const {
    if (value.is_number_unsigned()) return value.get<uint64_t>();
    if (!value.is_string()) fail(field, "must be a number of bytes, or text such as \"256M\"");
    const auto text = value.get<std::string>();
    const bool hexadecimal = text.rfind("0x", 0) == 0;
    uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto result =
        std::from_chars(text.data() + (hexadecimal ? 2 : 0), end, number, hexadecimal ? 16 : 10);
    uint64_t unit = 1;
    const char* rest = result.ptr;
    if (result.ec == std::errc() && rest + 1 == end) {
      const size_t power = std::string("KMG").find(*rest);
      if (power != std::string::npos) {
        unit = uint64_t{1} << (10 * (power + 1));
        ++rest;
      }
    }
    if (result.ec != std::errc() || rest != end || number > kMaxAddress / unit) {
      fail(field,
           "'" + text + "' is not a number of bytes up to 1 TiB, such as \"256M\" or \"0x1000\"");
    }
    return number * unit;
  }

  uint32_t read_count(const json& value, const std::string& field, uint32_t low,
                      uint32_t high) const {
    const bool fits =
        value.is_number_unsigned() && value.get<uint64_t>() >= low && value.get<uint64_t>() <= high;
    if (!fits) {
      fail(field,
           "must be a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    }
    return value.get<uint32_t>();
  }

  void read_banks() {
    if (!root_.contains("banks")) fail("banks", "is missing");
    const json& banks = root_["banks"];
    if (!banks.is_array() || banks.empty()) fail("banks", "must be a list of at least one bank");
    for (size_t index = 0; index < banks.size(); ++index) {
      read_bank(banks[index], "banks[" + std::to_string(index) + "]");
    }
    check_banks();
  }

  BankType read_type(const json& bank, const std::string& path) const {
    const std::string text = read_text(bank, path, "type", kMaxTagCharacters);
    for (BankType type : {BankType::kHbm, BankType::kDdr, BankType::kPlram, BankType::kHost}) {
      if (text == bank_type_name(type)) return type;
    }
    fail(path + ".type", "'" + text + "' is none of HBM, DDR, PLRAM, HOST");
  }

  void read_bank(const json& bank, const std::string& path) {
    expect_fields(bank, path, {"type", "size", "count", "base", "bandwidth_gb_per_s", "tag"});
    const BankType type = read_type(bank, path);
    if (!bank.contains("size")) fail(path + ".size", "is missing");
    const uint64_t size = read_bytes(bank["size"], path + ".size");
    if (size == 0 || size % kGranuleBytes != 0) {
      fail(path + ".size", "must be a multiple of 4 KiB, and not 0");
    }
    const uint32_t count =
        bank.contains("count") ? read_count(bank["count"], path + ".count", 1, kMaxBanks) : 1;
    uint64_t base =
        bank.contains("base") ? read_bytes(bank["base"], path + ".base") : platform_.memory_end();
    if (base % kGranuleBytes != 0) fail(path + ".base", "must be a multiple of 4 KiB");
    if (size > kMaxAddress / count || base > kMaxAddress - size * count) {
      fail(path, "ends above 1 TiB, the end of the address space");
    }
    const double speed = read_bandwidth(bank, path);
    for (uint32_t index = 0; index < count; ++index, base += size) {
      platform_.banks.push_back({tag_of(bank, path, type, index, count), type, base, size, speed});
      if (type == BankType::kHbm || type == BankType::kDdr) platform_.memory_gb_per_s += speed;
    }
  }

  double read_bandwidth(const json& bank, const std::string& path) const {
    if (!bank.contains("bandwidth_gb_per_s")) return 0;
    const json& value = bank["bandwidth_gb_per_s"];
    if (!value.is_number() || value.get<double>() < 0) {
      fail(path + ".bandwidth_gb_per_s", "must be a number of GB/s, at least 0");
    }
    return value.get<double>();
  }

  std::string tag_of(const json& bank, const std::string& path, BankType type, uint32_t index,
                     uint32_t count) const {
    if (!bank.contains("tag")) {
      return std::string(bank_type_name(type)) + "[" + std::to_string(platform_.num_banks(type)) +
             "]";
    }
    std::string tag = read_text(bank, path, "tag", kMaxTagCharacters);
    if (count > 1) tag += "[" + std::to_string(index) + "]";
    if (tag.size() > kMaxTagCharacters) fail(path + ".tag", "'" + tag + "' is too long");
    return tag;
  }

  void check_banks() const {
    if (platform_.banks.size() > kMaxBanks) {
      fail("banks", "describes " + std::to_string(platform_.banks.size()) + " banks; at most " +
                        std::to_string(kMaxBanks) + " are possible");
    }
    for (const Bank& bank : platform_.banks) {
      for (const Bank& other : platform_.banks) {
        if (&bank == &other) continue;
        if (bank.tag == other.tag) fail("banks", "names two banks " + bank.tag);
        if (bank.base <= other.base && other.base < bank.base + bank.size_bytes) {
          fail("banks", "has banks that overlap: " + bank.tag + " and " + other.tag);
        }
      }
    }
  }

  void read_clocks() {
    if (!root_.contains("clocks_mhz")) return;
    const json& clocks = root_["clocks_mhz"];
    if (!clocks.is_array() || clocks.empty() || clocks.size() > 2) {
      fail("clocks_mhz", "must be a list of one or two clocks");
    }
    platform_.kernel_clock_mhz = read_count(clocks[0], "clocks_mhz[0]", 1, 2000);
    if (clocks.size() == 2) {
      platform_.second_clock_mhz = read_count(clocks[1], "clocks_mhz[1]", 1, 2000);
    }
  }

  void read_pcie() {
    if (!root_.contains("pcie")) return;
    const json& pcie = root_["pcie"];
    expect_fields(pcie, "pcie", {"generation", "lanes"});
    if (pcie.contains("generation")) {
      platform_.pcie_generation = read_count(pcie["generation"], "pcie.generation", 1, 7);
    }
    if (pcie.contains("lanes")) {
      platform_.pcie_lanes = read_count(pcie["lanes"], "pcie.lanes", 1, 32);
    }
  }

  void read_fpga() {
    if (!root_.contains("fpga")) return;
    const json& fpga = root_["fpga"];
    expect_fields(fpga, "fpga", {"family", "part"});
    if (fpga.contains("family")) platform_.fpga_family = read_text(fpga, "fpga", "family", 63);
    if (fpga.contains("part")) platform_.fpga_part = read_text(fpga, "fpga", "part", 63);
  }

  std::string origin_;
  json root_;
  Platform platform_;
};

}  // namespace

Platform parse_platform(const std::string& text, const std::string& origin) {
  return PlatformParser(text, origin).run();
}

Platform read_platform_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  if (in) text.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  if (!in || in.bad()) throw Error("platform", path + ": cannot read the file");
  if (text.size() > kMaxFileBytes) {
    throw Error("platform", path + ": is larger than 1 MiB, so it is not a platform file");
  }
  return parse_platform(text, path);
}

}  // namespace tandem::xclbin
