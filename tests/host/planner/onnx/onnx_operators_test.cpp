// SPDX-License-Identifier: Apache-2.0
//
// Shapes and operations of single operators against those of the specification.
#include "planner/onnx/onnx_operators.h"

#include <gmock/gmock.h>

#include "host/planner/message_of.h"
#include "host/planner/onnx/onnx_encoder.h"
#include "planner/onnx/onnx_costs.h"

namespace tandem::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

struct OperatorCase {
  std::string op;
  std::vector<OnnxDims> inputs;
  std::string attributes;
  std::vector<OnnxDims> values;  // of the second input on: whole numbers of one dimension
  int num_outputs = 1;
};

class InferredOperator {
 public:
  explicit InferredOperator(const OperatorCase& from) {
    OnnxText text;
    std::vector<std::string> names, outputs;
    for (std::size_t i = 0; i < from.inputs.size(); ++i) {
      names.push_back("in" + std::to_string(i));
      text.input(names.back(), from.inputs[i]);
    }
    for (const OnnxDims& list : from.values) {
      names.push_back("values" + std::to_string(names.size()));
      text.weight(names.back(), {static_cast<std::int64_t>(list.size())}, kTestInt64, list);
    }
    for (int i = 0; i < from.num_outputs; ++i) outputs.push_back("out" + std::to_string(i));
    model_ = read_onnx_model(text.node(from.op, names, outputs, from.attributes).model());
    shapes_.emplace(model_, node_names_, sizes_);
  }
  OnnxDims dims(int output = 0) const {
    const OnnxShape* shape = shapes_->find("out" + std::to_string(output));
    return shape == nullptr ? OnnxDims{-1} : shape->dims;
  }
  const OnnxShape& shape() const { return *shapes_->find("out0"); }
  double operations() const {
    return onnx_operations(shapes_->call(model_.nodes[0], node_names_[0]), *shapes_);
  }
  double bytes() const {
    return onnx_bytes(shapes_->call(model_.nodes[0], node_names_[0]), *shapes_);
  }

 private:
  OnnxModel model_;
  OnnxSizes sizes_;
  std::vector<std::string> node_names_ = {"op"};
  std::optional<OnnxShapes> shapes_;
};

OnnxDims dims_of(const OperatorCase& from) { return InferredOperator(from).dims(); }
std::string refused_operator(const OperatorCase& from) {
  return message_of([&] { InferredOperator{from}; });
}

TEST(OnnxOperators, ElementwiseShapesBroadcast) {
  EXPECT_THAT(dims_of({"Relu", {{2, 3}}, "", {}}), ElementsAre(2, 3));
  EXPECT_THAT(dims_of({"Add", {{4, 1, 3}, {5, 1}}, "", {}}), ElementsAre(4, 5, 3));
  EXPECT_THAT(dims_of({"Where", {{1}, {2, 1}, {3}}, "", {}}), ElementsAre(2, 3));
  EXPECT_THAT(refused_operator({"Mul", {{2, 3}, {2}}, "", {}}),
              HasSubstr("node 'op' (Mul): shapes [2, 3] and [2] do not match"));
  EXPECT_EQ(InferredOperator({"Less", {{2}, {2}}, "", {}}).shape().type, 9);
  EXPECT_EQ(InferredOperator({"Cast", {{2}}, int_attribute("to", 10), {}}).shape().type, 10);
  EXPECT_THAT(refused_operator({"Mul", {{1, 3}, {5, 2}}, "", {}}),
              HasSubstr("shapes [1, 3] and [5, 2] do not match"));
  EXPECT_EQ(InferredOperator({"ConstantOfShape", {}, "", {{2, 7}}}).shape().type, kTestFloat);
  EXPECT_EQ(
      InferredOperator({"Constant", {}, ints_attribute("value_ints", {2, 7}), {}}).shape().type,
      kTestInt64);
  EXPECT_THAT(refused_operator({"Cast", {{2}}, int_attribute("to", 0), {}}),
              HasSubstr("'to' is 0"));
}

