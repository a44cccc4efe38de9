// SPDX-License-Identifier: Apache-2.0
//
// Reads an xclbin. Every size, count, offset and string is checked before use.
//
// parse() keeps a view of the caller's bytes and copies the small tables. No allocation is
// proportional to a number that the file only states. Errors: Error("xclbin", ...) naming the file,
// the field and its byte offset. Cost: linear in the section table and the small sections; only the
// first bytes of BITSTREAM are read. Threads: const after parse. Source: the public header
// <xclbin.h>.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tandem::xclbin {

// Rows of a table.
constexpr int32_t kMaxMemories = 256;
constexpr int32_t kMaxConnections = 1 << 16;

struct Section {
  uint32_t kind = 0;
  std::string name;
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
};

struct Memory {
  std::string tag;
  uint32_t type = 0;  // MEM_TYPE
  bool used = false;
  uint64_t base = 0;
  uint64_t size_bytes = 0;
  uint64_t link_depth = 0;  // MEM_STREAMING_CONNECTION: elements; 0: as in the source
};

enum class Control : uint8_t { kHandshake = 0, kChain = 1, kNone = 2 };

// The spelling in metadata and pragmas.
constexpr const char* control_name(Control control) {
  switch (control) {
    case Control::kHandshake:
      return "ap_ctrl_hs";
    case Control::kChain:
      return "ap_ctrl_chain";
    case Control::kNone:
      return "ap_ctrl_none";
  }
  return "unknown";
}

struct ComputeUnit {
  std::string kernel;
  std::string name;  // name of the unit, without the kernel's name
  uint64_t base = 0;
  uint32_t interrupt_id = 0;
  Control control = Control::kHandshake;
};

struct Connection {
  int32_t argument = 0;
  int32_t unit = 0;    // index into compute_units
  int32_t memory = 0;  // index into memories
};

class XclbinFile {
 public:
  // `bytes` must outlive the object; `file_name` is used in messages only.
  static XclbinFile parse(std::span<const std::byte> bytes, const std::string& file_name);

  // Bytes of the first section of `kind`; empty when absent.
  std::span<const std::byte> section(uint32_t kind) const;
  // The ELF shared object with the kernels. Throws Error when the file was built for a real card.
  std::span<const std::byte> emulation_elf() const;

  const std::string& file_name() const { return file_name_; }
  const std::string& platform_vbnv() const { return platform_vbnv_; }
  const std::array<uint8_t, 16>& uuid() const { return uuid_; }
  std::string uuid_text() const;
  const std::vector<Section>& sections() const { return sections_; }
  const std::vector<Memory>& memories() const { return memories_; }  // plain banks
  // Banks followed by bank ranges, as XRT numbers memory groups; equals memories() without ranges.
  const std::vector<Memory>& groups() const { return groups_.empty() ? memories_ : groups_; }
  const std::vector<ComputeUnit>& compute_units() const { return units_; }
  const std::vector<Connection>& connections() const { return connections_; }

 private:
  std::span<const std::byte> bytes_;
  std::string file_name_;
  std::string platform_vbnv_;
  std::array<uint8_t, 16> uuid_{};
  std::vector<Section> sections_;
  std::vector<Memory> memories_;
  std::vector<Memory> groups_;
  std::vector<ComputeUnit> units_;
  std::vector<Connection> connections_;

  friend class XclbinParser;
};

}  // namespace tandem::xclbin
