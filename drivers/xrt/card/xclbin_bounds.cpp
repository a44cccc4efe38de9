// SPDX-License-Identifier: Apache-2.0
//
// Every number is compared before it is used in an offset, in an order that cannot overflow.
#include "xrt/card/xclbin_bounds.h"

#include <xclbin.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <utility>

#include "common/error.h"

namespace tandem::device::xrt_card {
namespace {

constexpr std::uint64_t kFixedBytes = offsetof(axlf, m_sections);

// Copies bytes [at, at + count) to `to`; false when they cannot be read.
using Reader = std::function<bool(std::uint64_t at, void* to, std::size_t count)>;

class BoundsCheck {
 public:
  BoundsCheck(std::string name, std::uint64_t size, Reader reader)
      : name_(std::move(name)), size_(size), reader_(std::move(reader)) {}

  void run() {
    check_header();
    for (std::uint64_t index = 0; index < num_sections_; ++index) check_section(index);
    check_connections(CONNECTIVITY, MEM_TOPOLOGY);
    check_connections(ASK_GROUP_CONNECTIVITY, ASK_GROUP_TOPOLOGY);
  }

 private:
  struct Table {
    std::uint64_t first = 0;  // byte of the first entry
    std::int32_t count = 0;
  };

  [[noreturn]] void fail(const std::string& field, std::uint64_t at, const std::string& problem) {
    throw Error("xrt", "the xclbin " + name_ + " is damaged: " + field + " at byte " +
                           std::to_string(at) + " " + problem + " (" + std::to_string(size_) +
                           " bytes); build or copy it again");
  }

  template <typename Value>
  Value read(std::uint64_t at) {
    Value value{};
    read(at, &value, sizeof(value));
    return value;
  }

  void read(std::uint64_t at, void* to, std::size_t count) {
    if (!reader_(at, to, count)) fail("the field", at, "cannot be read");
  }

  void check_header() {
    axlf top{};
    if (size_ < kFixedBytes) fail("the header", 0, "reaches past the end of the file");
    read(0, &top, kFixedBytes);
    if (std::memcmp(top.m_magic, "xclbin2", 8) != 0) fail("m_magic", 0, "is not \"xclbin2\"");
    length_ = top.m_header.m_length;
    const std::uint64_t header_at = offsetof(axlf, m_header);
    const std::uint64_t length_at = header_at + offsetof(axlf_header, m_length);
    if (length_ > size_) fail("m_length", length_at, std::to_string(length_) + " exceeds the file");
    if (length_ < kFixedBytes) fail("m_length", length_at, "is smaller than the header");
    num_sections_ = top.m_header.m_numSections;
    if (num_sections_ > (length_ - kFixedBytes) / sizeof(axlf_section_header)) {
      fail("m_numSections", header_at + offsetof(axlf_header, m_numSections),
           std::to_string(num_sections_) + " sections do not fit in the file");
    }
    const auto& vbnv = top.m_header.m_platformVBNV;
    if (strnlen(reinterpret_cast<const char*>(vbnv), sizeof(vbnv)) == sizeof(vbnv)) {
      fail("m_platformVBNV", header_at + offsetof(axlf_header, m_platformVBNV), "has no end");
    }
  }

  void check_section(std::uint64_t index) {
    const std::uint64_t at = kFixedBytes + index * sizeof(axlf_section_header);
    const std::uint64_t table_end = kFixedBytes + num_sections_ * sizeof(axlf_section_header);
    const std::string field = "m_sections[" + std::to_string(index) + "]";
    const auto section = read<axlf_section_header>(at);
    const std::uint64_t offset = section.m_sectionOffset, size = section.m_sectionSize;
    const std::uint64_t offset_at = at + offsetof(axlf_section_header, m_sectionOffset);
    if (offset > length_) {
      fail(field + ".m_sectionOffset", offset_at, std::to_string(offset) + " is past the end");
    }
    if (size > 0 && offset < table_end) {
      fail(field + ".m_sectionOffset", offset_at,
           std::to_string(offset) + " lies in the header or the section table");
    }
    if (size > length_ - offset) {
      fail(field + ".m_sectionSize", at + offsetof(axlf_section_header, m_sectionSize),
           std::to_string(size) + " reaches past the end");
    }
    check_table(section);
  }

