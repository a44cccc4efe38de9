// SPDX-License-Identifier: Apache-2.0
//
// Columns by their names, then line by line.
#include "planner/pipeline/layer_trace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "common/error.h"
#include "common/lower_case.h"
#include "common/number.h"
#include "common/text_parts.h"

namespace tandem::planner {
namespace {

using Fields = std::vector<std::string_view>;

constexpr int kAbsent = -1;
constexpr std::string_view kAroundField = " \t\r\"";

[[noreturn]] void refuse_line(std::int64_t line, const std::string& what) {
  throw Error("layer-trace", "line " + std::to_string(line) + ": " + what);
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

Fields fields_of(std::string_view line) {
  Fields fields = parts_of(line, ',');
  for (std::string_view& field : fields) field = trimmed(field, kAroundField);
  return fields;
}

struct TimeColumn {
  int field = kAbsent;
  double ps_per_unit = kPicosecondsPerUs;
};

struct TraceColumns {
  std::vector<TimeColumn> times;  // added up
  int layer = kAbsent, bytes = kAbsent, step = kAbsent;
  std::size_t count = 0;
};

// "time_us", "forward_ms", "us" -> picoseconds per unit. Nothing for other names.
std::optional<double> time_unit(std::string name) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12}}};
  constexpr std::array<std::string_view, 8> kTimes = {
      "", "time", "duration", "cost", "latency", "forward", "backward", "layer_time"};
  if (std::ranges::count(kTimes.begin() + 1, kTimes.end(), name) > 0) return kPicosecondsPerUs;
  const std::size_t under = name.rfind('_');
  const std::string unit = under == std::string::npos ? name : name.substr(under + 1);
  const std::string what = under == std::string::npos ? "" : name.substr(0, under);
  if (std::ranges::count(kTimes, what) == 0) return std::nullopt;
  for (const auto& [known, ps] : kUnits) {
    if (unit == known) return ps;
  }
  return std::nullopt;
}

bool is_one_of(const std::string& name, std::initializer_list<std::string_view> names) {
  return std::ranges::count(names, name) > 0;
}

TraceColumns named_columns(const Fields& header) {
  TraceColumns columns;
  columns.count = header.size();
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string name = lower_case(std::string(header[i]));
    const int field = static_cast<int>(i);
    if (is_one_of(name, {"layer", "name", "layer_name", "layer_id"})) {
      columns.layer = field;
    } else if (is_one_of(name, {"bytes", "memory", "memory_bytes", "mem_bytes"})) {
      columns.bytes = field;
    } else if (is_one_of(name, {"step", "iteration", "iter"})) {
      columns.step = field;
    } else if (const auto unit = time_unit(name)) {
      columns.times.push_back({field, *unit});
    }
  }
  return columns;
}

// Without a header: time; layer and time; layer, time and bytes.
std::optional<TraceColumns> plain_columns(const Fields& first) {
  if (first.size() > 3) return std::nullopt;
  const std::size_t time = first.size() == 1 ? 0 : 1;
  if (!number_of<double>(first[time])) return std::nullopt;
  TraceColumns columns;
  columns.count = first.size();
  columns.times.push_back({static_cast<int>(time), kPicosecondsPerUs});
  if (first.size() > 1) columns.layer = 0;
  if (first.size() > 2) columns.bytes = 2;
  return columns;
}

std::int64_t time_of(const TraceColumns& columns, const Fields& fields, std::int64_t line) {
  std::int64_t sum_ps = 0;
  for (const TimeColumn& column : columns.times) {
    const std::string_view text = fields[static_cast<std::size_t>(column.field)];
    const auto value = number_of<double>(text);
    if (!value) refuse_line(line, "the time " + quoted(text) + " is not a number");
    if (*value < 0) refuse_line(line, "the time " + quoted(text) + " is negative");
    if (*value * column.ps_per_unit > static_cast<double>(kMostPicoseconds)) {
      refuse_line(line, "the time " + quoted(text) + " is longer than ten days");
    }
    sum_ps += std::llround(*value * column.ps_per_unit);
  }
  return sum_ps;
}

