// SPDX-License-Identifier: Apache-2.0
//
// Positions are in pixels, of a picture that is 1200 wide.
#include "planner/graph/schedule_picture.h"

#include <spdlog/fmt/fmt.h>

#include <map>
#include <string_view>
#include <utility>

#include "common/utf8.h"
#include "common/xml_text.h"
#include "planner/graph/schedule.h"

namespace tandem::planner {
namespace {

constexpr double kLeft = 120, kWidth = 1200, kRight = 20, kRowHeight = 26, kTop = 24;
constexpr double kNarrow = 0.1;  // marks below are joined
constexpr const char* kColours[] = {"#4477aa", "#ee6677", "#228833", "#ccbb44",
                                    "#66ccee", "#aa3377", "#bbbbbb", "#222255"};

const char* colour_of(int device) {
  return kColours[static_cast<std::size_t>(device) % std::size(kColours)];
}

// Removes what an SVG cannot contain: control characters and invalid UTF-8.
std::string drawn_name(std::string_view name) {
  std::string text;
  while (!name.empty()) {
    const Utf8Sequence sequence = next_utf8(name);
    const bool is_drawn =
        sequence.valid && static_cast<unsigned char>(name.front()) >= ' ' && name.front() != '\x7f';
    text += is_drawn ? name.substr(0, sequence.length) : "\xef\xbf\xbd";
    name.remove_prefix(sequence.length);
  }
  return text;
}

double us_of(std::int64_t time_ps) {
  return static_cast<double>(time_ps) / kPicosecondsPerMicrosecond;
}

struct Mark {
  std::int64_t begin_ps = 0, end_ps = 0;
  std::string name;
  const char* colour = "";
};

struct Row {
  std::string label;
  std::vector<Mark> marks;
};

class TimelineDrawing {
 public:
  explicit TimelineDrawing(const PictureOfPlacement& picture)
      : picture_(picture), evaluator_(picture.graph, picture.links) {
    const Schedule& schedule = evaluator_.run(picture.placement);
    makespan_ps_ = std::max<std::int64_t>(1, schedule.makespan_ps);
    add_devices(schedule);
    add_links();
  }

  std::string text() {
    const double height = kTop + kRowHeight * static_cast<double>(rows_.size()) + 8;
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"11\">\n"
        "<title>{2:g} us on {3} devices</title>\n<rect width=\"{0}\" height=\"{1}\" "
        "fill=\"white\"/>\n",
        kWidth, height, us_of(makespan_ps_), picture_.links.num_devices);
    constexpr int kNumTicks = 5;
    for (int tick = 0; tick <= kNumTicks; ++tick) {
      const std::int64_t time = makespan_ps_ / kNumTicks * tick;
      svg += fmt::format(
          "<text x=\"{0:.1f}\" y=\"14\" text-anchor=\"{1}\">{2:g} us</text>"
          "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"18\" y2=\"{3}\" stroke=\"#dddddd\"/>\n",
          x_of(time), tick == kNumTicks ? "end" : "middle", us_of(time), height);
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) draw_row(rows_[i], i, svg);
    return svg + "</svg>\n";
  }

 private:
  double x_of(std::int64_t time) const {
    const double share = static_cast<double>(time) / static_cast<double>(makespan_ps_);
    return kLeft + (kWidth - kLeft - kRight) * share;
  }

  void add_devices(const Schedule& schedule) {
    for (int device = 0; device < picture_.links.num_devices; ++device) {
      rows_.push_back({"device " + std::to_string(device), {}});
      if (picture_.kinds.empty()) continue;
      const auto kind = static_cast<std::size_t>(picture_.links.kind_of(device));
      rows_.back().label += " " + drawn_name(picture_.kinds[kind]);
    }
    for (int node = 0; node < picture_.graph.num_nodes(); ++node) {
      const auto at = static_cast<std::size_t>(node);
      const int device = picture_.placement[at];
      rows_[static_cast<std::size_t>(device)].marks.push_back(
          {schedule.start_ps[at], schedule.end_ps[at], picture_.graph.node(node).name,
           colour_of(device)});
    }
  }

