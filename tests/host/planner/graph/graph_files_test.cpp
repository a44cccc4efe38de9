// SPDX-License-Identifier: Apache-2.0
//
// Graphs from files, and the lines and fields of those that are wrong.
#include "planner/graph/graph_files.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "host/planner/message_of.h"

namespace tandem::planner {
namespace {

using testing::HasSubstr;

OperatorGraph json_graph(const std::string& text) {
  std::istringstream in(text);
  return read_graph_json(in);
}

std::string refused_json(const std::string& text) {
  return message_of([&] { json_graph(text); });
}

TEST(GraphJson, ReadsNodesAndEdgesOfAllForms) {
  const OperatorGraph graph = json_graph(R"({"nodes": [
    {"name": "a", "us": 1.5, "output_bytes": 4, "resident_bytes": 5, "workspace_bytes": 6,
     "group": "g", "device": 2}, {"name": "b", "us": 0}],
    "edges": [["a", "b"], [0, 1, 7], {"from": "a", "to": 1, "bytes": 8}, {"from": 0, "to": "b"}]})");
  EXPECT_EQ(graph.node(0).time_ps, 1'500'000);
  EXPECT_EQ(graph.node(0).output_bytes, 4);
  EXPECT_EQ(graph.node(0).resident_bytes, 5);
  EXPECT_EQ(graph.node(0).workspace_bytes, 6);
  EXPECT_EQ(graph.node(0).group, "g");
  EXPECT_EQ(graph.node(0).device, 2);
  ASSERT_EQ(graph.num_edges(), 4);
  for (int id = 0; id < 4; ++id) {
    EXPECT_EQ(graph.edge(id).from, 0);
    EXPECT_EQ(graph.edge(id).to, 1);
  }
  EXPECT_EQ(graph.edge_bytes(0), 4);
  EXPECT_EQ(graph.edge_bytes(1), 7);
  EXPECT_EQ(graph.edge_bytes(2), 8);
  EXPECT_EQ(graph.edge_bytes(3), 4);
}

TEST(GraphJson, NamesTheWrongField) {
  const auto nodes = [](const std::string& list, const std::string& edges = "") {
    return refused_json("{\"nodes\": [" + list + "], \"edges\": [" + edges + "]}");
  };
  const std::string a = R"({"name": "a", "us": 1})";
  EXPECT_THAT(refused_json("{"), HasSubstr("the file is not JSON: parse error at"));
  EXPECT_THAT(refused_json("[2e2222]"), HasSubstr("the file is not JSON"));
  EXPECT_THAT(refused_json("[]"), HasSubstr("no array 'nodes'"));
  EXPECT_THAT(refused_json(R"({"nodes": []})"), HasSubstr("no array 'edges'"));
  EXPECT_THAT(nodes("1"), HasSubstr("node 0 is not an object"));
  EXPECT_THAT(nodes(R"({"us": 1})"), HasSubstr("node 0 has no name"));
  EXPECT_THAT(nodes(a + R"(, {"name": "b"})"), HasSubstr("node 'b' has no time"));
  EXPECT_THAT(nodes(R"({"name": "a", "us": -1})"), HasSubstr("node 'a': 'us' is -1, not a time"));
  EXPECT_THAT(nodes(R"({"name": "a", "us": "1"})"), HasSubstr("'us' is \"1\", not a time"));
  EXPECT_THAT(nodes(R"({"name": "a", "us": 1e30})"), HasSubstr("not a time"));
  EXPECT_THAT(nodes(R"({"name": "a", "us": 1, "bytes": 1})"), HasSubstr("the field 'bytes'"));
  EXPECT_THAT(nodes(R"({"name": "a", "us": 1, "output_bytes": -1})"),
              HasSubstr("node 'a': 'output_bytes' is -1, not a number of bytes"));
  EXPECT_THAT(nodes(R"({"name": "a", "us": 1, "group": 1})"), HasSubstr("'group' is not text"));
  EXPECT_THAT(nodes(R"({"name": "a", "us": 1, "device": -1})"), HasSubstr("'device' is -1"));
  const std::string huge = "18446744073709551614";  // -2 as a signed number
  EXPECT_THAT(nodes(R"({"name": "a", "us": 1, "device": )" + huge + "}"),
              HasSubstr("'device' is " + huge));
  EXPECT_THAT(nodes(R"({"name": "a", "us": 1, "output_bytes": )" + huge + "}"),
              HasSubstr("'output_bytes' is " + huge));
  EXPECT_THAT(nodes(a, R"(["a", "x"])"), HasSubstr("edge 0 names the node \"x\""));
  EXPECT_THAT(nodes(a, "[0, 1]"), HasSubstr("edge 0 names the node 1"));
  EXPECT_THAT(nodes(a, "[0]"), HasSubstr("edge 0 is neither [from, to, bytes] nor an object"));
  EXPECT_THAT(nodes(a, R"({"from": 0})"), HasSubstr("edge 0 has no 'to'"));
  EXPECT_THAT(nodes(a, "[0, 0, 1.5]"), HasSubstr("the third entry is 1.5"));
  EXPECT_THAT(nodes(a, "[0, 0]"), HasSubstr("cycle: 'a' -> 'a'"));
}

