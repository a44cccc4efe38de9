// SPDX-License-Identifier: Apache-2.0
//
// Topologies of text, of described machines, and of NCCL's XML: distances, slow links, refusals.
#include "planner/mapping/topology_file.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "host/planner/message_of.h"

namespace tandem::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Topology of_text(const std::string& text) {
  std::istringstream in(text);
  return read_topology_text(in);
}

Topology of_nccl(const std::string& text) {
  std::istringstream in(text);
  return read_nccl_topology(in);
}

TEST(TopologyText, PlacesSwitchesAndCosts) {
  const Topology topology = of_text(
      "# two hosts\n\nlink a left\nlink b left 1\nlink left right 5  # slow\n"
      "place a alpha 0\nplace b alpha 1\nplace c beta 2\nplace d\nlink c right\nlink d c\n");
  ASSERT_EQ(topology.num_places(), 4);
  EXPECT_EQ(topology.places[1].name, "b");
  EXPECT_EQ(topology.places[1].host, "alpha");
  EXPECT_EQ(topology.places[1].slot, "1");
  EXPECT_EQ(topology.places[3].host, "+n3");
  EXPECT_EQ(topology.places[3].slot, "0");
  EXPECT_EQ(topology.num_switches, 2);
  const TopologyDistances distances = distances_of(topology);
  EXPECT_THAT(distances.cost, ElementsAre(0, 2, 7, 8, 2, 0, 7, 8, 7, 7, 0, 1, 8, 8, 1, 0));
  EXPECT_THAT(distances.slow, ElementsAre(0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0));
}

TEST(TopologyText, WrongLinesAreNamed) {
  const auto refusal = [](const std::string& text) { return message_of([&] { of_text(text); }); };
  EXPECT_THAT(refusal("place a\nnode b\n"), HasSubstr("line 2: 'node' is neither"));
  EXPECT_THAT(refusal("place\n"), HasSubstr("line 1: a place is"));
  EXPECT_THAT(refusal("place a b 1 2\n"), HasSubstr("line 1: a place is"));
  EXPECT_THAT(refusal("place a\nplace a\n"), HasSubstr("line 2: the place 'a' exists already"));
  EXPECT_THAT(refusal("link a\n"), HasSubstr("line 1: a link is"));
  EXPECT_THAT(refusal("link a b 1 1\n"), HasSubstr("line 1: a link is"));
  EXPECT_THAT(refusal("link a a\n"), HasSubstr("joins 'a' with itself"));
  for (const std::string cost : {"0", "-1", "1.5", "fast", "1000001"}) {
    EXPECT_THAT(refusal("link a b " + cost + "\n"), HasSubstr("the cost '" + cost + "' is not"));
  }
  EXPECT_EQ(refusal("link a b 1000000\n"), "");
  std::string many;
  for (int i = 0; i < 2049; ++i) many += "place p" + std::to_string(i) + "\n";
  EXPECT_THAT(refusal(many), HasSubstr("line 2049: more than 2048 places"));
}

void name_hosts_by(Topology& topology, const std::string& text) {
  std::istringstream in(text);
  name_hosts(topology, in);
}

TEST(HostNames, SlotsAreThePlacesInTurn) {
  Topology topology = of_text("place a\nplace b\nplace c\nplace d\n");
  name_hosts_by(topology, "# rack\nalpha slots=2 # two\n\nbeta\ngamma slots=9\n");
  std::vector<std::string> names;
  for (const TopologyPlace& place : topology.places) names.push_back(place.host + ":" + place.slot);
  EXPECT_THAT(names, ElementsAre("alpha:0", "alpha:1", "beta:0", "gamma:0"));
}

TEST(HostNames, WrongLinesAndTooFewSlotsAreRefused) {
  Topology topology = of_text("place a\nplace b\nplace c\n");
  const auto refusal = [&](const std::string& text) {
    return message_of([&] { name_hosts_by(topology, text); });
  };
  for (const std::string words : {"slots=0", "slots=x", "slots=", "max=3", "slots=3 more"}) {
    EXPECT_THAT(refusal("alpha\nbeta " + words + "\n"), HasSubstr("line 2: a host is"));
  }
  EXPECT_THAT(refusal("alpha slots=2\n"), HasSubstr("have 2 slots; the topology has 3 places"));
  EXPECT_EQ(refusal("alpha slots=3\n"), "");
}

