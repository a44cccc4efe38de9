// SPDX-License-Identifier: Apache-2.0
//
// Units, banks and links of a design, and the message for each wrong name.
#include "bitstreams/compiler/vpp/connectivity.h"

#include <gmock/gmock.h>

#include <random>

#include "vpp/messages.h"

namespace tandem::vpp {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using vpp_test::message_of;

// reader(in: gmem0, out: stream of 4 bytes), writer(in: stream of 4, wide: stream of 8, table:
// gmem1, out: gmem1, count).
xclbin::Design two_kernels(const std::string& platform = "u280") {
  xclbin::Design design;
  design.name = "two";
  design.platform = &xclbin::find_platform(platform);
  xclbin::Kernel reader{"reader", xclbin::Control::kChain, {}, {}};
  reader.arguments = {{"in", "const int*", 1, 8, 8, 0x10, "gmem0"},
                      {"out", "hls::stream<int>", 4, 0, 8, 0x1c, "", false, 4}};
  xclbin::Kernel writer{"writer", xclbin::Control::kChain, {}, {}};
  writer.arguments = {{"in", "hls::stream<int>", 4, 0, 8, 0x10, "", false, 4},
                      {"wide", "hls::stream<long>", 4, 0, 8, 0x1c, "", false, 8},
                      {"table", "int*", 1, 8, 8, 0x28, "gmem1"},
                      {"out", "int*", 1, 8, 8, 0x34, "gmem1"},
                      {"count", "int", 0, 4, 4, 0x40}};
  design.kernels = {reader, writer};
  return design;
}

std::vector<Setting> settings(const std::vector<std::pair<std::string, std::string>>& lines) {
  std::vector<Setting> result;
  for (const auto& [key, value] : lines) {
    result.push_back({key, value, "link.cfg:" + std::to_string(result.size() + 2)});
  }
  return result;
}

std::string error_of(const std::string& key, const std::string& value) {
  xclbin::Design design = two_kernels();
  return message_of([&] { connect(settings({{key, value}}), design); });
}

TEST(VppConnectivity, UnitsAreNamedAfterTheirKernelUnlessTheyHaveNames) {
  xclbin::Design design = two_kernels();
  connect({}, design);
  EXPECT_THAT(design.kernels[0].unit_names, ElementsAre("reader_1"));
  design = two_kernels();
  connect(settings({{"nk", "reader:3"}, {"nk", "writer:2:left.right"}}), design);
  EXPECT_THAT(design.kernels[0].unit_names, ElementsAre("reader_1", "reader_2", "reader_3"));
  EXPECT_THAT(design.kernels[1].unit_names, ElementsAre("left", "right"));
  design = two_kernels();
  connect(settings({{"nk", " reader : 2 : a , b "}, {"nk", "reader:2:a,b"}}), design);
  EXPECT_THAT(design.kernels[0].unit_names, ElementsAre("a", "b")) << "said twice, alike";
  design = two_kernels();
  connect(settings({{"nk", "reader:126"}}), design);
  EXPECT_EQ(design.kernels[0].unit_names.back(), "reader_126");
}

TEST(VppConnectivity, BanksHaveManySpellings) {
  const auto banks = [](const std::string& memory, const std::string& platform) {
    xclbin::Design design = two_kernels(platform);
    connect(settings({{"sp", "reader_1.in:" + memory}}), design);
    const xclbin::BankConnection& found = design.connections.at(0);
    const auto& list = design.platform->banks;
    return list[found.first_bank].tag + " to " + list[found.last_bank].tag;
  };
  EXPECT_EQ(banks("HBM[3]", "u280"), "HBM[3] to HBM[3]");
  EXPECT_EQ(banks("HBM[0:3]", "u280"), "HBM[0] to HBM[3]");
  EXPECT_EQ(banks("HBM[3:3]", "u280"), "HBM[3] to HBM[3]");
  EXPECT_EQ(banks("HBM[ 4 : 7 ].5.RAMA", "u280"), "HBM[4] to HBM[7]");
  EXPECT_EQ(banks("HBM[0:31].15", "u280"), "HBM[0] to HBM[31]");
  EXPECT_EQ(banks("DDR[1]", "u280"), "DDR[1] to DDR[1]");
  EXPECT_EQ(banks("DDR", "u250"), "DDR[0] to DDR[0]");
  EXPECT_EQ(banks("bank2", "u250"), "DDR[2] to DDR[2]");
  EXPECT_EQ(banks("PLRAM[1]", "u250"), "PLRAM[1] to PLRAM[1]");
  EXPECT_EQ(banks("HOST[0]", "u250"), "HOST[0] to HOST[0]");
}

TEST(VppConnectivity, ABundleMeansAllItsArguments) {
  xclbin::Design design = two_kernels();
  connect(settings({{"sp", "writer_1.m_axi_gmem1:HBM[5]"}, {"sp", "writer_1.out:HBM[6]"}}), design);
  ASSERT_EQ(design.connections.size(), 2u);
  EXPECT_EQ(design.connections[0].argument, "table");
  EXPECT_EQ(design.connections[0].first_bank, 5u);
  EXPECT_EQ(design.connections[1].argument, "out") << "the last word counts";
  EXPECT_EQ(design.connections[1].first_bank, 6u);
  design = two_kernels();
  connect(settings({{"sp", "writer_1.M_AXI_GMEM1:HBM[5]"}}), design);
  EXPECT_EQ(design.connections.size(), 2u);
}

TEST(VppConnectivity, ABankOfTheCommandLineStaysWhateverAFileSays) {
  xclbin::Design design = two_kernels();
  connect({{"sp", "writer_1.out:HBM[5]", "--connectivity.sp", false},
           {"sp", "writer_1.m_axi_gmem1:HBM[6]", "link.cfg:2", true}},
          design);
  ASSERT_EQ(design.connections.size(), 2u);
  EXPECT_EQ(design.connections[0].argument, "out");
  EXPECT_EQ(design.connections[0].first_bank, 5u);
  EXPECT_EQ(design.connections[1].first_bank, 6u);
}

TEST(VppConnectivity, TheLastLineOfAFileCounts) {
  xclbin::Design design = two_kernels();
  connect({{"sp", "writer_1.out:HBM[5]", "link.cfg:2", true},
           {"sp", "writer_1.out:HBM[6]", "link.cfg:3", true}},
          design);
  ASSERT_EQ(design.connections.size(), 1u);
  EXPECT_EQ(design.connections[0].first_bank, 6u);
}

TEST(VppConnectivity, StreamsThatTheRuntimeSetsNeedNoLink) {
  xclbin::Design design = two_kernels();
  design.kernels[0].arguments.push_back(
      {"trace", "hls::stream<int>", 4, 0, 8, 0x28, "", /*hidden=*/true, 4});
  EXPECT_THAT(connect(settings({{"sc", "reader_1.out:writer_1.in"}}), design),
              ElementsAre(HasSubstr("writer_1.wide is linked to nothing")));
}

TEST(VppConnectivity, LinksJoinStreams) {
  xclbin::Design design = two_kernels();
  const auto warnings = connect(
      settings({{"stream_connect", "reader_1.out:writer_1.in:64"}, {"slr", "reader_1:SLR1"}}),
      design);
  ASSERT_EQ(design.links.size(), 1u);
  EXPECT_EQ(design.links[0].from_unit, "reader_1");
  EXPECT_EQ(design.links[0].to_argument, "in");
  EXPECT_EQ(design.links[0].depth, 64u);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("writer_1.wide is linked to nothing")));
  design = two_kernels();
  connect(settings({{"sc", "reader_1.out : writer_1.in"}}), design);
  EXPECT_EQ(design.links[0].depth, 0u);
}

