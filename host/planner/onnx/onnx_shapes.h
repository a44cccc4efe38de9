// SPDX-License-Identifier: Apache-2.0
//
// OnnxShapes: the shape of every value of a model, as far as file and inference give it.
//
// What the file says in numbers counts; then what follows from the inputs; then what it says with
// names of sizes, such as "batch": `sizes` gives them, and others count 1 and are listed in
// unnamed(). Threads: values. Errors: Error("onnx", ...) naming the value or the operator.
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

  // Nothing where the shape is not known. Valid as long as this object.
  const OnnxShape* find(const std::string& value) const;
  // Borrows model and shapes.
  OnnxCall call(const OnnxNode& node, const std::string& name) const;
  // Bytes of a value; 0 where its shape is not known.
  std::int64_t bytes(const std::string& value) const;
  const std::set<std::string>& unnamed() const { return unnamed_; }

 private:
  void add(const std::string& name, OnnxShape shape);
  void add_stated(const OnnxValue& value);
  void add_outputs(const OnnxNode& node, const std::string& name);

  std::unordered_map<std::string, OnnxShape> shapes_;
  std::unordered_map<std::string, const OnnxValue*> stated_;  // not in numbers alone
  const OnnxSizes& sizes_;
  std::set<std::string> unnamed_;
};

}  // namespace tandem::planner
