// SPDX-License-Identifier: Apache-2.0
//
// The xclbin parser. Fields are read by memcpy (sections need not be aligned in memory) through one
// bounds check.
#include "bitstreams/xclbin/xclbin_file.h"

#include <xclbin.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "bitstreams/xclbin/hexadecimal.h"
#include "common/error.h"

namespace tandem::xclbin {
namespace {

constexpr uint32_t kMaxSections = 256;
constexpr int32_t kMaxUnits = 128;
constexpr uint64_t kMaxDeviceAddress = uint64_t{1} << 48;
constexpr uint64_t kMaxMetadataBytes = uint64_t{16} << 20;
constexpr uint64_t kUnitAlignment = 0x10000;

bool printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

class XclbinParser {
 public:
  XclbinParser(std::span<const std::byte> bytes, const std::string& file_name) {
    file_.bytes_ = bytes;
    file_.file_name_ = file_name;
  }

  XclbinFile run() {
    read_header();
    read_sections();
    file_.memories_ = read_memories(MEM_TOPOLOGY);
    file_.groups_ = read_memories(ASK_GROUP_TOPOLOGY);
    read_units();
    read_connections(CONNECTIVITY, file_.memories_.size());
    if (file_.section(EMBEDDED_METADATA).size() > kMaxMetadataBytes) {
      fail("EMBEDDED_METADATA", offset_of(EMBEDDED_METADATA), "is larger than 16 MiB");
    }
    return std::move(file_);
  }

 private:
  [[noreturn]] void fail(const std::string& field, uint64_t offset, const std::string& what) const {
    throw Error("xclbin",
                file_.file_name_ + ": field " + field + " at offset " + hex(offset) + ": " + what);
  }

  template <typename T>
  T read(uint64_t offset, const std::string& field) const {
    if (offset > file_.bytes_.size() || file_.bytes_.size() - offset < sizeof(T)) {
      fail(field, offset,
           "lies past the end of the file (" + std::to_string(file_.bytes_.size()) +
               " bytes); the file is truncated");
    }
    T value;
    std::memcpy(&value, file_.bytes_.data() + offset, sizeof(T));
    return value;
  }

  // A NUL-terminated, printable string within a fixed field.
  std::string fixed_string(const void* field, size_t capacity, const std::string& name,
                           uint64_t offset) const {
    const char* text = static_cast<const char*>(field);
    const size_t length = strnlen(text, capacity);
    if (length == capacity) fail(name, offset, "is not terminated");
    std::string value(text, length);
    if (!printable(value)) fail(name, offset, "has unprintable characters");
    return value;
  }

  void read_header() {
    const axlf top = read_top();
    if (std::memcmp(top.m_magic, "xclbin2\0", 8) != 0) {
      fail("m_magic", 0, "is not 'xclbin2'; this is not an xclbin file");
    }
    const uint64_t length = top.m_header.m_length;
    const uint64_t at = offsetof(axlf, m_header.m_length);
    if (length > file_.bytes_.size()) {
      fail("m_length", at,
           "says " + std::to_string(length) + " bytes, the file has " +
               std::to_string(file_.bytes_.size()) + "; the file is truncated");
    }
    if (length < sizeof(axlf)) fail("m_length", at, "is smaller than the header");
    file_.bytes_ = file_.bytes_.first(length);
    file_.platform_vbnv_ =
        fixed_string(top.m_header.m_platformVBNV, sizeof(top.m_header.m_platformVBNV),
                     "m_platformVBNV", offsetof(axlf, m_header.m_platformVBNV));
    std::memcpy(file_.uuid_.data(), top.m_header.uuid, 16);
    num_sections_ = top.m_header.m_numSections;
    if (num_sections_ == 0 || num_sections_ > kMaxSections) {
      fail("m_numSections", offsetof(axlf, m_header.m_numSections),
           "is " + std::to_string(num_sections_) + "; 1 to " + std::to_string(kMaxSections) +
               " are possible");
    }
  }

  // The fixed part of the file; the section table inside struct axlf is optional bytes.
  axlf read_top() const {
    axlf top{};
    const size_t fixed = offsetof(axlf, m_sections);
    if (file_.bytes_.size() < sizeof(axlf)) {
      fail("axlf header", file_.bytes_.size(),
           "is cut off: a header has at least " + std::to_string(sizeof(axlf)) + " bytes");
    }
    std::memcpy(static_cast<void*>(&top), file_.bytes_.data(), fixed);
    return top;
  }