TEST(OnnxOperators, ProductsHaveRowsAndColumns) {
  EXPECT_THAT(dims_of({"MatMul", {{7, 1, 2, 3}, {5, 3, 4}}, "", {}}), ElementsAre(7, 5, 2, 4));
  EXPECT_THAT(dims_of({"MatMul", {{3}, {3, 4}}, "", {}}), ElementsAre(4));
  EXPECT_THAT(dims_of({"MatMul", {{2, 3}, {3}}, "", {}}), ElementsAre(2));
  EXPECT_THAT(refused_operator({"MatMul", {{2, 3}, {4, 5}}, "", {}}),
              HasSubstr("factors [2, 3] and [4, 5]"));
  const std::string turned = int_attribute("transA", 1) + int_attribute("transB", 1);
  const InferredOperator gemm({"Gemm", {{3, 2}, {4, 3}}, turned, {}});
  EXPECT_THAT(gemm.dims(), ElementsAre(2, 4));
  EXPECT_EQ(gemm.operations(), 2 * 2 * 4 * 3);
  EXPECT_THAT(refused_operator({"Gemm", {{3, 2}, {4, 3}}, "", {}}), HasSubstr("factors"));
  EXPECT_EQ(InferredOperator({"MatMul", {{7, 2, 3}, {3, 4}}, "", {}}).operations(),
            2 * 7 * 2 * 4 * 3);
}