TEST(GraphJson, TimesByKindFollowTheNamedKinds) {
  const std::string text = R"({"nodes": [{"name": "a", "us": {"gpu": 2, "cpu": 5.5, "card": 9}},
                               {"name": "b", "us": 3}], "edges": []})";
  const auto graph_of = [](const std::string& from, const std::vector<std::string>& kinds) {
    std::istringstream in(from);
    return read_graph_json(in, kinds);
  };
  const OperatorGraph graph = graph_of(text, {"cpu", "gpu"});
  EXPECT_EQ(graph.time_ps(0, 0), 5'500'000);
  EXPECT_EQ(graph.time_ps(0, 1), 2'000'000);
  EXPECT_EQ(graph.time_ps(1, 1), 3'000'000);
  EXPECT_THAT(message_of([&] {
                graph_of(text, {"cpu", "tpu"});
              }),
              HasSubstr("node 'a': 'us' has no time of kind 'tpu'"));
  EXPECT_THAT(message_of([&] { graph_of(text, {}); }), HasSubstr("name the kinds that there are"));
  EXPECT_THAT(refused_json(R"({"nodes": [{"name": "a", "us": {"gpu": -1}}], "edges": []})"),
              HasSubstr("name the kinds"));
  EXPECT_THAT(message_of([&] {
                graph_of(R"({"nodes": [{"name": "a", "us": {"gpu": 1, "x": -1}}], "edges": []})",
                         {"gpu"});
              }),
              HasSubstr("node 'a': 'us' of 'x' is -1, not a time"));
}

class GraphTriple : public testing::Test {
 protected:
  GraphTriple() : folder_(testing::TempDir() + "graph_triple_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    write("graph.dot", "digraph {\n\"x/a\" -> b;\nb -> c\n}\n");
    write("durations.txt", "x/a::3\nb::1.5\nc::0\n");
    write("sizes.txt", "x/a::100\n\nb::7\nc::1\n");
  }
  ~GraphTriple() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }
  TripleGraph read() { return read_graph_triple(folder_); }
  std::string refused() {
    return message_of([&] { read(); });
  }
  std::string refused_dot(const std::string& text) {
    write("graph.dot", text);
    return refused();
  }

  std::string folder_;
};

TEST_F(GraphTriple, ReadsEdgesTimesAndSizes) {
  const TripleGraph triple = read();
  ASSERT_EQ(triple.graph.num_nodes(), 3);
  EXPECT_EQ(triple.graph.num_edges(), 2);
  EXPECT_EQ(triple.graph.node(0).name, "x/a");
  EXPECT_EQ(triple.graph.node(0).time_ps, 3'000'000);
  EXPECT_EQ(triple.graph.node(1).time_ps, 1'500'000);
  EXPECT_EQ(triple.graph.node(0).output_bytes, 100);
  EXPECT_EQ(triple.num_without_size, 0);
}

TEST_F(GraphTriple, ReadsTheFormsOfDot) {
  write("graph.dot",
        "// one\nstrict digraph \"net\" { rankdir=LR; /* two\nlines */ node [shape=box, "
        "label=\"}\"]\n"
        "# three\nx/a->b->c [weight=2];\n\"c\";src -> x/a; c -> snk }\n");
  const TripleGraph triple = read();
  EXPECT_EQ(triple.graph.num_nodes(), 5);
  EXPECT_EQ(triple.graph.num_edges(), 4);
}

TEST_F(GraphTriple, ANodeWithoutASizeIsCounted) {
  write("sizes.txt", "x/a::100\n");
  EXPECT_EQ(read().num_without_size, 1);  // c has no consumers
}

