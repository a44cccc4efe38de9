// SPDX-License-Identifier: Apache-2.0
//
// The check before XRT: every truncation and every wrong number of an xclbin is an Error that names
// the field; a whole xclbin passes.
#include "xrt/card/xclbin_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xclbin.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/error.h"
#include "support/scratch_path.h"

namespace tandem::device::xrt_card {
namespace {

using testing::HasSubstr;

std::string whole_xclbin() {
  std::ifstream in(TANDEM_VECTOR_ADD_XCLBIN, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What the check says; empty when it takes the bytes.
std::string complaint(const std::string& bytes) {
  try {
    check_xclbin_bytes(std::as_bytes(std::span(bytes)), "test.xclbin");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string file_complaint(const std::string& path) {
  try {
    check_xclbin_file(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class XclbinBounds : public testing::Test {
 protected:
  template <typename Value>
  std::string with(std::size_t at, Value value) const {
    std::string bytes = whole_;
    std::memcpy(bytes.data() + at, &value, sizeof(value));
    return bytes;
  }
  axlf_section_header section(std::uint32_t kind, std::size_t* at = nullptr) const {
    axlf top;
    std::memcpy(static_cast<void*>(&top), whole_.data(), sizeof(top));
    for (std::uint32_t index = 0; index < top.m_header.m_numSections; ++index) {
      axlf_section_header header;
      const std::size_t place = offsetof(axlf, m_sections) + index * sizeof(header);
      std::memcpy(&header, whole_.data() + place, sizeof(header));
      if (at != nullptr) *at = place;
      if (header.m_sectionKind == kind) return header;
    }
    throw Error("test", "the xclbin lacks a section");
  }

  const std::string whole_ = whole_xclbin();
  const std::size_t header_ = offsetof(axlf, m_header);
};

TEST_F(XclbinBounds, OfAWholeFileAreGood) {
  EXPECT_EQ(complaint(whole_), "");
  EXPECT_EQ(complaint(whole_ + "a signature"), "");
  EXPECT_EQ(file_complaint(TANDEM_VECTOR_ADD_XCLBIN), "");
}

TEST_F(XclbinBounds, RefuseEveryTruncation) {
  for (std::size_t size = 0; size < whole_.size(); ++size) {
    const std::string text = complaint(whole_.substr(0, size));
    ASSERT_THAT(text, HasSubstr("test.xclbin")) << size;
    ASSERT_THAT(text, HasSubstr(size < offsetof(axlf, m_sections) ? "header" : "m_length")) << size;
  }
}

TEST_F(XclbinBounds, RefuseFilesThatAreNone) {
  EXPECT_THAT(file_complaint("/nowhere/a.xclbin"), HasSubstr("there is no xclbin"));
  EXPECT_THAT(file_complaint("."), HasSubstr("is not a file"));
  EXPECT_THAT(file_complaint("/dev/null"), HasSubstr("is not a file"));
  const test::ScratchPath empty("empty.xclbin");
  std::ofstream(empty.string()).flush();
  EXPECT_THAT(file_complaint(empty.string()), HasSubstr("the header at byte 0"));
}

TEST_F(XclbinBounds, RefuseAWrongHeader) {
  const std::size_t length_at = header_ + offsetof(axlf_header, m_length);
  const std::uint64_t fixed = offsetof(axlf, m_sections);
  for (const std::uint64_t length :
       {std::uint64_t{0}, fixed - 1, whole_.size() + std::uint64_t{1}, ~std::uint64_t{0}}) {
    EXPECT_THAT(complaint(with(length_at, length)), HasSubstr("m_length")) << length;
  }
  const std::size_t count_at = header_ + offsetof(axlf_header, m_numSections);
  const auto most =
      static_cast<std::uint32_t>((whole_.size() - fixed) / sizeof(axlf_section_header));
  EXPECT_THAT(complaint(with(count_at, most + 1)), HasSubstr("m_numSections"));
  EXPECT_THAT(complaint(with(count_at, ~std::uint32_t{0})), HasSubstr("m_numSections"));
  EXPECT_THAT(complaint(with(0, 'y')), HasSubstr("m_magic"));
  std::string endless = whole_;
  const std::size_t vbnv_at = header_ + offsetof(axlf_header, m_platformVBNV);
  endless.replace(vbnv_at, sizeof(axlf_header::m_platformVBNV), sizeof(axlf_header::m_platformVBNV),
                  'v');
  EXPECT_THAT(complaint(endless), HasSubstr("m_platformVBNV"));
}

TEST_F(XclbinBounds, RefuseAWrongSection) {
  std::size_t at = 0;
  const axlf_section_header bitstream = section(BITSTREAM, &at);
  const std::size_t offset_at = at + offsetof(axlf_section_header, m_sectionOffset);
  const std::size_t size_at = at + offsetof(axlf_section_header, m_sectionSize);
  for (const std::uint64_t offset :
       {std::uint64_t{8}, whole_.size() + std::uint64_t{1}, ~std::uint64_t{0}}) {
    EXPECT_THAT(complaint(with(offset_at, offset)), HasSubstr(".m_sectionOffset")) << offset;
  }
  const std::uint64_t room = whole_.size() - bitstream.m_sectionOffset;
  EXPECT_EQ(complaint(with(size_at, room)), "");
  for (const std::uint64_t size : {room + 1, ~std::uint64_t{0}}) {
    EXPECT_THAT(complaint(with(size_at, size)), HasSubstr(".m_sectionSize")) << size;
  }
}

TEST_F(XclbinBounds, RefuseCountsThatDoNotFit) {
  for (const std::uint32_t kind : {MEM_TOPOLOGY, IP_LAYOUT, CONNECTIVITY}) {
    const std::size_t at = section(kind).m_sectionOffset;
    std::int32_t count = 0;
    std::memcpy(&count, whole_.data() + at, sizeof(count));
    for (const std::int32_t wrong : {-1, count + 1, 1 << 30}) {
      EXPECT_THAT(complaint(with(at, wrong)), HasSubstr("m_count")) << kind << " " << wrong;
    }
  }
  std::size_t at = 0;
  section(IP_LAYOUT, &at);
  EXPECT_THAT(complaint(with(at + offsetof(axlf_section_header, m_sectionSize), std::uint64_t{3})),
              HasSubstr("m_count"));
}

TEST_F(XclbinBounds, RefuseConnectionsToNothing) {
  const std::size_t first =
      section(CONNECTIVITY).m_sectionOffset + offsetof(connectivity, m_connection);
  std::int32_t units = 0, memories = 0;
  std::memcpy(&units, whole_.data() + section(IP_LAYOUT).m_sectionOffset, sizeof(units));
  std::memcpy(&memories, whole_.data() + section(MEM_TOPOLOGY).m_sectionOffset, sizeof(memories));
  const std::size_t unit_at = first + offsetof(connection, m_ip_layout_index);
  const std::size_t memory_at = first + offsetof(connection, mem_data_index);
  EXPECT_EQ(complaint(with(memory_at, memories - 1)), "");
  EXPECT_THAT(complaint(with(memory_at, memories)), HasSubstr(".mem_data_index"));
  EXPECT_THAT(complaint(with(memory_at, std::int32_t{-1})), HasSubstr(".mem_data_index"));
  EXPECT_THAT(complaint(with(unit_at, units)), HasSubstr(".m_ip_layout_index"));
  EXPECT_THAT(complaint(with(unit_at, std::int32_t{-1})), HasSubstr(".m_ip_layout_index"));
}

TEST_F(XclbinBounds, RefuseNamesWithoutEnd) {
  const std::size_t unit = section(IP_LAYOUT).m_sectionOffset + offsetof(ip_layout, m_ip_data);
  const std::size_t memory =
      section(MEM_TOPOLOGY).m_sectionOffset + offsetof(mem_topology, m_mem_data);
  std::string bytes = whole_;
  bytes.replace(unit + offsetof(ip_data, m_name), sizeof(ip_data::m_name), sizeof(ip_data::m_name),
                'u');
  EXPECT_THAT(complaint(bytes), HasSubstr("m_name[0]"));
  bytes = whole_;
  bytes.replace(memory + offsetof(mem_data, m_tag), sizeof(mem_data::m_tag),
                sizeof(mem_data::m_tag), 'm');
  EXPECT_THAT(complaint(bytes), HasSubstr("m_tag[0]"));
}

}  // namespace
}  // namespace tandem::device::xrt_card