  void check_table(const axlf_section_header& section) {
    switch (section.m_sectionKind) {
      case MEM_TOPOLOGY:
      case ASK_GROUP_TOPOLOGY:
        return check_names(add_table(section, offsetof(mem_topology, m_mem_data), sizeof(mem_data)),
                           "m_tag",
                           {sizeof(mem_data), offsetof(mem_data, m_tag), sizeof(mem_data::m_tag)});
      case IP_LAYOUT:
        return check_names(add_table(section, offsetof(ip_layout, m_ip_data), sizeof(ip_data)),
                           "m_name",
                           {sizeof(ip_data), offsetof(ip_data, m_name), sizeof(ip_data::m_name)});
      case CONNECTIVITY:
      case ASK_GROUP_CONNECTIVITY:
        add_table(section, offsetof(connectivity, m_connection), sizeof(connection));
        return;
      case CLOCK_FREQ_TOPOLOGY:
        add_table(section, offsetof(clock_freq_topology, m_clock_freq), sizeof(clock_freq));
        return;
      default:
        return;
    }
  }

  // The first section of a kind is the one that XRT reads.
  Table add_table(const axlf_section_header& section, std::uint64_t head, std::uint64_t entry) {
    const std::uint64_t at = section.m_sectionOffset;
    std::int32_t count = -1;
    if (section.m_sectionSize >= head) {
      // A clock table's count has two bytes.
      count = section.m_sectionKind == CLOCK_FREQ_TOPOLOGY ? read<std::int16_t>(at)
                                                           : read<std::int32_t>(at);
    }
    if (count < 0 || static_cast<std::uint64_t>(count) > (section.m_sectionSize - head) / entry) {
      fail("m_count", at, "does not fit in its section");
    }
    const Table table{at + head, count};
    tables_.emplace(section.m_sectionKind, table);
    return table;
  }

  struct NameField {
    std::uint64_t entry_bytes, offset, capacity;
  };

  void check_names(const Table& table, const std::string& field, const NameField& name) {
    char text[sizeof(ip_data::m_name)];
    for (std::int32_t index = 0; index < table.count; ++index) {
      const std::uint64_t at =
          table.first + static_cast<std::uint64_t>(index) * name.entry_bytes + name.offset;
      read(at, text, name.capacity);
      if (strnlen(text, name.capacity) == name.capacity) {
        fail(field + "[" + std::to_string(index) + "]", at, "has no end");
      }
    }
  }

  std::int32_t count_of(std::uint32_t kind) const {
    const auto found = tables_.find(kind);
    return found == tables_.end() ? 0 : found->second.count;
  }

  // XRT takes the plain memories where an xclbin has no groups.
  void check_connections(std::uint32_t kind, std::uint32_t memory_kind) {
    const auto table = tables_.find(kind);
    if (table == tables_.end()) return;
    const bool has_memories = tables_.count(memory_kind) != 0;
    const std::int32_t memories =
        count_of(has_memories ? memory_kind : std::uint32_t{MEM_TOPOLOGY});
    const std::int32_t units = count_of(IP_LAYOUT);
    for (std::int32_t index = 0; index < table->second.count; ++index) {
      const std::uint64_t at =
          table->second.first + static_cast<std::uint64_t>(index) * sizeof(connection);
      const auto entry = read<connection>(at);
      const std::string field = "m_connection[" + std::to_string(index) + "]";
      if (entry.m_ip_layout_index < 0 || entry.m_ip_layout_index >= units) {
        fail(field + ".m_ip_layout_index", at + offsetof(connection, m_ip_layout_index),
             "names no compute unit");
      }
      if (entry.mem_data_index < 0 || entry.mem_data_index >= memories) {
        fail(field + ".mem_data_index", at + offsetof(connection, mem_data_index),
             "names no memory");
      }
    }
  }

  std::string name_;
  std::uint64_t size_ = 0, length_ = 0, num_sections_ = 0;
  std::map<std::uint32_t, Table> tables_;  // by section kind
  Reader reader_;
};

}  // namespace

void check_xclbin_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (!fs::exists(status)) {
    throw Error("xrt", "there is no xclbin " + path + ": check the path");
  }
  if (!fs::is_regular_file(status)) {
    throw Error("xrt", "the xclbin " + path + " is not a file: check the path");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error("xrt", "cannot open the xclbin " + path + ": check its permissions");
  const std::uint64_t size = fs::file_size(path, code);
  if (code) throw Error("xrt", "cannot read the xclbin " + path + ": " + code.message());
  BoundsCheck(path, size, [&in](std::uint64_t at, void* to, std::size_t count) {
    in.seekg(static_cast<std::streamoff>(at));
    return !!in.read(static_cast<char*>(to), static_cast<std::streamsize>(count));
  }).run();
}

void check_xclbin_bytes(std::span<const std::byte> bytes, const std::string& name) {
  BoundsCheck(name, bytes.size(), [bytes](std::uint64_t at, void* to, std::size_t count) {
    if (at > bytes.size() || count > bytes.size() - at) return false;
    std::memcpy(to, bytes.data() + at, count);
    return true;
  }).run();
}

}  // namespace tandem::device::xrt_card
