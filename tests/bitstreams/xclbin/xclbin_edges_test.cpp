// SPDX-License-Identifier: Apache-2.0
//
// The last value that the reader and the writer take, and the first that they refuse.
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

std::string writers_refusal(const Design& design) {
  try {
    encode(design);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Place of section `kind` in the section table.
size_t index_of(const XclbinFile& file, uint32_t kind) {
  size_t index = 0;
  while (file.sections().at(index).kind != kind) ++index;
  return index;
}

TEST(XclbinEdges, AnEmptySectionMayLieAnywhere) {
  auto bytes = encode(xclbin_test::small_design());
  const size_t index = index_of(XclbinFile::parse(bytes, "good"), BUILD_METADATA);
  const uint64_t at = offsetof(axlf, m_sections) + index * sizeof(axlf_section_header);
  poke(bytes, at + offsetof(axlf_section_header, m_sectionOffset), uint64_t{0});
  EXPECT_THAT(refusal(bytes), HasSubstr("points into the header"));
  poke(bytes, at + offsetof(axlf_section_header, m_sectionSize), uint64_t{0});
  EXPECT_EQ(refusal(bytes), "");
}

TEST(XclbinEdges, AMemoryMayEndWhereTheAddressSpaceEnds) {
  auto bytes = encode(xclbin_test::small_design());
  const XclbinFile file = XclbinFile::parse(bytes, "good");
  const uint64_t bank =
      file.sections().at(index_of(file, MEM_TOPOLOGY)).offset + offsetof(mem_topology, m_mem_data);
  ASSERT_EQ(file.memories()[0].base, 0u);
  const uint64_t most_kib = (uint64_t{1} << 48) / 1024;
  poke(bytes, bank + offsetof(mem_data, m_size), most_kib);
  EXPECT_EQ(refusal(bytes), "");
  poke(bytes, bank + offsetof(mem_data, m_size), most_kib + 1);
  EXPECT_THAT(refusal(bytes), HasSubstr("exceed the address space"));
}

TEST(XclbinEdges, ATableHasUpTo256Memories) {
  Platform platform = find_platform("u55c");
  Design design = xclbin_test::small_design();
  design.platform = &platform;
  design.connections.clear();
  const Bank first = platform.banks.front();
  platform.banks.clear();
  for (uint64_t bank = 0; bank < kMaxMemories; ++bank) {
    platform.banks.push_back(first);
    platform.banks.back().tag = "BANK[" + std::to_string(bank) + "]";
    platform.banks.back().base = bank << 20;
    platform.banks.back().size_bytes = 1 << 20;
  }
  const auto bytes = encode(design);
  EXPECT_EQ(XclbinFile::parse(bytes, "full").memories().size(), 256u);
  platform.banks.push_back(first);
  EXPECT_THAT(writers_refusal(design), HasSubstr("256 are possible"));
}

TEST(XclbinEdges, ADesignHasUpTo126Units) {
  Design design = xclbin_test::small_design();
  design.connections.clear();
  design.kernels.resize(1);
  design.kernels[0].unit_names.clear();
  for (int unit = 1; unit <= 126; ++unit) {
    design.kernels[0].unit_names.push_back("copy_" + std::to_string(unit));
  }
  const auto bytes = encode(design);
  const XclbinFile file = XclbinFile::parse(bytes, "full");
  ASSERT_EQ(file.compute_units().size(), 126u);
  EXPECT_EQ(file.compute_units().back().interrupt_id, 126u);
  design.kernels[0].unit_names.push_back("copy_127");
  EXPECT_THAT(writers_refusal(design), HasSubstr("has 127"));
}

TEST(XclbinEdges, TheNameOfAUnitHasUpTo63Characters) {
  Design design = xclbin_test::small_design();
  design.kernels[1].name = std::string(63 - std::strlen(":scale_1"), 'k');
  EXPECT_EQ(refusal(encode(design)), "");
  design.kernels[1].name += 'k';
  EXPECT_THAT(writers_refusal(design), HasSubstr("more than 63 characters"));
}

TEST(XclbinEdges, ARangeOfBanksGoesForwards) {
  Design design = xclbin_test::small_design();
  design.connections = {{"copy_1", "in", 5, 4}};
  EXPECT_THAT(writers_refusal(design), HasSubstr("bank range of copy_1"));
}

TEST(XclbinEdges, ArgumentsOfOneRangeShareItsGroup) {
  Design design = xclbin_test::small_design();
  design.connections = {{"copy_1", "in", 4, 7}, {"copy_2", "out", 4, 7}, {"scale_1", "data", 4, 6}};
  const auto bytes = encode(design);
  EXPECT_EQ(XclbinFile::parse(bytes, "shared").groups().size(), design.platform->banks.size() + 2);
}

}  // namespace
}  // namespace tandem::xclbin
