// SPDX-License-Identifier: Apache-2.0
//
// The reader refuses wrong fields and values out of range; the writer's tables have the fields that
// XRT acts on.
#include <gmock/gmock.h>
#include <xclbin.h>

#include <cstddef>
#include <cstring>

#include "bitstreams/xclbin/xclbin_file.h"
#include "common/error.h"
#include "xclbin_bytes.h"

namespace tandem::xclbin {
namespace {

using testing::HasSubstr;
using xclbin_test::poke;
using xclbin_test::refusal;
using xclbin_test::small_file;

template <typename T>
T peek(const std::vector<std::byte>& bytes, uint64_t offset) {
  T value{};
  std::memcpy(static_cast<void*>(&value), bytes.data() + offset, sizeof(T));
  return value;
}

const Section& section_of(const XclbinFile& file, uint32_t kind) {
  for (const Section& section : file.sections()) {
    if (section.kind == kind) return section;
  }
  throw Error("test", "no section " + std::to_string(kind));
}

uint64_t offset_of(const std::vector<std::byte>& bytes, uint32_t kind) {
  return section_of(XclbinFile::parse(bytes, "good"), kind).offset;
}

uint64_t unit_at(const std::vector<std::byte>& bytes, size_t index) {
  return offset_of(bytes, IP_LAYOUT) + offsetof(ip_layout, m_ip_data) + index * sizeof(ip_data);
}

TEST(XclbinLimits, SectionsStartAtMultiplesOfEight) {
  auto bytes = small_file();
  const uint64_t field =
      offsetof(axlf, m_sections) + offsetof(axlf_section_header, m_sectionOffset);
  poke(bytes, field, peek<uint64_t>(bytes, field) + 4);
  EXPECT_THAT(refusal(bytes), HasSubstr("is not a multiple of 8"));
}

TEST(XclbinLimits, TheLengthOfTheHeaderCountsNotThatOfTheFile) {
  auto bytes = small_file();
  const uint64_t field = offsetof(axlf, m_header.m_length);
  auto longer = bytes;
  longer.resize(bytes.size() + 100);
  EXPECT_EQ(refusal(longer), "") << "what follows is not looked at";
  poke(longer, field, uint64_t{longer.size() + 1});
  EXPECT_THAT(refusal(longer), HasSubstr("the file is truncated"));
  poke(bytes, field, uint64_t{sizeof(axlf) - 1});
  EXPECT_THAT(refusal(bytes), HasSubstr("is smaller than the header"));
  poke(bytes, field, peek<uint64_t>(longer, field) - 150);
  EXPECT_THAT(refusal(bytes), HasSubstr("past the end"));
}

TEST(XclbinLimits, UnitsHaveAKernelAProtocolAndAnAlignedAddress) {
  const uint64_t at = unit_at(small_file(), 1);
  auto bytes = small_file();
  poke(bytes, at + offsetof(ip_data, m_base_address), uint64_t{0x1818000});
  EXPECT_THAT(refusal(bytes), HasSubstr("0x1818000 is not a multiple of 64 KiB"));
  bytes = small_file();
  poke(bytes, at + offsetof(ip_data, properties), uint32_t{3} << IP_CONTROL_SHIFT);
  EXPECT_THAT(refusal(bytes), HasSubstr("control protocol 3"));
  for (const char* name : {"copy_2", ":copy_2"}) {
    bytes = small_file();
    std::memcpy(bytes.data() + at + offsetof(ip_data, m_name), name, std::strlen(name) + 1);
    EXPECT_THAT(refusal(bytes), HasSubstr("is not 'kernel:unit'")) << name;
  }
}

TEST(XclbinLimits, ArgumentsOfConnectionsHaveBounds) {
  auto bytes = small_file();
  const uint64_t first = offset_of(bytes, CONNECTIVITY) + offsetof(connectivity, m_connection);
  for (int32_t argument : {-1, 1025}) {
    poke(bytes, first, argument);
    EXPECT_THAT(refusal(bytes), HasSubstr("CONNECTIVITY[0].arg_index")) << argument;
  }
  poke(bytes, first, int32_t{1024});
  EXPECT_EQ(refusal(bytes), "");
}

TEST(XclbinLimits, TheLastMemoryOfATableIsReadAndTheOneBehindIsNot) {
  auto bytes = small_file();
  const XclbinFile file = XclbinFile::parse(bytes, "good");
  const Section& memories = section_of(file, MEM_TOPOLOGY);
  const auto fit = static_cast<int32_t>((memories.size_bytes - offsetof(mem_topology, m_mem_data)) /
                                        sizeof(mem_data));
  EXPECT_EQ(file.memories().size(), static_cast<size_t>(fit));
  poke(bytes, memories.offset, fit + 1);
  EXPECT_THAT(refusal(bytes), HasSubstr("entries do not fit"));
}

TEST(XclbinLimits, MetadataBeyondSixteenMebibytesIsRefused) {
  Design design = xclbin_test::small_design();
  design.kernels[0].arguments[0].type.assign(size_t{17} << 20, 'x');
  EXPECT_THAT(refusal(encode(design)), HasSubstr("is larger than 16 MiB"));
}

TEST(XclbinLimits, TheUuidIsTextInFiveGroupsAndMarkedAsCustom) {
  const auto bytes = small_file();
  EXPECT_THAT(XclbinFile::parse(bytes, "good").uuid_text(),
              testing::MatchesRegex("[0-9a-f]+-[0-9a-f]+-8[0-9a-f]+-[89ab][0-9a-f]+-[0-9a-f]+"));
  EXPECT_EQ(XclbinFile::parse(bytes, "good").uuid_text().size(), 36u);
  EXPECT_EQ(XclbinFile::parse(bytes, "good").uuid_text().find('-'), 8u);
}

TEST(XclbinLimits, AnElfOfAnotherMachineIsNoEmulationCode) {
  for (const auto& [offset, value] : {std::pair<uint64_t, uint8_t>{4, 1}, {5, 2}}) {
    auto bytes = small_file();
    poke(bytes, offset_of(bytes, BITSTREAM) + offset, value);
    const XclbinFile file = XclbinFile::parse(bytes, "a.xclbin");
    EXPECT_THROW(file.emulation_elf(), Error) << offset;
  }
  Design design = xclbin_test::small_design();
  design.elf.resize(64);
  const auto enough = encode(design);
  EXPECT_EQ(XclbinFile::parse(enough, "a.xclbin").emulation_elf().size(), 64u);
  design.elf.resize(63);
  const auto cut = encode(design);
  EXPECT_THROW(XclbinFile::parse(cut, "a.xclbin").emulation_elf(), Error);
}

TEST(XclbinTables, UnitsCountTheirInterruptsFromOne) {
  const auto bytes = small_file();
  const XclbinFile file = XclbinFile::parse(bytes, "good");
  ASSERT_EQ(file.compute_units().size(), 3u);
  for (uint32_t unit = 0; unit < 3; ++unit) {
    EXPECT_EQ(file.compute_units()[unit].interrupt_id, unit + 1);
    const auto data = peek<ip_data>(bytes, unit_at(bytes, unit));
    EXPECT_EQ(data.properties & 1u, 1u) << "interrupts are enabled";
  }
}

TEST(XclbinTables, MemoriesHaveTheirTypes) {
  Design design = xclbin_test::small_design();
  design.platform = &find_platform("u280");
  const auto bytes = encode(design);
  const XclbinFile file = XclbinFile::parse(bytes, "good");
  for (const Memory& memory : file.memories()) {
    const bool hbm = memory.tag.starts_with("HBM"), ddr = memory.tag.starts_with("DDR");
    EXPECT_EQ(memory.type, hbm ? MEM_HBM : ddr ? MEM_DDR4 : MEM_DRAM) << memory.tag;
  }
}

TEST(XclbinTables, ARangeOfBanksIsConnectedBankByBankAndAsAWhole) {
  const auto bytes = small_file();
  const XclbinFile file = XclbinFile::parse(bytes, "good");
  const uint64_t at = offset_of(bytes, ASK_GROUP_CONNECTIVITY);
  const uint64_t first = at + offsetof(connectivity, m_connection);
  ASSERT_EQ(peek<int32_t>(bytes, at), 2 + 1 + (4 + 1) + 1);
  const auto range = static_cast<int32_t>(file.groups().size() - 1);
  std::vector<int32_t> memories;  // of copy_2.out
  for (int32_t row = 0; row < peek<int32_t>(bytes, at); ++row) {
    const auto data =
        peek<connection>(bytes, first + static_cast<uint64_t>(row) * sizeof(connection));
    if (data.m_ip_layout_index == 1 && data.arg_index == 1) memories.push_back(data.mem_data_index);
  }
  EXPECT_THAT(memories, testing::ElementsAre(4, 5, 6, 7, range));
}

TEST(XclbinTables, ModeAndClocksAreThoseOfTheDesign) {
  for (bool hardware : {false, true}) {
    Design design = xclbin_test::small_design();
    design.hardware_emulation = hardware;
    design.kernel_clock_mhz = hardware ? 0 : 150;
    const auto bytes = encode(design);
    EXPECT_EQ(peek<uint16_t>(bytes, offsetof(axlf, m_header.m_mode)),
              hardware ? XCLBIN_HW_EMU : XCLBIN_SW_EMU);
    const uint64_t clocks = offset_of(bytes, CLOCK_FREQ_TOPOLOGY);
    ASSERT_EQ(peek<int16_t>(bytes, clocks), 2);
    const auto data = peek<clock_freq>(bytes, clocks + offsetof(clock_freq_topology, m_clock_freq));
    EXPECT_EQ(data.m_freq_Mhz, hardware ? design.platform->kernel_clock_mhz : 150u);
    EXPECT_EQ(data.m_type, CT_DATA);
  }
}

TEST(XclbinTables, FreeRunningUnitsHaveNoAddressAndTakeNoPlaceOfOthers) {
  Design design = xclbin_test::small_design();
  Kernel free{"free", Control::kNone, {{"in", "hls::stream<int>", 4, 0, 8, 0x10}}, {"free_1"}};
  design.kernels.insert(design.kernels.begin(), free);
  const auto bytes = encode(design);
  const XclbinFile file = XclbinFile::parse(bytes, "good");
  EXPECT_EQ(file.compute_units()[0].base, ~uint64_t{0});
  EXPECT_EQ(file.compute_units()[1].base, 0x1810000u);
}

}  // namespace
}  // namespace tandem::xclbin
