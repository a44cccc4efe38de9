// SPDX-License-Identifier: Apache-2.0
//
// Graphs from ONNX models made here: shapes, times by the rule, memory, and what is refused.
#include "planner/onnx/onnx_graph.h"

#include <gmock/gmock.h>

#include <sstream>

#include "host/planner/message_of.h"
#include "host/planner/onnx/onnx_encoder.h"

namespace tandem::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

OnnxGraph onnx_graph(const OnnxText& text, const OnnxSizes& sizes = {}) {
  OnnxOptions options;
  options.sizes = sizes;
  return read_graph_onnx(text.model(), options);
}

std::string refused_onnx(const OnnxText& text) {
  return message_of([&] { onnx_graph(text); });
}

// A convolution of 3 to 8 channels over 10 x 10 pixels, then two consumers of it.
OnnxText small_network() {
  OnnxText text;
  text.input("x", {1, 3, 10, 10}).weight("w", {8, 3, 3, 3}).weight("b", {8});
  text.node("Conv", {"x", "w", "b"}, {"c"}, ints_attribute("pads", {1, 1, 1, 1}), "conv");
  text.node("Relu", {"c"}, {"r"}, "", "relu").node("Sigmoid", {"c"}, {"s"}, "", "sigmoid");
  text.node("Mul", {"r", "s"}, {"y"}, "", "mul");
  return text;
}

TEST(OnnxGraphTest, OperatorsBecomeNodesAndValuesEdges) {
  const OnnxGraph read = onnx_graph(small_network());
  const OperatorGraph& graph = read.graph;
  ASSERT_EQ(graph.num_nodes(), 4);
  ASSERT_EQ(graph.num_edges(), 4);
  EXPECT_EQ(graph.node(0).name, "conv");
  EXPECT_EQ(graph.node(0).output_bytes, 8 * 10 * 10 * 4);
  EXPECT_EQ(graph.node(0).resident_bytes, (8 * 3 * 3 * 3 + 8) * 4);
  EXPECT_EQ(graph.node(3).output_bytes, 8 * 10 * 10 * 4);
  for (const auto& [edge, from, to] : {std::tuple{0, 0, 1}, {1, 0, 2}, {2, 1, 3}, {3, 2, 3}}) {
    EXPECT_EQ(graph.edge(edge).from, from);
    EXPECT_EQ(graph.edge(edge).to, to);
    EXPECT_EQ(graph.edge_bytes(edge), 8 * 10 * 10 * 4);
  }
  EXPECT_EQ(read.num_without_shape, 0);
  EXPECT_TRUE(read.unnamed_sizes.empty());
}

TEST(OnnxGraphTest, TimesFollowTheRoofline) {
  OnnxText text;
  text.input("a", {512, 4096}).weight("w", {4096, 4096});
  text.node("MatMul", {"a", "w"}, {"b"}).node("Relu", {"b"}, {"c"}).node("Identity", {"c"}, {"d"});
  const OperatorGraph graph = std::move(onnx_graph(text).graph);
  const DeviceSheet sheet = device_preset("a100");
  // Elements of 32 bits take twice as long as the sheet's of 16.
  const double product_s = 2.0 * 512 * 4096 * 4096 * 2 / (sheet.f16_ops_per_s * 0.6);
  const double relu_s = 2.0 * 512 * 4096 * 4 / (sheet.bytes_per_s * 0.85);
  EXPECT_NEAR(static_cast<double>(graph.node(0).time_ps), (product_s + 3e-6) * 1e12, 1e3);
  EXPECT_NEAR(static_cast<double>(graph.node(1).time_ps), (relu_s + 3e-6) * 1e12, 1e3);
  EXPECT_EQ(graph.node(2).time_ps, 0);
}

TEST(OnnxGraphTest, MeasuredTimesReplaceTheRule) {
  std::istringstream times("relu::7.5\nmul::0\n");
  OnnxOptions options;
  options.devices[0].times = &times;
  options.devices[0].times_file = "times.txt";
  const OperatorGraph graph = std::move(read_graph_onnx(small_network().model(), options).graph);
  EXPECT_EQ(graph.node(1).time_ps, 7'500'000);
  EXPECT_EQ(graph.node(3).time_ps, 0);
  EXPECT_GT(graph.node(2).time_ps, 0);
  std::istringstream wrong("relu::7.5\nrelo::1\n");
  options.devices[0].times = &wrong;
  EXPECT_THAT(message_of([&] { read_graph_onnx(small_network().model(), options); }),
              HasSubstr("times.txt: line 2: the model has no node 'relo'"));
}

