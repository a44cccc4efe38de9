// SPDX-License-Identifier: Apache-2.0
//
// Warnings name what a model leaves open, so that a graph of guesses is not taken for a measured
// one.
#include "apps/planner/place_onnx.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "apps/planner/planner_files.h"
#include "common/error.h"
#include "common/number.h"
#include "common/text_parts.h"
#include "planner/onnx/onnx_graph.h"

namespace tandem::apps {
namespace {

planner::OnnxSizes sizes_of(const std::vector<std::string>& dims) {
  planner::OnnxSizes sizes;
  for (const std::string& each : dims) {
    const auto [name, digits] = cut_at(each, '=');
    const auto size = number_of<std::int64_t>(digits);
    if (name.empty() || !size || *size < 0 || *size > planner::kMostOnnxElements) {
      throw Error("place", "--dim '" + each + "' is not NAME=SIZE, such as batch=8");
    }
    if (!sizes.emplace(name, *size).second) {
      throw Error("place", "--dim gives '" + std::string(name) + "' twice");
    }
  }
  return sizes;
}

// Calls `take` with the kind and the value of each text. If there are no kinds, a text is only a
// value.
void each_by_kind(const char* option, const std::vector<std::string>& texts,
                  const std::vector<std::string>& kinds,
                  const std::function<void(std::size_t kind, const std::string& value)>& take) {
  std::vector<bool> is_given(std::max<std::size_t>(1, kinds.size()));
  for (const std::string& text : texts) {
    const auto [kind, value] = cut_at(text, '=');
    const std::size_t at =
        kinds.empty() ? 0
                      : static_cast<std::size_t>(std::ranges::find(kinds, kind) - kinds.begin());
    if (at == is_given.size()) {
      throw Error("place", std::string(option) + " '" + text +
                               "' names no kind of --devices; write KIND=VALUE");
    }
    if (is_given[at]) throw Error("place", std::string(option) + " is given twice: '" + text + "'");
    is_given[at] = true;
    take(at, kinds.empty() ? text : std::string(value));
  }
}

}  // namespace

void add_onnx_options(CLI::App& command, OnnxFileOptions& options) {
  command.add_option("--rates", options.rates,
                     "onnx: device whose data sheet gives the times, such as a100, t4, cpu:200; "
                     "with kinds KIND=SHEET");
  command.add_option("--times", options.times,
                     "onnx: measured times, a file of lines name::us; with kinds KIND=FILE");
  command.add_option("--dim", options.dims, "onnx: size of a dimension with a name: batch=8");
}

void refuse_onnx_options(const OnnxFileOptions& options) {
  const char* given = !options.rates.empty()   ? "--rates"
                      : !options.times.empty() ? "--times"
                      : !options.dims.empty()  ? "--dim"
                                               : nullptr;
  if (given != nullptr) throw Error("place", std::string(given) + " belongs to --format onnx");
}

planner::OperatorGraph read_onnx_file(const std::string& path,
                                      const std::vector<std::string>& kinds,
                                      const OnnxFileOptions& options) {
  std::ifstream file = opened_input("place", path);
  const std::string model((std::istreambuf_iterator<char>(file)), {});
  planner::OnnxOptions how;
  how.sizes = sizes_of(options.dims);
  how.devices.resize(std::max<std::size_t>(1, kinds.size()));
  for (std::size_t i = 0; i < kinds.size(); ++i) how.devices[i].sheet = kinds[i];
  each_by_kind("--rates", options.rates, kinds, [&](std::size_t kind, const std::string& sheet) {
    how.devices[kind].sheet = sheet;
  });
  std::vector<std::ifstream> files(how.devices.size());
  each_by_kind("--times", options.times, kinds, [&](std::size_t kind, const std::string& name) {
    files[kind] = opened_input("place", name);
    how.devices[kind].times = &files[kind];
    how.devices[kind].times_file = name;
  });
  planner::OnnxGraph read = planner::read_graph_onnx(model, how);
  if (!read.unnamed_sizes.empty()) {
    std::string names;
    for (const std::string& name : read.unnamed_sizes) names += " '" + name + "'";
    spdlog::warn("sizes without a number count 1, give --dim NAME=SIZE:{}", names);
  }
  if (read.num_without_shape > 0) {
    spdlog::warn("{} values that operators exchange have no shape: they count 0 bytes",
                 read.num_without_shape);
  }
  return std::move(read.graph);
}

}  // namespace tandem::apps
