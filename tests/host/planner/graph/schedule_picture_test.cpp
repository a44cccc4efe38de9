// SPDX-License-Identifier: Apache-2.0
//
// Pictures of placed graphs, and lists of devices.
#include "planner/graph/schedule_picture.h"

#include <gmock/gmock.h>

#include "host/planner/graph/graphs.h"
#include "host/planner/message_of.h"
#include "planner/graph/device_list.h"
#include "planner/graph/dot_file.h"

namespace tandem::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

int count_of(const std::string& text, const std::string& what) {
  int count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

class SchedulePicture : public testing::Test {
 protected:
  OperatorGraph graph_{
      {node_named("a<\"\\&", 40, 20), node_named("b\xff", 20), node_named("c", 20)},
      {edge_of(0, 1), edge_of(0, 2)}};
  DeviceLinks links_ = slow_links(2, 0);
  std::vector<std::string> kinds_;
  Placement placement_ = {0, 1, 0};
  PictureOfPlacement picture_{graph_, links_, kinds_, placement_};
};

TEST_F(SchedulePicture, ARowPerDeviceAndLinkWithWhatRunsThere) {
  const std::string svg = schedule_svg(picture_);
  EXPECT_THAT(svg, HasSubstr("<title>80 us on 2 devices</title>"));
  EXPECT_THAT(svg, HasSubstr(">device 0</text>"));
  EXPECT_THAT(svg, HasSubstr(">device 1</text>"));
  EXPECT_THAT(svg, HasSubstr(">0 to 1</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>a&lt;\"\\&amp;: 0 to 40 us</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>b\xef\xbf\xbd: 60 to 80 us</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>a&lt;\"\\&amp;, 20 bytes: 40 to 60 us</title>"));
  EXPECT_EQ(count_of(svg, "<rect"), 1 + 3 + 1);
  // From 120 to 1180 pixels: a half of 1060 is 530.
  EXPECT_THAT(svg, HasSubstr("<rect x=\"120.00\" y=\"24.0\" width=\"530.00\""));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"915.00\" y=\"50.0\" width=\"265.00\""));
  links_.kinds = {0, 0};
  kinds_ = {"gpu"};
  EXPECT_THAT(schedule_svg(picture_), HasSubstr(">device 1 gpu</text>"));
}

TEST_F(SchedulePicture, NarrowMarksAreJoined) {
  std::vector<OperatorNode> nodes;
  for (int id = 0; id < 30'000; ++id) nodes.push_back(node_named("n" + std::to_string(id), 1));
  const OperatorGraph many(nodes, {});
  const Placement all(nodes.size(), 0);
  const std::string svg = schedule_svg({many, links_, kinds_, all});
  // A mark is 0.035 pixels wide: two are one.
  EXPECT_EQ(count_of(svg, "<rect"), 1 + 15'000);
  EXPECT_THAT(svg, HasSubstr("2 marks"));
}

TEST_F(SchedulePicture, TheDotFileReadsAgain) {
  const std::string dot = placement_dot(picture_);
  EXPECT_THAT(dot, HasSubstr("device 1, 60 to 80 us\""));
  EXPECT_THAT(dot, HasSubstr("-> \"b\xff\" [style=bold, label=\"20 bytes\"];"));
  EXPECT_THAT(dot, HasSubstr("-> \"c\";"));
  const NamedGraph again = read_dot(dot);
  ASSERT_EQ(again.nodes.size(), 3u);
  for (int id = 0; id < 3; ++id) {
    EXPECT_EQ(again.nodes[static_cast<std::size_t>(id)].name, graph_.node(id).name);
  }
  EXPECT_EQ(again.edges.size(), 2u);
}

DeviceList device_list(const std::string& text) {
  return read_device_list(text, 7, [](const std::string& bytes) { return std::stoll(bytes); });
}
std::string refused_list(const std::string& text) {
  return message_of([&] { device_list(text); });
}

TEST(DeviceListTest, ReadsNumbersAndKinds) {
  const DeviceList plain = device_list("4");
  EXPECT_EQ(plain.num_devices, 4);
  EXPECT_TRUE(plain.kinds.empty() && plain.kind_of.empty() && plain.memories.empty());
  const DeviceList list = device_list("2xgpu=16,cpu,gpu=8");
  EXPECT_EQ(list.num_devices, 4);
  EXPECT_THAT(list.kinds, ElementsAre("gpu", "cpu"));
  EXPECT_THAT(list.kind_of, ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(list.memories, ElementsAre(16, 16, 7, 8));
  EXPECT_TRUE(device_list("gpu,cpu").memories.empty());
}

TEST(DeviceListTest, NamesTheWrongPart) {
  EXPECT_THAT(refused_list(""), HasSubstr("'' has no number of devices from 1 to 1024"));
  EXPECT_THAT(refused_list("0"), HasSubstr("'0' has no number"));
  EXPECT_THAT(refused_list("1025"), HasSubstr("'1025' has no number"));
  EXPECT_THAT(refused_list("99999999999"), HasSubstr("has no number"));
  EXPECT_THAT(refused_list("gpu,,cpu"), HasSubstr("'' is neither a number of devices nor"));
  EXPECT_THAT(refused_list("2gpu"), HasSubstr("'2gpu' is neither"));
  EXPECT_THAT(refused_list("-1"), HasSubstr("'-1' is neither"));
  EXPECT_THAT(refused_list("gpu, cpu"), HasSubstr("' cpu' is neither"));
  EXPECT_THAT(refused_list("0xgpu"), HasSubstr("'0xgpu' has no number"));
  EXPECT_THAT(refused_list("gpu="), HasSubstr("'gpu=' has no memory behind '='"));
  EXPECT_THAT(refused_list("1000xgpu,25xcpu"), HasSubstr("has more than 1024 devices"));
}

}  // namespace
}  // namespace tandem::planner