TEST(OnnxGraphTest, KindsOfDevicesHaveTimesOfTheirOwn) {
  std::istringstream times("relu::7.5\n");
  OnnxOptions options;
  options.devices = {{"a100", nullptr, ""}, {"t4", &times, "t4.txt"}};
  const OperatorGraph graph = std::move(read_graph_onnx(small_network().model(), options).graph);
  const OperatorGraph one = std::move(onnx_graph(small_network()).graph);
  ASSERT_EQ(graph.num_kinds(), 2);
  EXPECT_EQ(graph.time_ps(1, 0), one.node(1).time_ps);
  EXPECT_EQ(graph.time_ps(1, 1), 7'500'000);
  EXPECT_GT(graph.time_ps(3, 1), graph.time_ps(3, 0));
}

TEST(OnnxGraphTest, NamesAreMadeUnique) {
  OnnxText text;
  text.input("x", {4});
  text.node("Relu", {"x"}, {"a"}).node("Relu", {"a"}, {"b"}, "", "same");
  text.node("Relu", {"b"}, {"c"}, "", "same");
  const OperatorGraph graph = std::move(onnx_graph(text).graph);
  EXPECT_EQ(graph.node(0).name, "Relu_0");
  EXPECT_EQ(graph.node(1).name, "same");
  EXPECT_EQ(graph.node(2).name, "same_2_2");
}

TEST(OnnxGraphTest, ASharedWeightHasCopiesUnlessItIsLarge) {
  OnnxText text;
  text.input("x", {8, 8}).weight("small", {8, 8}).weight("large", {8, 1 << 16});
  text.node("MatMul", {"x", "small"}, {"a"}).node("MatMul", {"a", "small"}, {"b"});
  text.node("MatMul", {"b", "large"}, {"c"}).node("MatMul", {"a", "large"}, {"d"});
  const OperatorGraph graph = std::move(onnx_graph(text).graph);
  EXPECT_EQ(graph.node(0).resident_bytes, 256);
  EXPECT_EQ(graph.node(1).resident_bytes, 256);
  EXPECT_EQ(graph.node(2).resident_bytes, 8 * (1 << 16) * 4);
  EXPECT_EQ(graph.node(3).resident_bytes, 0);
  EXPECT_EQ(graph.unit_of(2), graph.unit_of(3));
  EXPECT_NE(graph.unit_of(0), graph.unit_of(1));
}

TEST(OnnxGraphTest, AConstantGoesWithItsConsumerAndHasNoEdges) {
  OnnxText text;
  text.input("x", {4});
  text.node("Constant", {}, {"one"},
            bytes_field(5, bytes_field(1, "value") + bytes_field(5, tensor_text("", {4}))));
  text.node("Relu", {"x"}, {"a"}).node("Add", {"a", "one"}, {"b"}).node("Add", {"b", "one"}, {"c"});
  const OperatorGraph graph = std::move(onnx_graph(text).graph);
  EXPECT_EQ(graph.num_edges(), 2);
  EXPECT_EQ(graph.node(0).time_ps + graph.node(0).output_bytes + graph.node(0).resident_bytes, 0);
  EXPECT_EQ(graph.unit_of(0), graph.unit_of(2));
  EXPECT_NE(graph.unit_of(0), graph.unit_of(3));
  EXPECT_EQ(graph.node(3).resident_bytes, 16);
}

TEST(OnnxGraphTest, AConstantWithoutAnOutputGoesWithNobody) {
  OnnxText text;
  text.input("x", {4});
  text.node("Constant", {}, {""}, int_attribute("value_int", 3)).node("Relu", {"x"}, {"y"});
  const OperatorGraph graph = std::move(onnx_graph(text).graph);
  EXPECT_EQ(graph.num_nodes(), 2);
  EXPECT_NE(graph.unit_of(0), graph.unit_of(1));
}

TEST(OnnxGraphTest, InputsWithoutANameAreLeftOut) {
  OnnxText text;
  text.input("x", {1, 4});
  text.node("Squeeze", {"x", ""}, {"y"}).node("Split", {"y", ""}, {"a", "b"});
  const OnnxGraph read = onnx_graph(text);
  EXPECT_EQ(read.graph.node(0).output_bytes, 4 * 4);
  EXPECT_EQ(read.graph.node(1).output_bytes, 2 * 4);
}

