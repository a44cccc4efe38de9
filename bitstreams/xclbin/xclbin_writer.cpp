// SPDX-License-Identifier: Apache-2.0
//
// Encodes a design into sections and places them at 8-byte boundaries after the section table.
#include "bitstreams/xclbin/xclbin_writer.h"

#include <xclbin.h>

#include <algorithm>
#include <cstring>

#include "bitstreams/xclbin/memory_layout.h"
#include "bitstreams/xclbin/unit_layout.h"
#include "common/error.h"

namespace tandem::xclbin {
namespace {

constexpr uint64_t kFirstUnitBase = 0x1800000;
constexpr uint64_t kUnitStride = 0x10000;
constexpr size_t kMaxUnits = 126;  // interrupt ids are 7 bits, 0 means none

using Bytes = std::vector<std::byte>;

struct RawSection {
  axlf_section_kind kind;
  std::string name;
  Bytes bytes;
};

template <typename T>
void append(Bytes& bytes, const T& value) {
  const size_t end = bytes.size();
  bytes.resize(end + sizeof(T));
  std::memcpy(bytes.data() + end, &value, sizeof(T));
}

// A section that starts with a count and continues with entries at `first`.
template <typename Entry>
Bytes counted_section(const std::vector<Entry>& entries, size_t first) {
  Bytes bytes;
  append(bytes, static_cast<int32_t>(entries.size()));
  bytes.resize(first);
  for (const Entry& entry : entries) append(bytes, entry);
  return bytes;
}

void copy_text(void* field, size_t capacity, const std::string& text, const char* what) {
  if (text.size() >= capacity) {
    throw Error("xclbin", std::string(what) + " '" + text + "' has more than " +
                              std::to_string(capacity - 1) + " characters");
  }
  std::memcpy(field, text.c_str(), text.size() + 1);
}

Bytes ip_section(const Design& design) {
  std::vector<ip_data> entries;
  for (const PlacedUnit& unit : place_units(design)) {
    ip_data data{};
    data.m_type = IP_KERNEL;
    const auto interrupt_id = static_cast<uint32_t>(entries.size() + 1);
    data.properties = 1u | (interrupt_id << IP_INTERRUPT_ID_SHIFT) |
                      (static_cast<uint32_t>(unit.kernel->control) << IP_CONTROL_SHIFT);
    data.m_base_address = unit.base;
    copy_text(data.m_name, sizeof(data.m_name), unit.kernel->name + ":" + unit.name,
              "compute unit");
    entries.push_back(data);
  }
  return counted_section(entries, offsetof(ip_layout, m_ip_data));
}

Bytes clock_section(const Design& design) {
  std::vector<clock_freq> clocks;
  for (const auto& [type, name] :
       {std::pair{CT_DATA, "DATA_CLK"}, std::pair{CT_KERNEL, "KERNEL_CLK"}}) {
    clock_freq clock{};
    clock.m_freq_Mhz = static_cast<uint16_t>(clock_mhz(design));
    clock.m_type = static_cast<uint8_t>(type);
    copy_text(clock.m_name, sizeof(clock.m_name), name, "clock");
    clocks.push_back(clock);
  }
  Bytes bytes;
  append(bytes, static_cast<int16_t>(clocks.size()));
  bytes.resize(offsetof(clock_freq_topology, m_clock_freq));
  for (const clock_freq& clock : clocks) append(bytes, clock);
  return bytes;
}

// Readers refuse larger tables.
void check_rows(const char* what, size_t count, int32_t limit) {
  if (count <= static_cast<size_t>(limit)) return;
  throw Error("xclbin", "the design has " + std::to_string(count) + " " + what + "; " +
                            std::to_string(limit) + " are possible");
}

std::vector<RawSection> make_sections(const Design& design) {
  const Topology topology = make_topology(design);
  check_rows("memory rows (banks, stream links and ranges of banks)", topology.groups.size(),
             kMaxMemories);
  check_rows("rows of connections", topology.bank_connections.size(), kMaxConnections);
  const std::string xml = metadata_xml(design);
  const auto* text = reinterpret_cast<const std::byte*>(xml.data());
  const size_t first_memory = offsetof(mem_topology, m_mem_data);
  const size_t first_connection = offsetof(connectivity, m_connection);
  std::vector<RawSection> sections = {
      {BITSTREAM, design.name, design.elf},
      {EMBEDDED_METADATA, "metadata", Bytes(text, text + xml.size())},
      {MEM_TOPOLOGY, "mem_topology", counted_section(topology.banks, first_memory)},
      {IP_LAYOUT, "ip_layout", ip_section(design)},
      {CONNECTIVITY, "connectivity", counted_section(topology.bank_connections, first_connection)},
      {CLOCK_FREQ_TOPOLOGY, "clocks", clock_section(design)}};
  const std::string build = build_metadata(design);
  const auto* build_text = reinterpret_cast<const std::byte*>(build.data());
  sections.push_back(
      {BUILD_METADATA, "build_metadata", Bytes(build_text, build_text + build.size())});
  if (topology.groups.size() > topology.banks.size()) {
    sections.push_back(
        {ASK_GROUP_TOPOLOGY, "group_topology", counted_section(topology.groups, first_memory)});
    sections.push_back({ASK_GROUP_CONNECTIVITY, "group_connect",
                        counted_section(topology.group_connections, first_connection)});
  }
  sections.front().name = "kernels";
  return sections;
}

// 128 bits of FNV-1a over the content, marked as a version 8 (custom) UUID.
void hash_uuid(const std::vector<RawSection>& sections, unsigned char* uuid) {
  uint64_t hashes[2] = {0xcbf29ce484222325u, 0x9ae16a3b2f90404fu};
  for (const RawSection& section : sections) {
    for (std::byte byte : section.bytes) {
      for (uint64_t& hash : hashes) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3u;
      hashes[1] = (hashes[1] << 7) | (hashes[1] >> 57);
    }
  }
  std::memcpy(uuid, hashes, 16);
  uuid[6] = static_cast<unsigned char>((uuid[6] & 0x0f) | 0x80);
  uuid[8] = static_cast<unsigned char>((uuid[8] & 0x3f) | 0x80);
}

axlf make_header(const Design& design, const std::vector<RawSection>& sections, uint64_t length) {
  axlf top{};
  std::memcpy(top.m_magic, "xclbin2\0", 8);
  top.m_signature_length = -1;
  std::memset(top.reserved, 0xff, sizeof(top.reserved));
  std::memset(top.m_keyBlock, 0xff, sizeof(top.m_keyBlock));
  top.m_header.m_length = length;
  top.m_header.m_versionMajor = 2;
  top.m_header.m_versionMinor = 13;
  top.m_header.m_mode = design.hardware_emulation ? XCLBIN_HW_EMU : XCLBIN_SW_EMU;
  copy_text(top.m_header.m_platformVBNV, sizeof(top.m_header.m_platformVBNV), design.platform->vbnv,
            "platform");
  hash_uuid(sections, top.m_header.uuid);
  std::memcpy(&top.m_uniqueId, top.m_header.uuid, sizeof(top.m_uniqueId));
  top.m_header.m_numSections = static_cast<uint32_t>(sections.size());
  return top;
}

uint64_t round_up8(uint64_t value) { return (value + 7) / 8 * 8; }

}  // namespace

bool Kernel::free_running() const {
  return control == Control::kNone &&
         std::all_of(arguments.begin(), arguments.end(),
                     [](const Argument& argument) { return argument.kind == 4; });
}

uint32_t clock_mhz(const Design& design) {
  return design.kernel_clock_mhz != 0 ? design.kernel_clock_mhz : design.platform->kernel_clock_mhz;
}

std::vector<PlacedUnit> place_units(const Design& design) {
  std::vector<PlacedUnit> units;
  for (const Kernel& kernel : design.kernels) {
    for (const std::string& name : kernel.unit_names) {
      const uint64_t base = kFirstUnitBase + units.size() * kUnitStride;
      units.push_back({&kernel, name, kernel.free_running() ? kNoBase : base});
    }
  }
  return units;
}

std::vector<std::byte> encode(const Design& design) {
  const size_t num_units = place_units(design).size();
  if (num_units == 0 || num_units > kMaxUnits) {
    throw Error("xclbin", "a design has 1 to " + std::to_string(kMaxUnits) + " compute units, '" +
                              design.name + "' has " + std::to_string(num_units));
  }
  const std::vector<RawSection> sections = make_sections(design);
  const uint64_t table = offsetof(axlf, m_sections);
  std::vector<axlf_section_header> headers;
  uint64_t end = round_up8(table + sections.size() * sizeof(axlf_section_header));
  for (const RawSection& section : sections) {
    axlf_section_header header{};
    header.m_sectionKind = section.kind;
    copy_text(header.m_sectionName, sizeof(header.m_sectionName), section.name, "section");
    header.m_sectionOffset = end;
    header.m_sectionSize = section.bytes.size();
    headers.push_back(header);
    end = round_up8(end + section.bytes.size());
  }
  const axlf top = make_header(design, sections, end);
  Bytes file(end);
  std::memcpy(file.data(), &top, table);
  std::memcpy(file.data() + table, headers.data(), headers.size() * sizeof(axlf_section_header));
  for (size_t index = 0; index < sections.size(); ++index) {
    std::copy(sections[index].bytes.begin(), sections[index].bytes.end(),
              file.begin() + static_cast<ptrdiff_t>(headers[index].m_sectionOffset));
  }
  return file;
}

}  // namespace tandem::xclbin