std::int64_t bytes_of(const TraceColumns& columns, const Fields& fields, std::int64_t line) {
  if (columns.bytes == kAbsent) return 0;
  const std::string_view text = fields[static_cast<std::size_t>(columns.bytes)];
  const auto value = number_of<std::int64_t>(text);
  if (!value || *value < 0) refuse_line(line, quoted(text) + " is not a number of bytes");
  return *value;
}

class TraceBuilder {
 public:
  explicit TraceBuilder(TraceColumns columns) : columns_(std::move(columns)) {}

  void add(const Fields& fields, std::int64_t line) {
    if (fields.size() != columns_.count) {
      refuse_line(line, std::to_string(fields.size()) + " fields, but the first line has " +
                            std::to_string(columns_.count));
    }
    begin_step(fields, line);
    const std::size_t layer = trace_.steps.back().layers.size();
    add_name(columns_.layer == kAbsent
                 ? std::to_string(layer)
                 : std::string(fields[static_cast<std::size_t>(columns_.layer)]),
             layer, line);
    trace_.steps.back().layers.push_back(
        {time_of(columns_, fields, line), bytes_of(columns_, fields, line)});
  }

  LayerTrace finish(std::int64_t line) {
    if (trace_.steps.empty()) throw Error("layer-trace", "the file has no layers");
    check_complete(line);
    return std::move(trace_);
  }

 private:
  void begin_step(const Fields& fields, std::int64_t line) {
    const std::string step = columns_.step == kAbsent
                                 ? std::string()
                                 : std::string(fields[static_cast<std::size_t>(columns_.step)]);
    if (!trace_.steps.empty() && trace_.steps.back().name == step) return;
    if (!trace_.steps.empty()) check_complete(line);
    if (!step_names_.insert(step).second) {
      refuse_line(line, "step " + quoted(step) + " is in two places: keep its lines together");
    }
    trace_.steps.push_back({step, {}});
  }

  // The first step names the layers; the others repeat them.
  void add_name(const std::string& name, std::size_t layer, std::int64_t line) {
    if (trace_.steps.size() == 1) {
      if (!layer_names_.insert(name).second) {
        refuse_line(line, "layer " + quoted(name) + " exists already");
      }
      trace_.layer_names.push_back(name);
    } else if (layer >= trace_.layer_names.size()) {
      refuse_line(line, "step " + quoted(trace_.steps.back().name) +
                            " has more layers than the first step");
    } else if (trace_.layer_names[layer] != name) {
      refuse_line(line, "layer " + quoted(name) + " stands where the first step has " +
                            quoted(trace_.layer_names[layer]));
    }
  }

  void check_complete(std::int64_t line) const {
    const TraceStep& step = trace_.steps.back();
    if (step.layers.size() == trace_.layer_names.size()) return;
    refuse_line(line, "step " + quoted(step.name) + " ends with " +
                          std::to_string(step.layers.size()) + " of " +
                          std::to_string(trace_.layer_names.size()) + " layers");
  }

  TraceColumns columns_;
  LayerTrace trace_;
  std::unordered_set<std::string> layer_names_, step_names_;  // so far
};

}  // namespace

LayerTrace read_layer_trace(std::istream& in) {
  std::string text;
  std::int64_t line = 0;
  std::optional<TraceBuilder> builder;
  while (std::getline(in, text)) {
    ++line;
    if (trimmed(text, kAroundField).empty()) continue;
    const Fields fields = fields_of(text);
    if (builder) {
      builder->add(fields, line);
      continue;
    }
    TraceColumns columns = named_columns(fields);
    if (!columns.times.empty()) {
      builder.emplace(std::move(columns));
    } else if (auto plain = plain_columns(fields)) {
      builder.emplace(std::move(*plain));
      builder->add(fields, line);
    } else {
      refuse_line(line,
                  "the header has no column of times: name it time_us, time_ns, time_ms or time_s");
    }
  }
  if (!builder) throw Error("layer-trace", "the file is empty");
  return builder->finish(line);
}

}  // namespace tandem::planner
