// SPDX-License-Identifier: Apache-2.0
//
// A table section is a count, entries from a fixed offset on, and one pair of functions per entry
// type.
#include "bitstreams/tools/section_json.h"

#include <xclbin.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "bitstreams/xclbin/hexadecimal.h"
#include "bitstreams/xclbin/inspect.h"
#include "common/error.h"

namespace tandem::xclbin {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxEntries = 1 << 16;
constexpr const char* kMemoryTypes[] = {
    "MEM_DDR3", "MEM_DDR4",     "MEM_DRAM", "MEM_STREAMING", "MEM_PREALLOCATED_GLOB",
    "MEM_ARE",  "MEM_HBM",      "MEM_BRAM", "MEM_URAM",      "MEM_STREAMING_CONNECTION",
    "MEM_HOST", "MEM_PS_KERNEL"};
constexpr const char* kIpTypes[] = {
    "IP_MB",       "IP_KERNEL",  "IP_DNASC",       "IP_DDR4_CONTROLLER",
    "IP_MEM_DDR4", "IP_MEM_HBM", "IP_MEM_HBM_ECC", "IP_PS_KERNEL"};
constexpr const char* kClockTypes[] = {"UNUSED", "DATA", "KERNEL", "SYSTEM"};
constexpr const char* kControls[] = {"AP_CTRL_HS", "AP_CTRL_CHAIN", "AP_CTRL_NONE"};
constexpr uint64_t kNoAddress = ~uint64_t{0};

// A name of `names`, or the number itself for a type that is not in the list.
template <size_t N>
std::string name_of(const char* const (&names)[N], uint64_t value) {
  return value < N ? names[value] : std::to_string(value);
}

std::string text_of(const void* field, size_t capacity) {
  const char* text = static_cast<const char*>(field);
  return std::string(text, strnlen(text, capacity));
}

// An entry's fields, with messages that name section, entry and field.
class Fields {
 public:
  Fields(const ordered_json& object, std::string path) : object_(object), path_(std::move(path)) {
    if (!object.is_object()) throw Error("xclbin", path_ + ": must be an object");
  }

  bool has(const char* key) const { return object_.contains(key); }

  // A number, or text that is one; `last`: the largest that fits.
  uint64_t number(const char* key, uint64_t last) const {
    const ordered_json& value = member(key);
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    const bool hexadecimal = text.rfind("0x", 0) == 0;
    uint64_t result = 0;
    const char* end = text.data() + text.size();
    const auto parsed =
        std::from_chars(text.data() + (hexadecimal ? 2 : 0), end, result, hexadecimal ? 16 : 10);
    if (parsed.ec != std::errc() || parsed.ptr != end || result > last) {
      fail(key, "'" + text + "' is not a number from 0 to " + std::to_string(last));
    }
    return result;
  }

  std::string text(const char* key) const {
    const ordered_json& value = member(key);
    if (!value.is_string()) fail(key, "must be text");
    return value.get<std::string>();
  }

  template <size_t N>
  uint64_t one_of(const char* key, const char* const (&names)[N], uint64_t last) const {
    const std::string wanted = member(key).is_string() ? text(key) : "";
    for (size_t index = 0; index < N; ++index) {
      if (wanted == names[index]) return index;
    }
    if (wanted.find_first_not_of("0123456789") == std::string::npos) return number(key, last);
    fail(key, "'" + wanted + "' is unknown");
  }

  void copy_text(const char* key, void* field, size_t capacity) const {
    const std::string value = text(key);
    if (value.size() >= capacity) {
      fail(key, "'" + value + "' has more than " + std::to_string(capacity - 1) + " characters");
    }
    std::memcpy(field, value.data(), value.size());
  }

 private:
  [[noreturn]] void fail(const char* key, const std::string& what) const {
    throw Error("xclbin", path_ + "." + key + ": " + what);
  }
  const ordered_json& member(const char* key) const {
    if (!object_.contains(key)) fail(key, "is missing");
    return object_[key];
  }

