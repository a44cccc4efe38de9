// SPDX-License-Identifier: Apache-2.0
//
// What a card is told to load: units in XRT's order, links with their depths and the names of their
// ends.
#include "emulation/xrt_shim/card/load_lines.h"

#include <gtest/gtest.h>
#include <xclbin.h>

#include <cstring>
#include <string_view>

#include "test_design.h"

namespace tandem::emulation {
namespace {

// writer_1.out feeds reader_1.in; the reader runs freely.
std::vector<std::byte> linked_file() {
  xclbin::Design design = xclbin_test::small_design();
  xclbin::Kernel writer{"writer", xclbin::Control::kChain, {}, {"writer_1"}};
  writer.arguments = {{"from", "const int*", 1, 8, 8, 0x10},
                      {"out", "hls::stream<int>", 4, 0, 8, 0x1c, "", false, 4}};
  xclbin::Kernel reader{"reader", xclbin::Control::kNone, {}, {"reader_1"}};
  reader.arguments = {{"in", "hls::stream<int>", 4, 0, 8, 0x10, "", false, 4}};
  design.kernels = {writer, reader};
  design.connections.clear();
  design.links = {{"writer_1", "out", "reader_1", "in", 16}};
  return xclbin::encode(design);
}

std::string lines_of(const std::vector<std::byte>& bytes) {
  const auto file = xclbin::XclbinFile::parse(bytes, "linked.xclbin");
  return load_lines(file, file.compute_units());
}

// Puts `xml` in the place of the file's metadata.
void replace_metadata(std::vector<std::byte>& bytes, std::string_view xml) {
  const auto file = xclbin::XclbinFile::parse(bytes, "linked.xclbin");
  for (const xclbin::Section& section : file.sections()) {
    if (section.kind != EMBEDDED_METADATA) continue;
    ASSERT_LE(xml.size(), section.size_bytes);
    std::memset(bytes.data() + section.offset, 0, section.size_bytes);
    std::memcpy(bytes.data() + section.offset, xml.data(), xml.size());
  }
}

TEST(LoadLines, NameUnitsLinksAndTheirEnds) {
  EXPECT_EQ(lines_of(linked_file()),
            "writer:writer_1\nreader:reader_1:free\nnames 0 from out\nports 0 M_AXI_from out\n"
            "names 1 in\nports 1 in\nmemory 0 536870912 HBM[0]\nlink 16 0 1 1 0 "
            "writer_1.out->reader_1.in\n");
}

TEST(LoadLines, ReadTheMetadataAsXml) {
  auto bytes = linked_file();
  replace_metadata(
      bytes,
      "<project><!-- <kernel name=\"writer\"><arg name=\"old\" id=\"1\"/></kernel> -->"
      "<platform><device><core><kernel name=\'writer\'><arg id=\'1\' name = \'a&amp;b\'/>"
      "</kernel></core></device></platform></project>");
  EXPECT_EQ(lines_of(bytes),
            "writer:writer_1\nreader:reader_1:free\nnames 0 a&b\n"
            "memory 0 536870912 HBM[0]\nlink 16 0 1 1 0 writer_1.a&b->reader_1.0\n");
}

TEST(LoadLines, NumberTheEndsWhereTheMetadataIsDamaged) {
  auto bytes = linked_file();
  replace_metadata(bytes, "<project><platform></device>");
  EXPECT_EQ(lines_of(bytes),
            "writer:writer_1\nreader:reader_1:free\nmemory 0 536870912 HBM[0]\nlink 16 0 1 1 0 "
            "writer_1.1->reader_1.0\n");
}

TEST(LoadLines, TellTheMemoriesInUse) {
  const std::string lines = lines_of(xclbin::encode(xclbin_test::small_design()));
  EXPECT_NE(lines.find("memory 0 536870912 HBM[0]\n"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("PLRAM"), std::string::npos) << lines;
}

}  // namespace
}  // namespace tandem::emulation
