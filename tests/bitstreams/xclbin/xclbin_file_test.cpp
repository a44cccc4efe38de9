// SPDX-License-Identifier: Apache-2.0
//
// The xclbin writer and parser: round trip, and hostile files named by field and offset.
#include "bitstreams/xclbin/xclbin_file.h"

#include <gmock/gmock.h>
#include <xclbin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

#include "bitstreams/xclbin/inspect.h"
#include "common/error.h"
#include "xclbin_bytes.h"

namespace tandem::xclbin {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using xclbin_test::poke;
using xclbin_test::refusal;
using xclbin_test::small_file;

// Offset in the file of section `kind`.
uint64_t section_offset(const std::vector<std::byte>& bytes, uint32_t kind) {
  const XclbinFile file = XclbinFile::parse(bytes, "good");
  for (const Section& section : file.sections()) {
    if (section.kind == kind) return section.offset;
  }
  ADD_FAILURE() << "no section " << kind;
  return 0;
}

uint64_t header_of(size_t index) {
  return offsetof(axlf, m_sections) + index * sizeof(axlf_section_header);
}

TEST(XclbinFile, RoundTripKeepsTheDesign) {
  const auto bytes = small_file();
  const XclbinInfo info = inspect(bytes, "small.xclbin");
  EXPECT_EQ(info.platform, "xilinx_u55c_gen3x16_xdma_base_3");
  EXPECT_TRUE(info.emulated);
  ASSERT_EQ(info.compute_units.size(), 3u);
  EXPECT_EQ(info.compute_units[1].kernel, "copy");
  EXPECT_EQ(info.compute_units[1].name, "copy_2");
  EXPECT_EQ(info.compute_units[1].control, Control::kChain);
  EXPECT_EQ(info.compute_units[2].control, Control::kHandshake);
  EXPECT_EQ(info.compute_units[2].base, info.compute_units[0].base + 0x20000);
  const size_t num_banks = find_platform("u55c").banks.size();
  ASSERT_EQ(info.memories.size(), num_banks + 1);
  EXPECT_EQ(info.memories[num_banks].tag, "HBM[4:7]");
  EXPECT_EQ(info.memories[num_banks].base, uint64_t{4} * (512 << 20));
  EXPECT_EQ(info.memories[num_banks].size_bytes, uint64_t{4} * (512 << 20));
  EXPECT_TRUE(info.memories[num_banks].used);
  EXPECT_TRUE(info.memories[2].used);
  EXPECT_FALSE(info.memories[3].used);
  ASSERT_EQ(info.kernels.size(), 2u);
  ASSERT_EQ(info.kernels[0].arguments.size(), 3u);
  EXPECT_EQ(info.kernels[0].arguments[0].name, "in");
  EXPECT_EQ(info.kernels[0].arguments[0].type, "const int*");
  EXPECT_EQ(info.kernels[0].arguments[2].offset, 0x28u);
  EXPECT_EQ(info.kernels[1].control, "ap_ctrl_hs");
}

TEST(XclbinFile, EveryArgumentIsConnected) {
  const auto bytes = small_file();
  const XclbinFile file = XclbinFile::parse(bytes, "small.xclbin");
  // copy_1: in, out; copy_2: in, 4 banks of out; scale_1: data.
  EXPECT_EQ(file.connections().size(), 2u + 5u + 1u);
  EXPECT_EQ(file.connections()[0].memory, 2);
  EXPECT_EQ(file.connections()[1].memory, 0) << "bank 0 when no sp names one";
}

TEST(XclbinFile, TheSameDesignGivesTheSameBytesAndAnotherDesignAnotherUuid) {
  EXPECT_EQ(small_file(), small_file());
  auto design = xclbin_test::small_design();
  design.elf.back() = std::byte{1};
  const auto other = encode(design);
  EXPECT_NE(XclbinFile::parse(other, "a").uuid(), XclbinFile::parse(small_file(), "b").uuid());
}

TEST(XclbinFile, EveryTruncationIsRefused) {
  const auto bytes = small_file();
  for (size_t size = 0; size < bytes.size(); size += size < 2000 ? 1 : 97) {
    const std::string message = refusal({bytes.data(), size});
    ASSERT_THAT(message, AllOf(HasSubstr("bad.xclbin"), HasSubstr("offset"))) << size;
  }
}

TEST(XclbinFile, WrongMagicIsNamed) {
  auto bytes = small_file();
  poke(bytes, 0, uint64_t{0});
  EXPECT_THAT(refusal(bytes), AllOf(HasSubstr("m_magic"), HasSubstr("offset 0x0")));
}

TEST(XclbinFile, HugeSectionCountIsRefusedBeforeAnyAllocation) {
  auto bytes = small_file();
  poke(bytes, offsetof(axlf, m_header.m_numSections), uint32_t{0xffffffff});
  EXPECT_THAT(refusal(bytes), AllOf(HasSubstr("m_numSections"), HasSubstr("offset 0x1c0")));
}

TEST(XclbinFile, SectionBoundsAreChecked) {
  const size_t offset_field = offsetof(axlf_section_header, m_sectionOffset);
  const size_t size_field = offsetof(axlf_section_header, m_sectionSize);
  for (uint64_t offset : {uint64_t{8}, uint64_t{1} << 40, ~uint64_t{0} - 7}) {
    auto bytes = small_file();
    poke(bytes, header_of(1) + offset_field, offset);
    EXPECT_THAT(refusal(bytes), HasSubstr("m_sections[1].m_sectionOffset")) << offset;
  }
  for (uint64_t size : {uint64_t{1} << 40, ~uint64_t{0}}) {
    auto bytes = small_file();
    poke(bytes, header_of(2) + size_field, size);
    EXPECT_THAT(refusal(bytes), HasSubstr("m_sections[2].m_sectionSize")) << size;
  }
}

TEST(XclbinFile, OverlappingSectionsAreRefused) {
  auto bytes = small_file();
  const size_t offset_field = offsetof(axlf_section_header, m_sectionOffset);
  uint64_t first = 0;
  std::memcpy(&first, bytes.data() + header_of(0) + offset_field, sizeof(first));
  poke(bytes, header_of(3) + offset_field, first);
  EXPECT_THAT(refusal(bytes), HasSubstr("overlap"));
}

TEST(XclbinFile, UnterminatedNamesAreRefused) {
  auto bytes = small_file();
  std::memset(bytes.data() + header_of(0) + offsetof(axlf_section_header, m_sectionName), 'x', 16);
  EXPECT_THAT(refusal(bytes), AllOf(HasSubstr("m_sectionName"), HasSubstr("not terminated")));
  bytes = small_file();
  const uint64_t unit = section_offset(bytes, IP_LAYOUT) + offsetof(ip_layout, m_ip_data);
  std::memset(bytes.data() + unit + offsetof(ip_data, m_name), 'x', 64);
  EXPECT_THAT(refusal(bytes), HasSubstr("IP_LAYOUT[0].m_name"));
}

TEST(XclbinFile, CountsThatDoNotFitTheirSectionAreRefused) {
  for (const auto& [kind, name] : {std::pair<uint32_t, const char*>{MEM_TOPOLOGY, "MEM_TOPOLOGY"},
                                   {IP_LAYOUT, "IP_LAYOUT"},
                                   {CONNECTIVITY, "CONNECTIVITY"},
                                   {ASK_GROUP_TOPOLOGY, "GROUP_TOPOLOGY"}}) {
    for (int32_t count : {-1, 100, 0x7fffffff}) {
      auto bytes = small_file();
      poke(bytes, section_offset(bytes, kind), count);
      EXPECT_THAT(refusal(bytes), HasSubstr(std::string(name) + ".m_count")) << count;
    }
  }
}

TEST(XclbinFile, MemoriesBeyondTheAddressSpaceAreRefused) {
  auto bytes = small_file();
  const uint64_t bank = section_offset(bytes, MEM_TOPOLOGY) + offsetof(mem_topology, m_mem_data);
  poke(bytes, bank + offsetof(mem_data, m_size), ~uint64_t{0});
  EXPECT_THAT(refusal(bytes), HasSubstr("MEM_TOPOLOGY[0]"));
  bytes = small_file();
  poke(bytes, bank + offsetof(mem_data, m_base_address), uint64_t{1} << 49);
  EXPECT_THAT(refusal(bytes), HasSubstr("MEM_TOPOLOGY[0]"));
}

TEST(XclbinFile, ConnectionsToNothingAreRefused) {
  auto bytes = small_file();
  const uint64_t first = section_offset(bytes, CONNECTIVITY) + offsetof(connectivity, m_connection);
  poke(bytes, first + 8, int32_t{41});
  EXPECT_THAT(refusal(bytes), HasSubstr("CONNECTIVITY[0].mem_data_index"));
  bytes = small_file();
  poke(bytes, first + 4, int32_t{-1});
  EXPECT_THAT(refusal(bytes), HasSubstr("CONNECTIVITY[0].m_ip_layout_index"));
}

TEST(XclbinFile, UnitsAtOneAddressAreRefused) {
  auto bytes = small_file();
  const uint64_t units = section_offset(bytes, IP_LAYOUT) + offsetof(ip_layout, m_ip_data);
  uint64_t base = 0;
  std::memcpy(&base, bytes.data() + units + offsetof(ip_data, m_base_address), sizeof(base));
  poke(bytes, units + sizeof(ip_data) + offsetof(ip_data, m_base_address), base);
  EXPECT_THAT(refusal(bytes), HasSubstr("IP_LAYOUT[1].m_base_address"));
}

TEST(XclbinFile, ABitstreamOfARealCardIsRecognised) {
  auto bytes = small_file();
  poke(bytes, section_offset(bytes, BITSTREAM), uint32_t{0});
  EXPECT_FALSE(inspect(bytes, "real.xclbin").emulated);
  const XclbinFile file = XclbinFile::parse(bytes, "real.xclbin");
  EXPECT_THROW(file.emulation_elf(), Error);
}

TEST(XclbinFile, BadMetadataIsNamedByByte) {
  auto bytes = small_file();
  const uint64_t xml = section_offset(bytes, EMBEDDED_METADATA);
  bytes[xml + 60] = std::byte{'<'};
  EXPECT_THAT(refusal(bytes), AllOf(HasSubstr("EMBEDDED_METADATA"), HasSubstr("byte")));
}

TEST(XclbinFile, RandomDamageNeverCrashes) {
  const auto good = small_file();
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    auto bytes = good;
    for (uint32_t change = 0; change < 1 + random() % 8; ++change) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    refusal(bytes);
  }
}

TEST(XclbinFile, AMissingFileIsNamed) {
  EXPECT_THROW(
      {
        try {
          inspect(std::string("/nowhere/at/all.xclbin"));
        } catch (const Error& error) {
          EXPECT_THAT(error.what(), HasSubstr("/nowhere/at/all.xclbin"));
          throw;
        }
      },
      Error);
}

TEST(XclbinWriter, RefusesConnectionsThatMakeNoSense) {
  auto design = xclbin_test::small_design();
  design.connections = {{"copy_9", "in", 0, 0}};
  EXPECT_THROW(encode(design), Error);
  design.connections = {{"copy_1", "nothing", 0, 0}};
  EXPECT_THROW(encode(design), Error);
  design.connections = {{"copy_1", "count", 0, 0}};
  EXPECT_THROW(encode(design), Error) << "a scalar";
  design.connections = {{"copy_1", "in", 38, 39}};
  EXPECT_THROW(encode(design), Error) << "past the last bank";
  design.kernels.clear();
  EXPECT_THROW(encode(design), Error) << "no unit";
}

}  // namespace
}  // namespace tandem::xclbin