  void add_links() {
    std::map<std::pair<int, int>, Row> links;
    for (const TensorTransfer& transfer : evaluator_.transfers(picture_.placement)) {
      Row& row = links[{transfer.from, transfer.to}];
      row.label = fmt::format("{} to {}", transfer.from, transfer.to);
      const OperatorEdge& edge = picture_.graph.edge(transfer.edge);
      row.marks.push_back({transfer.begin_ps, transfer.end_ps,
                           fmt::format("{}, {} bytes", picture_.graph.node(edge.from).name,
                                       picture_.graph.edge_bytes(transfer.edge)),
                           colour_of(transfer.from)});
    }
    for (auto& [ends, row] : links) rows_.push_back(std::move(row));
  }

  void draw_row(Row& row, std::size_t number, std::string& svg) const {
    const double y = kTop + kRowHeight * static_cast<double>(number);
    svg += fmt::format("<text x=\"4\" y=\"{:.1f}\">{}</text>\n", y + 15, xml_text(row.label));
    std::ranges::stable_sort(row.marks, {}, &Mark::begin_ps);
    for (std::size_t i = 0; i < row.marks.size();) {
      const Mark& first = row.marks[i];
      std::int64_t end = first.end_ps;
      std::size_t next = i + 1;
      for (; next < row.marks.size(); ++next) {
        const bool is_narrow = x_of(row.marks[next].end_ps) - x_of(first.begin_ps) < kNarrow;
        if (!is_narrow) break;
        end = std::max(end, row.marks[next].end_ps);
      }
      const std::string name =
          next == i + 1 ? xml_text(drawn_name(first.name)) : fmt::format("{} marks", next - i);
      svg += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"20\" fill=\"{}\" "
          "stroke=\"white\" stroke-width=\"0.3\"><title>{}: {:g} to {:g} us</title></rect>\n",
          x_of(first.begin_ps), y, std::max(kNarrow, x_of(end) - x_of(first.begin_ps)),
          first.colour, name, us_of(first.begin_ps), us_of(end));
      i = next;
    }
  }

  const PictureOfPlacement& picture_;
  Evaluator evaluator_;
  std::int64_t makespan_ps_ = 1;
  std::vector<Row> rows_;
};

// Invalid UTF-8 stays: Graphviz can read other encodings too.
std::string dot_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
  return text + "\"";
}

}  // namespace

std::string schedule_svg(const PictureOfPlacement& picture) {
  return TimelineDrawing(picture).text();
}

std::string placement_dot(const PictureOfPlacement& picture) {
  const OperatorGraph& graph = picture.graph;
  Evaluator evaluator(graph, picture.links);
  const Schedule& schedule = evaluator.run(picture.placement);
  std::string dot =
      "digraph placement {\n  node [shape=box, style=filled, fontcolor=white, fontname=sans];\n";
  for (int node = 0; node < graph.num_nodes(); ++node) {
    const auto at = static_cast<std::size_t>(node);
    const int device = picture.placement[at];
    std::string name = dot_name(graph.node(node).name);
    dot += fmt::format("  {} [fillcolor=\"{}\", label={}];\n", name, colour_of(device),
                       name.substr(0, name.size() - 1) +
                           fmt::format("\\ndevice {}, {:g} to {:g} us\"", device,
                                       us_of(schedule.start_ps[at]), us_of(schedule.end_ps[at])));
  }
  for (int id = 0; id < graph.num_edges(); ++id) {
    const OperatorEdge& edge = graph.edge(id);
    const bool is_near = picture.placement[static_cast<std::size_t>(edge.from)] ==
                         picture.placement[static_cast<std::size_t>(edge.to)];
    dot += fmt::format("  {} -> {}", dot_name(graph.node(edge.from).name),
                       dot_name(graph.node(edge.to).name));
    if (!is_near) dot += fmt::format(" [style=bold, label=\"{} bytes\"]", graph.edge_bytes(id));
    dot += ";\n";
  }
  return dot + "}\n";
}

}  // namespace tandem::planner