TEST(TopologyOfProcessors, NodesCachesAndCores) {
  ProcessorLayout layout;  // node 0: cores 0, 1 with a cache each; node 1: core 2 of two threads, 3
  layout.processors = {{.id = 0, .node = 0, .cache = 0, .core = 0},
                       {.id = 1, .node = 0, .cache = 1, .core = 1},
                       {.id = 2, .node = 1, .cache = 2, .core = 2},
                       {.id = 3, .node = 1, .cache = 2, .core = 2, .thread = 1},
                       {.id = 4, .node = 1, .cache = 2, .core = 3}};
  layout.num_nodes = 2;
  layout.num_caches = 3;
  layout.num_cores = 4;
  const Topology topology = topology_of_processors(layout);
  ASSERT_EQ(topology.num_places(), 4);
  EXPECT_EQ(topology.places[3].slot, "3");
  EXPECT_EQ(topology.places[3].host, "localhost");
  const TopologyDistances distances = distances_of(topology);
  EXPECT_THAT(distances.cost, ElementsAre(0, 4, 8, 8, 4, 0, 8, 8, 8, 8, 0, 2, 8, 8, 2, 0));
  EXPECT_THAT(distances.slow, ElementsAre(0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0));
}

// Virtual machines tell of no caches: all cores have number 0.
TEST(TopologyOfProcessors, NodesAreApartWithoutKnownCaches) {
  ProcessorLayout layout;
  layout.processors = {{.id = 0, .node = 0, .core = 0},
                       {.id = 1, .node = 1, .core = 1},
                       {.id = 2, .node = 1, .core = 2}};
  layout.num_nodes = 2;
  layout.num_cores = 3;
  const TopologyDistances distances = distances_of(topology_of_processors(layout));
  EXPECT_THAT(distances.cost, ElementsAre(0, 8, 8, 8, 0, 2, 8, 2, 0));
  EXPECT_THAT(distances.slow, ElementsAre(0, 1, 1, 1, 0, 0, 1, 0, 0));
}

TEST(TopologyOfProcessors, WithOneNodeTheCachesAreFar) {
  ProcessorLayout layout;
  layout.processors = {{.id = 0, .cache = 0, .core = 0}, {.id = 1, .cache = 1, .core = 1}};
  layout.num_caches = layout.num_cores = 2;
  EXPECT_THAT(distances_of(topology_of_processors(layout)).slow, ElementsAre(0, 2, 2, 0));
  layout = flat_processors({0, 1}, 2);
  EXPECT_THAT(distances_of(topology_of_processors(layout)).cost, ElementsAre(0, 2, 2, 0));
  EXPECT_THAT(distances_of(topology_of_processors(layout)).slow, ElementsAre(0, 2, 2, 0));
}

std::string nccl_gpu(const std::string& busid, int dev, const std::string& links) {
  return "<pci busid=\"" + busid + "\" class=\"0x030200\"><gpu dev=\"" + std::to_string(dev) +
         "\" sm=\"80\">" + links + "</gpu></pci>";
}

// Two CPUs; GPUs 1 and 0 behind a bridge of the first, 2 and 3 at the second. 0 and 2 have NVLink.
std::string nccl_system(const std::string& links_of_0) {
  return "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"b0\" class=\"0x060400\">" +
         nccl_gpu("g1", 1, "") + nccl_gpu("g0", 0, links_of_0) +
         "</pci><nic><net name=\"eth0\"/></nic></cpu><cpu numaid=\"1\">" +
         nccl_gpu("g2", 2, "<nvlink target=\"g0\" count=\"4\" tclass=\"0x030200\"/>") +
         nccl_gpu("g3", 3, "") + "</cpu></system>";
}

TEST(NcclTopology, PciCpusAndNvlink) {
  const Topology topology =
      of_nccl(nccl_system("<nvlink target=\"g2\" count=\"4\" tclass=\"0x030200\"/>"));
  ASSERT_EQ(topology.num_places(), 4);
  EXPECT_EQ(topology.places[2].name, "gpu 2");
  EXPECT_EQ(topology.places[2].slot, "");
  const TopologyDistances distances = distances_of(topology);
  // GPU 0 and 2 directly; 1 to 2 over the bridge and GPU 0; 0 to 3 over GPU 2.
  EXPECT_THAT(distances.cost,
              ElementsAre(0, 48, 3, 51, 48, 0, 51, 99, 3, 51, 0, 48, 51, 99, 48, 0));
  EXPECT_THAT(distances.slow, testing::Each(0));
  const TopologyDistances apart =
      distances_of(of_nccl("<system><cpu>" + nccl_gpu("a", 0, "") + "</cpu><cpu>" +
                           nccl_gpu("b", 1, "") + "</cpu></system>"));
  EXPECT_THAT(apart.cost, ElementsAre(0, 96, 96, 0));
  EXPECT_THAT(apart.slow, ElementsAre(0, 1, 1, 0));
}