  const ordered_json& object_;
  std::string path_;
};

ordered_json write_entry(const mem_data& data) {
  return {{"m_type", name_of(kMemoryTypes, data.m_type)},
          {"m_used", std::to_string(data.m_used)},
          {"m_sizeKB", hex(data.m_size)},
          {"m_tag", text_of(data.m_tag, sizeof(data.m_tag))},
          {"m_base_address", hex(data.m_base_address)}};
}

void read_entry(const Fields& fields, mem_data& data) {
  data.m_type = static_cast<uint8_t>(fields.one_of("m_type", kMemoryTypes, 255));
  data.m_used = static_cast<uint8_t>(fields.number("m_used", 255));
  data.m_size = fields.number("m_sizeKB", ~uint64_t{0});
  fields.copy_text("m_tag", data.m_tag, sizeof(data.m_tag));
  data.m_base_address = fields.number("m_base_address", ~uint64_t{0});
}

ordered_json write_entry(const ip_data& data) {
  ordered_json entry = {{"m_type", name_of(kIpTypes, data.m_type)}};
  const uint32_t control = (data.properties & IP_CONTROL_MASK) >> IP_CONTROL_SHIFT;
  const bool plain = data.m_type == IP_KERNEL && control < std::size(kControls) &&
                     (data.properties & ~0xffffu) == 0;
  if (plain) {
    entry["m_int_enable"] = std::to_string(data.properties & IP_INT_ENABLE_MASK);
    entry["m_interrupt_id"] =
        std::to_string((data.properties & IP_INTERRUPT_ID_MASK) >> IP_INTERRUPT_ID_SHIFT);
    entry["m_ip_control"] = kControls[control];
  } else {
    entry["properties"] = hex(data.properties);
  }
  const bool addressed = data.m_base_address != kNoAddress;
  entry["m_base_address"] = addressed ? hex(data.m_base_address) : "not_used";
  entry["m_name"] = text_of(data.m_name, sizeof(data.m_name));
  return entry;
}

void read_entry(const Fields& fields, ip_data& data) {
  data.m_type = static_cast<uint32_t>(fields.one_of("m_type", kIpTypes, ~uint32_t{0}));
  if (fields.has("properties")) {
    data.properties = static_cast<uint32_t>(fields.number("properties", ~uint32_t{0}));
  }
  if (fields.has("m_int_enable")) {
    data.properties |= static_cast<uint32_t>(fields.number("m_int_enable", 1));
  }
  if (fields.has("m_interrupt_id")) {
    data.properties |= static_cast<uint32_t>(fields.number("m_interrupt_id", 127))
                       << IP_INTERRUPT_ID_SHIFT;
  }
  if (fields.has("m_ip_control")) {
    data.properties |= static_cast<uint32_t>(fields.one_of("m_ip_control", kControls, 2))
                       << IP_CONTROL_SHIFT;
  }
  const bool unused = fields.text("m_base_address") == "not_used";
  data.m_base_address = unused ? kNoAddress : fields.number("m_base_address", kNoAddress);
  fields.copy_text("m_name", data.m_name, sizeof(data.m_name));
}

ordered_json write_entry(const connection& data) {
  return {{"arg_index", std::to_string(data.arg_index)},
          {"m_ip_layout_index", std::to_string(data.m_ip_layout_index)},
          {"mem_data_index", std::to_string(data.mem_data_index)}};
}

void read_entry(const Fields& fields, connection& data) {
  constexpr uint64_t kLast = 0x7fffffff;
  data.arg_index = static_cast<int32_t>(fields.number("arg_index", kLast));
  data.m_ip_layout_index = static_cast<int32_t>(fields.number("m_ip_layout_index", kLast));
  data.mem_data_index = static_cast<int32_t>(fields.number("mem_data_index", kLast));
}

ordered_json write_entry(const clock_freq& data) {
  return {{"m_freq_Mhz", std::to_string(data.m_freq_Mhz)},
          {"m_type", name_of(kClockTypes, data.m_type)},
          {"m_name", text_of(data.m_name, sizeof(data.m_name))}};
}

void read_entry(const Fields& fields, clock_freq& data) {
  data.m_freq_Mhz = static_cast<uint16_t>(fields.number("m_freq_Mhz", 0xffff));
  data.m_type = static_cast<uint8_t>(fields.one_of("m_type", kClockTypes, 255));
  fields.copy_text("m_name", data.m_name, sizeof(data.m_name));
}

// A section of entries: `Count` at offset 0, entries from `first` on, under the JSON keys.
template <typename Entry, typename Count>
struct Table {
  const char* key;
  const char* list;
  size_t first;