TEST(OnnxOperators, WindowsSlide) {
  const std::string half = ints_attribute("strides", {2, 2}) + ints_attribute("pads", {3, 3, 3, 3});
  const InferredOperator conv({"Conv", {{2, 3, 224, 224}, {64, 3, 7, 7}}, half, {}});
  EXPECT_THAT(conv.dims(), ElementsAre(2, 64, 112, 112));
  EXPECT_EQ(conv.operations(), 2.0 * 2 * 64 * 112 * 112 * 3 * 49);
  const InferredOperator deep({"Conv",
                               {{1, 8, 9, 9}, {8, 1, 3, 3}},
                               int_attribute("group", 8) + ints_attribute("dilations", {2, 2}),
                               {}});
  EXPECT_THAT(deep.dims(), ElementsAre(1, 8, 5, 5));
  EXPECT_EQ(deep.operations(), 2 * 8 * 25 * 9);
  const std::string same =
      bytes_field(5, bytes_field(1, "auto_pad") + bytes_field(4, "SAME_UPPER"));
  EXPECT_THAT(dims_of({"Conv", {{1, 3, 7}, {4, 3, 3}}, same + ints_attribute("strides", {2}), {}}),
              ElementsAre(1, 4, 4));
  const std::string pool =
      ints_attribute("kernel_shape", {3, 3}) + ints_attribute("strides", {2, 2});
  EXPECT_THAT(dims_of({"MaxPool", {{1, 2, 8, 9}}, pool, {}}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(dims_of({"MaxPool", {{1, 2, 8, 9}}, pool + int_attribute("ceil_mode", 1), {}}),
              ElementsAre(1, 2, 4, 4));
  // The second window would begin behind the input.
  const std::string wide = ints_attribute("kernel_shape", {2}) + ints_attribute("strides", {3}) +
                           ints_attribute("pads", {1, 1}) + int_attribute("ceil_mode", 1);
  EXPECT_THAT(dims_of({"MaxPool", {{1, 2, 2}}, wide, {}}), ElementsAre(1, 2, 1));
  EXPECT_EQ(InferredOperator({"AveragePool", {{1, 2, 8, 9}}, pool, {}}).operations(),
            2 * 3 * 4 * 9);
  EXPECT_THAT(dims_of({"GlobalAveragePool", {{1, 2, 8, 9}}, "", {}}), ElementsAre(1, 2, 1, 1));
  EXPECT_THAT(refused_operator({"Conv", {{1, 4, 5}, {4, 2, 3}}, "", {}}), HasSubstr("in 1 groups"));
  EXPECT_THAT(refused_operator({"Conv", {{1, 2, 2}, {4, 2, 3}}, "", {}}), HasSubstr("is larger"));
  EXPECT_THAT(refused_operator({"MaxPool", {{1, 2, 8}}, pool, {}}),
              HasSubstr("'kernel_shape' is not 1 small numbers"));
}

TEST(OnnxOperators, TransposedWindowsSlide) {
  const InferredOperator back({"ConvTranspose",
                               {{1, 4, 5}, {4, 2, 3}},
                               ints_attribute("strides", {2}) + ints_attribute("pads", {1, 1}) +
                                   ints_attribute("output_padding", {1}),
                               {}});
  EXPECT_THAT(back.dims(), ElementsAre(1, 2, 10));
  EXPECT_EQ(back.operations(), 2 * 4 * 5 * 2 * 3);
  const auto padded = [](const std::string& how) {
    return dims_of({"ConvTranspose",
                    {{1, 4, 5}, {4, 2, 3}},
                    ints_attribute("strides", {2}) +
                        bytes_field(5, bytes_field(1, "auto_pad") + bytes_field(4, how)),
                    {}});
  };
  EXPECT_THAT(padded("NOTSET"), ElementsAre(1, 2, 11));
  EXPECT_THAT(padded("VALID"), ElementsAre(1, 2, 11));
  EXPECT_THAT(padded("SAME_UPPER"), ElementsAre(1, 2, 10));
  EXPECT_THAT(
      dims_of({"ConvTranspose", {{1, 4, 5}, {4, 2, 3}}, ints_attribute("output_shape", {12}), {}}),
      ElementsAre(1, 2, 12));
}

TEST(OnnxOperators, AxesAreRearranged) {
  EXPECT_THAT(dims_of({"Reshape", {{2, 3, 4}}, "", {{0, -1}}}), ElementsAre(2, 12));
  EXPECT_THAT(refused_operator({"Reshape", {{2, 3}}, "", {{4, -1}}}), HasSubstr("does not fill"));
  EXPECT_THAT(dims_of({"Flatten", {{2, 3, 4}}, int_attribute("axis", 2), {}}), ElementsAre(6, 4));
  EXPECT_THAT(dims_of({"Flatten", {{2, 3, 4}}, int_attribute("axis", -1), {}}), ElementsAre(6, 4));
  EXPECT_THAT(dims_of({"Flatten", {{2, 3}}, int_attribute("axis", 2), {}}), ElementsAre(6, 1));
  EXPECT_THAT(dims_of({"Transpose", {{2, 3, 4}}, "", {}}), ElementsAre(4, 3, 2));
  EXPECT_THAT(dims_of({"Transpose", {{2, 3, 4}}, ints_attribute("perm", {0, 2, 1}), {}}),
              ElementsAre(2, 4, 3));
  EXPECT_THAT(refused_operator({"Transpose", {{2, 3}}, ints_attribute("perm", {0, 0}), {}}),
              HasSubstr("'perm' [0, 0]"));
  EXPECT_THAT(dims_of({"Concat", {{2, 3}, {2, 5}}, int_attribute("axis", -1), {}}),
              ElementsAre(2, 8));
  EXPECT_THAT(refused_operator({"Concat", {{2, 3}, {3, 5}}, int_attribute("axis", 1), {}}),
              HasSubstr("does not go with the others"));
  EXPECT_THAT(dims_of({"Squeeze", {{1, 3, 1}}, "", {}}), ElementsAre(3));
  EXPECT_THAT(dims_of({"Squeeze", {{1, 3, 1}}, "", {{-1}}}), ElementsAre(1, 3));
  EXPECT_THAT(dims_of({"Unsqueeze", {{3}}, "", {{0, 2}}}), ElementsAre(1, 3, 1));
  EXPECT_THAT(dims_of({"Unsqueeze", {{3}}, ints_attribute("axes", {1}), {}}), ElementsAre(3, 1));
  EXPECT_THAT(refused_operator({"Unsqueeze", {{3}}, "", {{5}}}),
              HasSubstr("axis 5 does not exist; the input has 2 axes"));
  EXPECT_THAT(dims_of({"Gather", {{9, 4}, {2, 3}}, "", {}}), ElementsAre(2, 3, 4));
  EXPECT_THAT(dims_of({"Expand", {{3, 1}}, "", {{2, 1, 6}}}), ElementsAre(2, 3, 6));
  EXPECT_THAT(dims_of({"Pad", {{3, 4}}, "", {{1, 0, 2, -1}}}), ElementsAre(6, 3));
  EXPECT_THAT(dims_of({"ConstantOfShape", {}, "", {{2, 7}}}), ElementsAre(2, 7));
}

TEST(OnnxOperators, SlicesReducesAndSplits) {
  EXPECT_THAT(dims_of({"Slice", {{10, 20}}, "", {{2}, {-1}, {1}, {3}}}), ElementsAre(10, 6));
  EXPECT_THAT(dims_of({"Slice", {{10}}, "", {{-1}, {-100}, {0}, {-1}}}), ElementsAre(10));
  EXPECT_THAT(dims_of({"Slice", {{10, 20}}, "", {{8, 0}, {100, 5}}}), ElementsAre(2, 5));
  // A begin before the first element is the first one, also of steps backwards.
  EXPECT_THAT(dims_of({"Slice", {{10}}, "", {{-100}, {-200}, {0}, {-1}}}), ElementsAre(1));
  EXPECT_THAT(dims_of({"Slice", {{10}}, "", {{-100}, {3}, {0}, {1}}}), ElementsAre(3));
  EXPECT_THAT(dims_of({"Slice", {{10}}, "", {{100}, {6}, {0}, {-2}}}), ElementsAre(2));
  EXPECT_THAT(dims_of({"Slice", {{0}}, "", {{0}, {-1}, {0}, {-1}}}), ElementsAre(0));
  EXPECT_THAT(refused_operator({"Slice", {{10}}, "", {{0}, {1}, {0}, {0}}}),
              HasSubstr("a step is 0"));
  EXPECT_THAT(dims_of({"ReduceMean", {{2, 3, 4}}, ints_attribute("axes", {-1}), {}}),
              ElementsAre(2, 3, 1));
  EXPECT_THAT(dims_of({"ReduceSum", {{2, 3, 4}}, int_attribute("keepdims", 0), {{1}}}),
              ElementsAre(2, 4));
  EXPECT_THAT(dims_of({"ReduceMax", {{2, 3}}, "", {}}), ElementsAre(1, 1));
  EXPECT_THAT(dims_of({"ArgMax", {{2, 3}}, int_attribute("axis", 1), {}}), ElementsAre(2, 1));
  const InferredOperator split({"Split", {{2, 7}}, int_attribute("axis", 1), {}, 3});
  EXPECT_THAT(split.dims(0), ElementsAre(2, 3));
  EXPECT_THAT(split.dims(2), ElementsAre(2, 1));
  EXPECT_THAT(refused_operator({"Split", {{7}}, "", {{3, 9}}, 2}), HasSubstr("more than there is"));
}

TEST(OnnxOperators, ShapesAreComputedWith) {
  OnnxText text;  // reshapes [2, 6, 4] to [2, 24] by Shape, Gather, Unsqueeze, Mul and Concat
  text.input("x", {2, 6, 4})
      .weight("zero", {}, kTestInt64, {0})
      .weight("axis", {1}, kTestInt64, {0});
  text.weight("six", {1}, kTestInt64, {6}).weight("four", {1}, kTestInt64, {4});
  text.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "zero"}, {"batch"});
  text.node("Unsqueeze", {"batch", "axis"}, {"first"}).node("Mul", {"six", "four"}, {"rest"});
  text.node("Concat", {"first", "rest"}, {"target"}, int_attribute("axis", 0));
  text.node("Reshape", {"x", "target"}, {"y"});
  const OnnxModel model = read_onnx_model(text.model());
  const OnnxSizes sizes;
  const std::vector<std::string> names(6, "node");
  const OnnxShapes shapes(model, names, sizes);
  ASSERT_NE(shapes.find("y"), nullptr);
  EXPECT_THAT(shapes.find("y")->dims, ElementsAre(2, 24));
  EXPECT_EQ(shapes.bytes("y"), 2 * 24 * 4);
}