TEST(NcclTopology, SwitchesOfNvlinkActAsOne) {
  const std::string to_switch = "<nvlink target=\"ffff:ff\" count=\"24\" tclass=\"0x068000\"/>";
  const TopologyDistances distances =
      distances_of(of_nccl("<system><cpu>" + nccl_gpu("a", 0, to_switch) +
                           nccl_gpu("b", 1, to_switch) + nccl_gpu("c", 2, "") + "</cpu></system>"));
  EXPECT_THAT(distances.cost, ElementsAre(0, 2, 48, 2, 0, 48, 48, 48, 0));
  EXPECT_THAT(distances.slow, ElementsAre(0, 0, 2, 0, 0, 2, 2, 2, 0));
}

TEST(NcclTopology, MalformedFilesAreNamed) {
  const auto refusal = [](const std::string& text) { return message_of([&] { of_nccl(text); }); };
  EXPECT_THAT(refusal("<system><cpu>"), HasSubstr("malformed at byte"));
  EXPECT_THAT(refusal("<graphs/>"), HasSubstr("neither <system>"));
  EXPECT_THAT(refusal("<system><cpu/></system>"), HasSubstr("has no <gpu>"));
  EXPECT_THAT(refusal("<system><cpu><pci busid=\"a\"><gpu dev=\"x\"/></pci></cpu></system>"),
              HasSubstr("has the dev 'x'"));
  EXPECT_THAT(refusal("<system><cpu><pci><gpu dev=\"0\"/></pci></cpu></system>"),
              HasSubstr("gpu 0 has no busid"));
  EXPECT_THAT(
      refusal("<system><cpu>" + nccl_gpu("a", 0, "") + nccl_gpu("b", 0, "") + "</cpu></system>"),
      HasSubstr("two GPUs have the dev 0"));
  EXPECT_THAT(
      refusal("<system><cpu>" + nccl_gpu("a", 0, "") + nccl_gpu("a", 1, "") + "</cpu></system>"),
      HasSubstr("two GPUs have the bus number 'a'"));
  EXPECT_THAT(refusal(nccl_system("<nvlink target=\"g9\" count=\"1\" tclass=\"0x030200\"/>")),
              HasSubstr("leads to 'g9', which is not a GPU"));
  EXPECT_THAT(refusal(nccl_system("<nvlink target=\"g2\" count=\"0\"/>")),
              HasSubstr("an <nvlink> of 'g0' counts '0'"));
  std::string deep = "<system>";
  for (int i = 0; i < 100; ++i) deep += "<pci>";
  for (int i = 0; i < 100; ++i) deep += "</pci>";
  EXPECT_THAT(refusal(deep + "</system>"), HasSubstr("nested too deeply"));
}

class TopologyFileTest : public testing::Test {
 protected:
  std::string file(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  void TearDown() override { std::remove(path_.c_str()); }

 private:
  std::string path_ = testing::TempDir() + "topology_" +
                      testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(TopologyFileTest, TheContentChoosesTheReader) {
  EXPECT_EQ(read_topology(file("place a\nplace b\nlink a b\n")).num_places(), 2);
  EXPECT_EQ(read_topology(file("\n <?xml version=\"1.0\"?>" + nccl_system(""))).num_places(), 4);
  EXPECT_THAT(message_of([&] { read_topology(file("<topology/>")); }),
              HasSubstr(processors_are_known() ? "as a description of a machine" : "libhwloc-dev"));
}

TEST_F(TopologyFileTest, AnEmptyFileHasNoPlaces) {
  const Topology empty = read_topology(file(""));
  EXPECT_THAT(message_of([&] { distances_of(empty); }), HasSubstr("there are no places"));
}

TEST_F(TopologyFileTest, ErrorsNameTheFile) {
  const std::string path = file("place a\nnode\n");
  EXPECT_THAT(message_of([&] { read_topology(path); }),
              testing::AllOf(HasSubstr(path), HasSubstr("line 2")));
  EXPECT_THAT(message_of([] { read_topology(testing::TempDir()); }), HasSubstr("cannot read"));
  EXPECT_THAT(message_of([] { read_topology("/nowhere/topology"); }),
              HasSubstr("cannot read '/nowhere/topology'"));
}

}  // namespace
}  // namespace tandem::planner