  std::string write(std::span<const std::byte> bytes) const {
    const size_t count = bytes.size() < first ? 0 : (bytes.size() - first) / sizeof(Entry);
    Count stated = 0;
    if (bytes.size() >= sizeof(stated)) std::memcpy(&stated, bytes.data(), sizeof(stated));
    if (stated < 0 || size_t(stated) > count) {
      throw Error("xclbin", std::string(key) + ".m_count: " + std::to_string(stated) +
                                " entries do not fit in a section of " +
                                std::to_string(bytes.size()) + " bytes");
    }
    ordered_json entries = ordered_json::array();
    for (size_t index = 0; index < size_t(stated); ++index) {
      Entry entry;
      std::memcpy(&entry, bytes.data() + first + index * sizeof(Entry), sizeof(Entry));
      entries.push_back(write_entry(entry));
    }
    const ordered_json file = {{key, {{"m_count", std::to_string(stated)}, {list, entries}}}};
    return file.dump(4) + "\n";
  }

  std::vector<std::byte> read(const std::string& text) const {
    const ordered_json root = ordered_json::parse(text, nullptr, false);
    if (!root.is_object() || !root.contains(key) || !root[key].is_object() ||
        !root[key].contains(list) || !root[key][list].is_array()) {
      throw Error("xclbin", std::string("the JSON has no list ") + key + "." + list);
    }
    const ordered_json& entries = root[key][list];
    const uint64_t stated = Fields(root[key], key).number("m_count", kMaxEntries);
    if (stated != entries.size()) {
      throw Error("xclbin", std::string(key) + ".m_count: is " + std::to_string(stated) + ", but " +
                                std::to_string(entries.size()) + " entries are listed");
    }
    std::vector<std::byte> bytes(first + entries.size() * sizeof(Entry));
    const auto count = static_cast<Count>(entries.size());
    std::memcpy(bytes.data(), &count, sizeof(count));
    for (size_t index = 0; index < entries.size(); ++index) {
      Entry entry;
      std::memset(static_cast<void*>(&entry), 0, sizeof(entry));
      const std::string path = std::string(key) + "." + list + "[" + std::to_string(index) + "]";
      read_entry(Fields(entries[index], path), entry);
      std::memcpy(bytes.data() + first + index * sizeof(Entry), &entry, sizeof(entry));
    }
    return bytes;
  }
};

// Calls `use` with the table of `kind`; false when the kind is no table.
template <typename Use>
bool with_table(uint32_t kind, Use&& use) {
  constexpr size_t kMemories = offsetof(mem_topology, m_mem_data);
  constexpr size_t kConnections = offsetof(connectivity, m_connection);
  switch (kind) {
    case MEM_TOPOLOGY:
      use(Table<mem_data, int32_t>{"mem_topology", "m_mem_data", kMemories});
      return true;
    case ASK_GROUP_TOPOLOGY:
      use(Table<mem_data, int32_t>{"group_topology", "m_mem_data", kMemories});
      return true;
    case IP_LAYOUT:
      use(Table<ip_data, int32_t>{"ip_layout", "m_ip_data", offsetof(ip_layout, m_ip_data)});
      return true;
    case CONNECTIVITY:
      use(Table<connection, int32_t>{"connectivity", "m_connection", kConnections});
      return true;
    case ASK_GROUP_CONNECTIVITY:
      use(Table<connection, int32_t>{"group_connectivity", "m_connection", kConnections});
      return true;
    case CLOCK_FREQ_TOPOLOGY:
      use(Table<clock_freq, int16_t>{"clock_freq_topology", "m_clock_freq",
                                     offsetof(clock_freq_topology, m_clock_freq)});
      return true;
    default:
      return false;
  }
}

}  // namespace

bool has_json(uint32_t kind) {
  return kind == BUILD_METADATA || kind == KEYVALUE_METADATA ||
         with_table(kind, [](const auto&) {});
}

std::string section_to_json(uint32_t kind, std::span<const std::byte> bytes) {
  std::string text;
  if (with_table(kind, [&](const auto& table) { text = table.write(bytes); })) return text;
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::vector<std::byte> section_from_json(uint32_t kind, const std::string& text) {
  std::vector<std::byte> bytes;
  if (with_table(kind, [&](const auto& table) { bytes = table.read(text); })) return bytes;
  if (!ordered_json::accept(text)) {
    throw Error("xclbin", section_kind_name(kind) + ": the file is not valid JSON");
  }
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

}  // namespace tandem::xclbin