TEST(OnnxGraphTest, LaterOutputsAreTensorsOfTheirOwn) {
  OnnxText text;
  text.input("x", {2, 6});
  text.node("Split", {"x"}, {"a", "b"}, int_attribute("axis", 1) + ints_attribute("split", {4, 2}));
  text.node("Relu", {"a"}, {"c"}).node("Relu", {"b"}, {"d"});
  const OperatorGraph graph = std::move(onnx_graph(text).graph);
  EXPECT_EQ(graph.edge_bytes(0), 2 * 4 * 4);
  EXPECT_EQ(graph.edge_bytes(1), 2 * 2 * 4);
  EXPECT_EQ(graph.edge(0).own_bytes, kOutputOfNode);
}

TEST(OnnxGraphTest, NamedSizesAreGivenOrCountOne) {
  OnnxText text;
  text.input("x", {-1, 5});
  text.node("Relu", {"x"}, {"y"});
  EXPECT_EQ(onnx_graph(text, {{"batch", 3}}).graph.node(0).output_bytes, 60);
  const OnnxGraph read = onnx_graph(text);
  EXPECT_EQ(read.graph.node(0).output_bytes, 20);
  EXPECT_THAT(read.unnamed_sizes, ElementsAre("batch"));
}

TEST(OnnxGraphTest, WhatCannotBeInferredComesFromTheFileOrCounts) {
  OnnxText text;
  text.input("x", {2, 3});
  text.node("Resize", {"x"}, {"known"}).node("Resize", {"x"}, {"unknown"});
  text.node("Sum", {"known", "unknown"}, {"y"}).value("known", {4, 6});
  const OnnxGraph read = onnx_graph(text);
  EXPECT_EQ(read.graph.node(0).output_bytes, 96);
  EXPECT_EQ(read.graph.node(1).output_bytes, 0);
  EXPECT_EQ(read.num_without_shape, 1);
}

TEST(OnnxGraphTest, BodiesUseValuesFromOutside) {
  OnnxText text;
  text.input("x", {4}).input("go", {}, 9);
  const std::string body = bytes_field(1, node_text("Neg", {"a"}, {"inner"})) +
                           bytes_field(1, node_text("Abs", {"inner"}, {"last"})) +
                           bytes_field(12, value_text("last", {4}));
  text.node("Relu", {"x"}, {"a"});
  text.node("If", {"go"}, {"y"},
            bytes_field(5, bytes_field(1, "then_branch") + bytes_field(6, body)));
  const OperatorGraph graph = std::move(onnx_graph(text).graph);
  ASSERT_EQ(graph.num_edges(), 1);
  EXPECT_EQ(graph.edge(0).from, 0);
}

TEST(OnnxGraphTest, WeightsOfBodiesLieWithTheirNode) {
  OnnxText text;
  text.input("x", {4}).input("go", {}, 9);
  const std::string constant =
      bytes_field(5, bytes_field(1, "value") + bytes_field(5, tensor_text("c", {5}, kTestInt64)));
  const std::string inner = bytes_field(5, tensor_text("v", {2, 3})) +
                            bytes_field(1, node_text("Constant", {}, {"c"}, constant));
  const std::string body =
      bytes_field(5, tensor_text("w", {10, 4})) +
      bytes_field(1,
                  node_text("If", {"go"}, {"last"},
                            bytes_field(5, bytes_field(1, "then_branch") + bytes_field(6, inner))));
  text.node("Relu", {"x"}, {"a"});
  text.node("If", {"go"}, {"y"},
            bytes_field(5, bytes_field(1, "then_branch") + bytes_field(6, body)));
  const OperatorGraph graph = std::move(onnx_graph(text).graph);
  EXPECT_EQ(graph.node(0).resident_bytes, 0);
  EXPECT_EQ(graph.node(1).resident_bytes, 10 * 4 * 4 + 2 * 3 * 4 + 5 * 8);
}

TEST(OnnxGraphTest, ASizeBelowNothingIsRefusedInWords) {
  OnnxText text;
  const std::string shape = bytes_field(1, number_field(1, -1));
  const std::string type = bytes_field(1, number_field(1, 1) + bytes_field(2, shape));
  text.add(11, bytes_field(1, "x") + bytes_field(2, type)).node("Relu", {"x"}, {"a"});
  EXPECT_THAT(refused_onnx(text),
              HasSubstr("'dim_value' is -1, which is not a size: a size that is "
                        "given later has a name in 'dim_param'"));
}