TEST_F(GraphTriple, OtherNodesAreLeftOutAndEqualLinesAreOne) {
  write("durations.txt", "other::9\nx/a::3\nx/a::3\nb::1\nc::1\n");
  EXPECT_EQ(read().graph.num_nodes(), 3);
  write("durations.txt", "x/a::3\nx/a::4\nb::1\nc::1\n");
  EXPECT_THAT(refused(), HasSubstr("durations.txt: line 2: node 'x/a' has another value above"));
}

TEST_F(GraphTriple, NamesWhatIsMissing) {
  write("durations.txt", "x/a::3\nc::0\n");
  EXPECT_THAT(refused(), HasSubstr("durations.txt: node 'b' of graph.dot has no duration"));
  std::filesystem::remove(folder_ + "/sizes.txt");
  EXPECT_THAT(refused(), HasSubstr("sizes.txt'"));
  std::filesystem::remove(folder_ + "/graph.dot");
  EXPECT_THAT(refused(), HasSubstr("a triple is a folder with graph.dot"));
}

TEST_F(GraphTriple, NamesTheWrongLine) {
  EXPECT_THAT(refused_dot(""), HasSubstr("graph.dot: line 1: the file begins with ''"));
  EXPECT_THAT(refused_dot("graph {}"), HasSubstr("begins with 'graph', not with digraph"));
  EXPECT_THAT(refused_dot("digraph a b {"), HasSubstr("line 1: '{' was expected, not 'b'"));
  EXPECT_THAT(refused_dot("digraph {\n a -> ;\n}"),
              HasSubstr("line 2: a name was expected, not ';'"));
  EXPECT_THAT(refused_dot("digraph {\n\n a -> b\n"), HasSubstr("a name was expected, not the end"));
  EXPECT_THAT(refused_dot("digraph {\n \"a\n -> b }"),
              HasSubstr("line 2: a quoted name has no end"));
  EXPECT_THAT(refused_dot("digraph {\n \"\" -> b }"), HasSubstr("line 2: a name is empty"));
  EXPECT_THAT(refused_dot("digraph {\n a [x=1\n"), HasSubstr("']' is missing"));
  EXPECT_THAT(refused_dot("digraph {\n subgraph c { a -> b } }"), HasSubstr("line 2: subgraphs"));
  EXPECT_THAT(refused_dot("digraph { b -> c }\nmore"), HasSubstr("line 2: 'more' follows the end"));
  EXPECT_THAT(refused_dot("digraph { b -> c -> b }"), HasSubstr("the graph has a cycle: 'b'"));
  write("graph.dot", "digraph { b -> c }");
  write("durations.txt", "b::1\nc 5\n");
  EXPECT_THAT(refused(), HasSubstr("durations.txt: line 2: 'c 5' is not a line name::value"));
  write("durations.txt", "b::1\nc::-5\n");
  EXPECT_THAT(refused(), HasSubstr("durations.txt: line 2: '-5' is not a number of at least 0"));
  write("durations.txt", "b::1\nc::1e30\n");
  EXPECT_THAT(refused(), HasSubstr("durations.txt: the value of node 'c' is too large"));
  write("durations.txt", "b::1\nc::5\n");
  write("sizes.txt", "b::x\n");
  EXPECT_THAT(refused(), HasSubstr("sizes.txt: line 1: 'x' is not a number"));
}

TEST(GraphTripleText, QuotedMarksAreNames) {
  std::istringstream dot("digraph { a [label=\"]\", x=\"=\"]; \"->\" -> \"}\"; \";\" }"),
      times("a::1\n->::1\n}::1\n;::1\n"), sizes("");
  // A value in quotation marks loses a semicolon at its end, as graph files have them.
  const std::string text = message_of([&] { read_triple(dot, times, sizes); });
  EXPECT_THAT(text, HasSubstr("node ';' of graph.dot has no duration"));
  std::istringstream fine("digraph { a [label=\"]\", x=\"=\"]; \"->\" -> \"}\" \"->\" b }"),
      more("a::1\nb::1\n->::1\n}::1\n");
  const OperatorGraph graph = read_triple(fine, more, sizes).graph;
  EXPECT_EQ(graph.num_nodes(), 4);
  EXPECT_EQ(graph.num_edges(), 1);
}

TEST(GraphTripleText, AFolderInPlaceOfAFileIsRefused) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("triple-folder-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "graph.dot");
  std::ofstream(folder / "durations.txt") << "";
  std::ofstream(folder / "sizes.txt") << "";
  EXPECT_THAT(message_of([&] { read_graph_triple(folder.string()); }),
              HasSubstr("graph.dot': it is a folder"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tandem::planner
