// SPDX-License-Identifier: Apache-2.0
//
// Every number is compared before it is used in an offset, in an order that cannot overflow. A
// signature may follow the m_length bytes of the image.
#include "xrt/card/xclbin_check.h"

#include <xclbin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/error.h"

namespace tandem::device::xrt_card {
namespace {

constexpr std::uint64_t kFixedBytes = offsetof(axlf, m_sections);

class BoundsCheck {
 public:
  explicit BoundsCheck(const std::string& path)
      : path_(path), size_(std::filesystem::file_size(path)), in_(path, std::ios::binary) {}

  void run() {
    axlf top{};
    if (size_ < kFixedBytes) fail("the header", 0, "reaches past the end of the file");
    read(0, &top, kFixedBytes);
    if (std::memcmp(top.m_magic, "xclbin2", 8) != 0) fail("m_magic", 0, "is not \"xclbin2\"");
    length_ = top.m_header.m_length;
    const std::uint64_t at = offsetof(axlf, m_header) + offsetof(axlf_header, m_length);
    if (length_ > size_) fail("m_length", at, std::to_string(length_) + " exceeds the file");
    if (length_ < kFixedBytes) fail("m_length", at, "is smaller than the header");
    const std::uint64_t count = top.m_header.m_numSections;
    if (count > (length_ - kFixedBytes) / sizeof(axlf_section_header)) {
      fail("m_numSections", offsetof(axlf, m_header) + offsetof(axlf_header, m_numSections),
           std::to_string(count) + " sections do not fit in the file");
    }
    for (std::uint64_t i = 0; i < count; ++i) check_section(i);
  }

 private:
  [[noreturn]] void fail(const std::string& field, std::uint64_t at, const std::string& problem) {
    throw Error("xrt", "the kernel image " + path_ + " is damaged: " + field + " at byte " +
                           std::to_string(at) + " " + problem + " (" + std::to_string(size_) +
                           " bytes); build or copy it again");
  }

  void read(std::uint64_t at, void* to, std::size_t bytes) {
    in_.seekg(static_cast<std::streamoff>(at));
    if (!in_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes))) {
      fail("what stands", at, "cannot be read");
    }
  }

  void check_section(std::uint64_t index) {
    const std::uint64_t at = kFixedBytes + index * sizeof(axlf_section_header);
    const std::string field = "m_sections[" + std::to_string(index) + "]";
    axlf_section_header section{};
    read(at, &section, sizeof(section));
    const std::uint64_t offset = section.m_sectionOffset, size = section.m_sectionSize;
    if (offset > length_) {
      fail(field + ".m_sectionOffset", at + offsetof(axlf_section_header, m_sectionOffset),
           std::to_string(offset) + " is past the end");
    }
    if (size > length_ - offset) {
      fail(field + ".m_sectionSize", at + offsetof(axlf_section_header, m_sectionSize),
           std::to_string(size) + " reaches past the end");
    }
    switch (section.m_sectionKind) {
      case MEM_TOPOLOGY:
      case ASK_GROUP_TOPOLOGY:
        return check_table(section, offsetof(mem_topology, m_mem_data), sizeof(mem_data));
      case IP_LAYOUT:
        return check_table(section, offsetof(ip_layout, m_ip_data), sizeof(ip_data));
      case CONNECTIVITY:
      case ASK_GROUP_CONNECTIVITY:
        return check_table(section, offsetof(connectivity, m_connection), sizeof(connection));
      default:
        return;
    }
  }

  void check_table(const axlf_section_header& section, std::uint64_t head, std::uint64_t entry) {
    std::int32_t count = -1;
    if (section.m_sectionSize >= head) read(section.m_sectionOffset, &count, sizeof(count));
    if (count < 0 || static_cast<std::uint64_t>(count) > (section.m_sectionSize - head) / entry) {
      fail("m_count", section.m_sectionOffset, "does not fit in its section");
    }
  }

  std::string path_;
  std::uint64_t size_ = 0, length_ = 0;
  std::ifstream in_;
};

}  // namespace

void check_xclbin_bounds(const std::string& path) { BoundsCheck(path).run(); }

}  // namespace tandem::device::xrt_card