TEST(OnnxOperators, QuotientsOfRealsAreNotFollowed) {
  OnnxText text;
  text.input("x", {5}).weight("two", {1}, kTestInt64, {2});
  text.node("Shape", {"x"}, {"shape"}).node("Div", {"shape", "two"}, {"half"});
  text.node("Cast", {"shape"}, {"real"}, int_attribute("to", kTestFloat));
  text.node("Div", {"real", "two"}, {"real_half"});
  const OnnxModel model = read_onnx_model(text.model());
  const OnnxSizes sizes;
  const std::vector<std::string> names(4, "node");
  const OnnxShapes shapes(model, names, sizes);
  EXPECT_THAT(shapes.find("half")->values, Optional(ElementsAre(2)));
  EXPECT_EQ(shapes.find("real_half")->values, std::nullopt);
}

TEST(OnnxOperators, GatherReadsWhatItGives) {
  const InferredOperator gather({"Gather", {{1000, 4}, {3}}, "", {}});
  EXPECT_EQ(gather.bytes(), 2 * 3 * 4 * 4 + 3 * 4);
  EXPECT_EQ(gather.operations(), 0);
  EXPECT_EQ(InferredOperator({"Softmax", {{3, 5}}, "", {}}).operations(), 8 * 15);
  EXPECT_EQ(InferredOperator({"ReduceSum", {{3, 5}}, "", {}}).operations(), 15);
  EXPECT_EQ(InferredOperator({"Flatten", {{3, 5}}, "", {}}).bytes(), 0);
}

TEST(OnnxOperators, OtherDomainsAreNotInferred) {
  EXPECT_THAT(dims_of({"Relu", {{2}}, bytes_field(7, "com.example"), {}}), ElementsAre(-1));
}

}  // namespace
}  // namespace tandem::planner
