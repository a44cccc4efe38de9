// SPDX-License-Identifier: Apache-2.0
//
// OnnxShapes: the shape of every value of a model, from the file and by inference.
//
// Shapes in numbers from the file come first, then inferred shapes, then shapes of the file with
// named sizes such as "batch". `sizes` gives the values of the names. Names without a value count 1
// and are listed in unnamed(). Threads: values. Errors: Error("onnx", ...) that names the value or
// the operator.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "planner/onnx/onnx_operators.h"

namespace tandem::planner {

using OnnxSizes = std::map<std::string, std::int64_t>;

class OnnxShapes {
 public:
  OnnxShapes(const OnnxModel& model, const std::vector<std::string>& node_names,
             const OnnxSizes& sizes);

  // Returns nullptr if the shape is not known. Valid as long as this object.
  const OnnxShape* find(const std::string& value) const;
  // The call borrows the node, the model and the shapes.
  OnnxCall call(const OnnxNode& node, const std::string& name) const;
  // Returns the bytes of a value; 0 if its shape is not known.
  std::int64_t bytes(const std::string& value) const;
  const std::set<std::string>& unnamed() const { return unnamed_; }

 private:
  void add(const std::string& name, OnnxShape shape);
  void add_stated(const OnnxValue& value);
  void add_outputs(const OnnxNode& node, const std::string& name);

  std::unordered_map<std::string, OnnxShape> shapes_;
  std::unordered_map<std::string, const OnnxValue*> stated_;  // shapes of the file with named sizes
  const OnnxSizes& sizes_;
  std::set<std::string> unnamed_;
};

}  // namespace tandem::planner