  void read_sections() {
    const uint64_t table = offsetof(axlf, m_sections);
    const uint64_t table_end = table + uint64_t{num_sections_} * sizeof(axlf_section_header);
    if (table_end > file_.bytes_.size()) {
      fail("m_sections", table,
           "a table of " + std::to_string(num_sections_) + " sections does not fit in the file");
    }
    for (uint32_t index = 0; index < num_sections_; ++index) {
      const uint64_t at = table + index * sizeof(axlf_section_header);
      const std::string field = "m_sections[" + std::to_string(index) + "]";
      const auto header = read<axlf_section_header>(at, field);
      read_section(header, at, field, table_end);
    }
    check_overlaps();
  }

  void read_section(const axlf_section_header& header, uint64_t at, const std::string& field,
                    uint64_t table_end) {
    const uint64_t offset_at = at + offsetof(axlf_section_header, m_sectionOffset);
    const uint64_t size_at = at + offsetof(axlf_section_header, m_sectionSize);
    const uint64_t file_size = file_.bytes_.size();
    if (header.m_sectionSize > 0 && header.m_sectionOffset < table_end) {
      fail(field + ".m_sectionOffset", offset_at,
           hex(header.m_sectionOffset) + " points into the header or section table");
    }
    if (header.m_sectionOffset > file_size) {
      fail(field + ".m_sectionOffset", offset_at, hex(header.m_sectionOffset) + " is past the end");
    }
    if (header.m_sectionSize > file_size - header.m_sectionOffset) {
      fail(field + ".m_sectionSize", size_at,
           std::to_string(header.m_sectionSize) + " bytes reach past the end of the file");
    }
    if (header.m_sectionOffset % 8 != 0) {
      fail(field + ".m_sectionOffset", offset_at, "is not a multiple of 8");
    }
    file_.sections_.push_back(
        {header.m_sectionKind,
         fixed_string(header.m_sectionName, sizeof(header.m_sectionName), field + ".m_sectionName",
                      at + offsetof(axlf_section_header, m_sectionName)),
         header.m_sectionOffset, header.m_sectionSize});
  }

  void check_overlaps() const {
    std::vector<Section> sorted = file_.sections_;
    std::sort(sorted.begin(), sorted.end(),
              [](const Section& a, const Section& b) { return a.offset < b.offset; });
    for (size_t index = 1; index < sorted.size(); ++index) {
      const Section& before = sorted[index - 1];
      if (before.offset + before.size_bytes > sorted[index].offset) {
        fail(
            "m_sections", offsetof(axlf, m_sections),
            "sections at " + hex(before.offset) + " and " + hex(sorted[index].offset) + " overlap");
      }
    }
  }

  uint64_t offset_of(uint32_t kind) const {
    for (const Section& section : file_.sections_) {
      if (section.kind == kind) return section.offset;
    }
    return 0;
  }

  // Number of entries of a counted section: checked against `limit` and the section's size.
  int32_t counted(uint32_t kind, const std::string& name, uint64_t first, uint64_t entry,
                  int32_t limit) const {
    const auto bytes = file_.section(kind);
    if (bytes.empty()) return 0;
    const uint64_t at = offset_of(kind);
    if (bytes.size() < sizeof(int32_t)) fail(name + ".m_count", at, "section is too small");
    const auto count = read<int32_t>(at, name + ".m_count");
    if (count < 0 || count > limit) {
      fail(name + ".m_count", at,
           "is " + std::to_string(count) + "; 0 to " + std::to_string(limit) + " are possible");
    }
    if (bytes.size() < first + uint64_t(count) * entry && count > 0) {
      fail(name + ".m_count", at,
           std::to_string(count) + " entries do not fit in a section of " +
               std::to_string(bytes.size()) + " bytes");
    }
    return count;
  }

  std::vector<Memory> read_memories(uint32_t kind) const {
    const std::string name = kind == MEM_TOPOLOGY ? "MEM_TOPOLOGY" : "GROUP_TOPOLOGY";
    const uint64_t first = offsetof(mem_topology, m_mem_data);
    const int32_t count = counted(kind, name, first, sizeof(mem_data), kMaxMemories);
    std::vector<Memory> memories;
    for (int32_t index = 0; index < count; ++index) {
      const uint64_t at = offset_of(kind) + first + index * sizeof(mem_data);
      const std::string field = name + "[" + std::to_string(index) + "]";
      const auto data = read<mem_data>(at, field);
      const bool addressed =
          data.m_type != MEM_STREAMING && data.m_type != MEM_STREAMING_CONNECTION;
      if (addressed && (data.m_base_address > kMaxDeviceAddress ||
                        data.m_size > (kMaxDeviceAddress - data.m_base_address) / 1024)) {
        fail(field, at,
             "base " + hex(data.m_base_address) + " and size " + hex(data.m_size) +
                 " KiB exceed the address space");
      }
      memories.push_back({fixed_string(data.m_tag, sizeof(data.m_tag), field + ".m_tag",
                                       at + offsetof(mem_data, m_tag)),
                          data.m_type, data.m_used != 0, addressed ? data.m_base_address : 0,
                          addressed ? data.m_size * 1024 : 0,
                          data.m_type == MEM_STREAMING_CONNECTION ? data.m_size : 0});
    }
    return memories;
  }