TEST(VppConnectivity, EachWrongNameIsToldWithWhatThereIs) {
  EXPECT_THAT(error_of("nk", "render:2"),
              AllOf(HasSubstr("link.cfg:2"), HasSubstr("'render'"), HasSubstr("reader, writer")));
  EXPECT_THAT(error_of("sp", "reader_2.in:HBM[0]"),
              AllOf(HasSubstr("'reader_2'"), HasSubstr("reader_1, writer_1")));
  EXPECT_THAT(error_of("sp", "writer_1.inn:HBM[0]"),
              AllOf(HasSubstr("'inn'"), HasSubstr("m_axi_gmem1, out, table")));
  EXPECT_THAT(error_of("sp", "writer_1.count:HBM[0]"), HasSubstr("no pointer to global memory"));
  EXPECT_THAT(error_of("sp", "writer_1.in:HBM[0]"), HasSubstr("a stream"));
  EXPECT_THAT(error_of("sp", "reader_1.in:HBM[32]"),
              AllOf(HasSubstr("'HBM[32]'"), HasSubstr("HBM[0:31]"), HasSubstr("DDR[0:1]")));
  EXPECT_THAT(error_of("sp", "reader_1.in:LPDDR"), HasSubstr("'LPDDR[0]'"));
  EXPECT_THAT(error_of("sp", "reader_1.in:bankX"), HasSubstr("DDR[X]"));
  EXPECT_THAT(error_of("sc", "reader_1.out:writer_2.in"), HasSubstr("'writer_2'"));
  EXPECT_THAT(error_of("sc", "reader_1.in:writer_1.in"), HasSubstr("is not a stream"));
  EXPECT_THAT(error_of("sc", "reader_1.out:writer_1.on"),
              AllOf(HasSubstr("'on'"), HasSubstr("in, wide")));
  EXPECT_THAT(error_of("sc", "reader_1.out:writer_1.wide"),
              AllOf(HasSubstr("4 bytes"), HasSubstr("8 bytes")));
  EXPECT_THAT(error_of("slr", "reader_9:SLR0"), HasSubstr("'reader_9'"));
}