TEST(OnnxGraphTest, DamagedFilesAreRefusedWithTheField) {
  const auto refused = [](const std::string& file) {
    return message_of([&] { read_graph_onnx(file, {}); });
  };
  EXPECT_THAT(refused(""), HasSubstr("the model: 'graph' is missing"));
  EXPECT_THAT(refused("\xff"), HasSubstr("no valid number"));
  EXPECT_THAT(refused("\x3b"), HasSubstr("field 7 has the type 3"));
  EXPECT_THAT(refused(number_field(7, 1)), HasSubstr("graph: the field has the wire type 0"));
  const std::string whole = small_network().model();
  EXPECT_THAT(refused(whole.substr(0, 100)), HasSubstr("bytes, but 95 are left"));
  EXPECT_THAT(refused(bytes_field(7, "")), HasSubstr("graph: 'node' is missing"));
  EXPECT_THAT(refused(bytes_field(7, bytes_field(1, "")) + bytes_field(7, "")),
              HasSubstr("graph.node[0]: 'op_type' is missing"));
  EXPECT_THAT(refused(whole + bytes_field(7, "")), HasSubstr("graph: the model has two graphs"));
  EXPECT_THAT(refused(bytes_field(7, bytes_field(1, bytes_field(5, number_field(1, 2))))),
              HasSubstr("graph.node[0].attribute[0].name: the field has the wire type 0, not 2"));
}

TEST(OnnxGraphTest, WrongFieldsAreNamed) {
  const auto with = [](int field, const std::string& message) {
    OnnxText text = small_network();
    return refused_onnx(text.add(field, message));
  };
  EXPECT_THAT(with(5, tensor_text("t", {-3})), HasSubstr("graph.initializer[2]: 'dims' has -3"));
  EXPECT_THAT(with(5, tensor_text("t", {3}, 77)), HasSubstr("'data_type' is 77"));
  EXPECT_THAT(with(5, tensor_text("t", {1 << 20, 1 << 20, 2})),
              HasSubstr("'t' has the shape [1048576, 1048576, 2], more than 2^40"));
  EXPECT_THAT(with(5, tensor_text("b", {8})), HasSubstr("initializer[2]: the value 'b' is made"));
  EXPECT_THAT(
      with(11, bytes_field(2, bytes_field(1, bytes_field(2, bytes_field(1, number_field(1, -2)))))),
      HasSubstr("graph.input[1].type.tensor_type.shape.dim[0]: 'dim_value' is -2"));
  EXPECT_THAT(with(1, node_text("Relu", {"nowhere"}, {"z"})),
              HasSubstr("graph.node[4].input: the value 'nowhere' of node 'Relu_4'"));
  EXPECT_THAT(with(1, node_text("Relu", {"x"}, {"y"})),
              HasSubstr("graph.node[4].output: the value 'y' is made twice"));
  EXPECT_THAT(with(1, node_text("Relu", {"late"}, {"z"})) + with(15, ""),
              HasSubstr("graph.sparse_initializer"));
  OnnxText cycle;
  cycle.node("Relu", {"b"}, {"a"}).node("Relu", {"a"}, {"b"});
  EXPECT_THAT(refused_onnx(cycle), HasSubstr("the graph has a cycle"));
}

TEST(OnnxGraphTest, ACardHasNoRateOfDenseLayers) {
  OnnxOptions options;
  options.devices[0].sheet = "u55c";
  EXPECT_THAT(message_of([&] { read_graph_onnx(small_network().model(), options); }),
              HasSubstr("'u55c' runs attention only"));
}

TEST(OnnxGraphTest, BodiesEndAtADepth) {
  std::string body = bytes_field(1, node_text("Neg", {"x"}, {"z"}));
  for (int depth = 0; depth < 40; ++depth) {
    body = bytes_field(1, node_text("If", {}, {}, bytes_field(5, bytes_field(6, body))));
  }
  EXPECT_THAT(refused_onnx(OnnxText().node("If", {}, {"y"}, bytes_field(5, bytes_field(6, body)))),
              HasSubstr("bodies are nested too deep"));
}

}  // namespace
}  // namespace tandem::planner