  void read_units() {
    const uint64_t first = offsetof(ip_layout, m_ip_data);
    const int32_t count = counted(IP_LAYOUT, "IP_LAYOUT", first, sizeof(ip_data), kMaxUnits);
    for (int32_t index = 0; index < count; ++index) {
      const uint64_t at = offset_of(IP_LAYOUT) + first + index * sizeof(ip_data);
      const std::string field = "IP_LAYOUT[" + std::to_string(index) + "]";
      const auto data = read<ip_data>(at, field);
      const std::string full = fixed_string(data.m_name, sizeof(data.m_name), field + ".m_name",
                                            at + offsetof(ip_data, m_name));
      const size_t colon = full.find(':');
      if (data.m_type == IP_KERNEL && (colon == 0 || colon == std::string::npos)) {
        fail(field + ".m_name", at + offsetof(ip_data, m_name), "is not 'kernel:unit'");
      }
      const uint32_t control = (data.properties & IP_CONTROL_MASK) >> IP_CONTROL_SHIFT;
      if (data.m_type == IP_KERNEL && control > AP_CTRL_NONE) {
        fail(field + ".properties", at + offsetof(ip_data, properties),
             "control protocol " + std::to_string(control) + " is not ap_ctrl_hs, chain or none");
      }
      check_base(data.m_base_address, at + offsetof(ip_data, m_base_address), field);
      file_.units_.push_back(
          {full.substr(0, colon), colon == std::string::npos ? "" : full.substr(colon + 1),
           data.m_base_address, (data.properties & IP_INTERRUPT_ID_MASK) >> IP_INTERRUPT_ID_SHIFT,
           static_cast<Control>(control <= AP_CTRL_NONE ? control : 0)});
    }
  }

  void check_base(uint64_t base, uint64_t at, const std::string& field) const {
    if (base == ~uint64_t{0}) return;
    if (base % kUnitAlignment != 0) {
      fail(field + ".m_base_address", at, hex(base) + " is not a multiple of 64 KiB");
    }
    for (const ComputeUnit& unit : file_.units_) {
      if (unit.base == base) {
        fail(field + ".m_base_address", at, hex(base) + " is already that of " + unit.name);
      }
    }
  }

  void read_connections(uint32_t kind, size_t num_memories) {
    const uint64_t first = offsetof(connectivity, m_connection);
    const int32_t count = counted(kind, "CONNECTIVITY", first, sizeof(connection), kMaxConnections);
    for (int32_t index = 0; index < count; ++index) {
      const uint64_t at = offset_of(kind) + first + index * sizeof(connection);
      const std::string field = "CONNECTIVITY[" + std::to_string(index) + "]";
      const auto data = read<connection>(at, field);
      if (data.arg_index < 0 || data.arg_index > 1024)
        fail(field + ".arg_index", at, "is out of range");
      if (data.m_ip_layout_index < 0 || size_t(data.m_ip_layout_index) >= file_.units_.size()) {
        fail(field + ".m_ip_layout_index", at + 4, "names no compute unit");
      }
      if (data.mem_data_index < 0 || size_t(data.mem_data_index) >= num_memories) {
        fail(field + ".mem_data_index", at + 8, "names no memory");
      }
      file_.connections_.push_back({data.arg_index, data.m_ip_layout_index, data.mem_data_index});
    }
  }

  XclbinFile file_;
  uint32_t num_sections_ = 0;
};

XclbinFile XclbinFile::parse(std::span<const std::byte> bytes, const std::string& file_name) {
  return XclbinParser(bytes, file_name).run();
}

std::span<const std::byte> XclbinFile::section(uint32_t kind) const {
  for (const Section& section : sections_) {
    if (section.kind == kind) return bytes_.subspan(section.offset, section.size_bytes);
  }
  return {};
}

std::span<const std::byte> XclbinFile::emulation_elf() const {
  const auto elf = section(BITSTREAM);
  // ELF magic, 64-bit, little endian.
  static constexpr unsigned char kIdent[6] = {0x7f, 'E', 'L', 'F', 2, 1};
  if (elf.size() < 64 || std::memcmp(elf.data(), kIdent, sizeof(kIdent)) != 0) {
    throw Error("xclbin",
                file_name_ +
                    ": section BITSTREAM is not an ELF shared object; the file was built for "
                    "a real card or another emulator: build it with v++");
  }
  return elf;
}

std::string XclbinFile::uuid_text() const {
  std::string text;
  for (size_t index = 0; index < uuid_.size(); ++index) {
    if (index == 4 || index == 6 || index == 8 || index == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", uuid_[index]);
    text += digits;
  }
  return text;
}

}  // namespace tandem::xclbin