TEST(VppConnectivity, EachMalformedValueIsToldWithWhatIsWanted) {
  EXPECT_THAT(error_of("nk", "reader"), HasSubstr("kernel:count"));
  EXPECT_THAT(error_of("nk", "reader:2:a.b:c"), HasSubstr("kernel:count"));
  EXPECT_THAT(error_of("nk", "reader:x"), HasSubstr("'x' is not a number"));
  EXPECT_THAT(error_of("nk", "reader:0"), HasSubstr("1 to 126"));
  EXPECT_THAT(error_of("nk", "reader:127"), HasSubstr("1 to 126"));
  EXPECT_THAT(error_of("nk", "reader:2:one"), HasSubstr("2 units but 1 names"));
  EXPECT_THAT(error_of("nk", "reader:2:a.a"), HasSubstr("two units are called 'a'"));
  EXPECT_THAT(error_of("nk", "reader:2:a."), HasSubstr("empty"));
  EXPECT_THAT(error_of("sp", "reader_1.in"), HasSubstr("unit.argument:MEMORY"));
  EXPECT_THAT(error_of("sp", "reader_1:HBM[0]"), HasSubstr("not unit.argument"));
  EXPECT_THAT(error_of("sp", "reader_1.in:HBM[3:1]"), HasSubstr("comes after the last one"));
  EXPECT_THAT(error_of("sp", "reader_1.in:HBM[3"), HasSubstr("HBM"));
  EXPECT_THAT(error_of("sc", "reader_1.out"), HasSubstr("unit.output:unit.input"));
  EXPECT_THAT(error_of("sc", "reader_1.out:writer_1.in:deep"), HasSubstr("'deep'"));
}

TEST(VppConnectivity, ContradictionsAreErrors) {
  xclbin::Design design = two_kernels();
  EXPECT_THAT(message_of([&] {
                connect(settings({{"nk", "reader:2"}, {"nk", "reader:3"}}), design);
              }),
              AllOf(HasSubstr("link.cfg:3"), HasSubstr("has units already")));
  design = two_kernels();
  EXPECT_THAT(message_of([&] {
                connect(settings({{"nk", "reader:1:u"}, {"nk", "writer:1:u"}}), design);
              }),
              HasSubstr("two units are called 'u'"));
  design = two_kernels();
  EXPECT_THAT(message_of([&] {
                connect(settings({{"nk", "reader:2"},
                                  {"sc", "reader_1.out:writer_1.in"},
                                  {"sc", "reader_2.out:writer_1.in"}}),
                        design);
              }),
              AllOf(HasSubstr("link.cfg:4"), HasSubstr("linked already")));
}

TEST(VppConnectivity, DamagedValuesGiveErrorsAndNothingElse) {
  const std::vector<std::pair<std::string, std::string>> good = {
      {"nk", "reader:2:a.b"}, {"sp", "a.in:HBM[0:3]"}, {"sc", "a.out:writer_1.in:16"}};
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    auto lines = good;
    std::string& value = lines[random() % lines.size()].second;
    for (uint32_t change = 0; change < 1 + random() % 3; ++change) {
      const size_t at = random() % (value.size() + 1);
      if (random() % 2 == 0 && at < value.size()) {
        value[at] = static_cast<char>(random());
      } else {
        value.insert(at, 1, "[]:.,0a"[random() % 7]);
      }
    }
    xclbin::Design design = two_kernels();
    const std::string message = message_of([&] { connect(settings(lines), design); });
    EXPECT_TRUE(message.empty() || message.find("link.cfg:") != std::string::npos) << message;
  }
}

}  // namespace
}  // namespace tandem::vpp
