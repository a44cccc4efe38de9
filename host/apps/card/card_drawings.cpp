// SPDX-License-Identifier: Apache-2.0
//
// Trace Event Format, which Perfetto reads; SVG 1.1 with two logarithmic axes.
#include "apps/card/card_drawings.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "apps/card/card_report.h"
#include "apps/card/card_times.h"

namespace tandem::apps {
namespace {

using nlohmann::ordered_json;

// Rows of a trace: a process per group, a thread per row.
class Rows {
 public:
  void add(const std::string& group, const std::string& row, const std::string& name, double start,
           double end, ordered_json arguments) {
    const auto [id, is_new] = groups_.try_emplace(group, static_cast<int>(groups_.size()) + 1);
    if (is_new) name_it("process_name", id->second, 0, group);
    auto& rows = rows_[group];
    const auto [number, first] = rows.try_emplace(row, static_cast<int>(rows.size()) + 1);
    if (first) name_it("thread_name", id->second, number->second, row);
    events_.push_back({{"ph", "X"},
                       {"name", name},
                       {"pid", id->second},
                       {"tid", number->second},
                       {"ts", start},
                       {"dur", std::max(0.0, end - start)},
                       {"args", std::move(arguments)}});
  }
  ordered_json trace() const { return {{"displayTimeUnit", "ns"}, {"traceEvents", events_}}; }

 private:
  void name_it(const char* what, int group, int row, const std::string& name) {
    events_.push_back(
        {{"ph", "M"}, {"name", what}, {"pid", group}, {"tid", row}, {"args", {{"name", name}}}});
  }
  std::map<std::string, int> groups_;
  std::map<std::string, std::map<std::string, int>> rows_;
  ordered_json events_ = ordered_json::array();
};

// `card`: ends the names of groups.
void add_run(const ScheduledItem& item, const std::string& card, Rows& rows) {
  const ordered_json& line = *item.line;
  const std::string unit = "unit " + text_member(line, "unit") + card;
  const double launched = std::min(item.end_us, item.start_us + number_member(line, "launch_us"));
  rows.add(unit, "runs", text_member(line, "kernel"), item.start_us, item.end_us,
           {{"limit", text_member(line, "limit")},
            {"why", text_member(line, "why")},
            {"alone_us", item.alone_us},
            {"shared", item.shared}});
  const double kernel_us = number_member(line, "kernel_us");
  const double cycles = number_member(line, "cycles");
  const double stretch = kernel_us > 0 ? (item.end_us - launched) / kernel_us : 1;
  const double per_cycle = cycles > 0 ? kernel_us / cycles * stretch : 0;
  for (const ordered_json& each : list_member(line, "processes")) {
    rows.add(unit, "process " + text_member(each, "process"), text_member(each, "process"),
             launched + number_member(each, "start_cycle") * per_cycle,
             launched + number_member(each, "end_cycle") * per_cycle,
             {{"waiting_cycles", number_member(each, "waiting_cycles")}});
  }
  for (const ordered_json& each : list_member(line, "ports")) {
    const std::string row =
        "port " + text_member(each, "argument") + " " + text_member(each, "direction");
    rows.add(unit, row, fmt::format("{:.0f} bytes", number_member(each, "bytes")), launched,
             item.end_us,
             {{"bytes", number_member(each, "bytes")},
              {"bursts", number_member(each, "bursts")},
              {"busy_us", number_member(each, "cycles") * per_cycle}});
  }
  for (const ordered_json& each : list_member(line, "channels")) {
    rows.add(
        "memory" + card, "channel " + text_member(each, "bank") + ", " + text_member(line, "unit"),
        fmt::format("{:.0f} bytes", number_member(each, "bytes")), launched, item.end_us,
        {{"bytes", number_member(each, "bytes")}, {"busy_us", number_member(each, "busy_us")}});
  }
}

struct Point {
  std::string name;
  double intensity = 0, gops = 0;     // operations per byte, 1e9 per second
  double bandwidth = 0, compute = 0;  // its roofs: GB/s, 1e9 operations per second
};

// The longest run of each kernel that computes and moves bytes.
std::vector<Point> points_of(const std::vector<ScheduledItem>& items) {
  std::map<std::string, const ScheduledItem*> longest;
  for (const ScheduledItem& item : items) {
    if (text_member(*item.line, "kind") != kTimeKind) continue;
    const ScheduledItem*& best = longest[text_member(*item.line, "kernel")];
    if (best == nullptr || item.alone_us > best->alone_us) best = &item;
  }
  std::vector<Point> points;
  for (const auto& [kernel, item] : longest) {
    const ordered_json& line = *item->line;
    const double operations = number_member(line, "operations");
    const double kernel_us = number_member(line, "kernel_us");
    const double compute_us = number_member(line, "compute_us");
    Point point;
    point.name = kernel;
    double bytes = 0;
    for (const ordered_json& each : list_member(line, "channels")) {
      bytes += number_member(each, "bytes");
      point.bandwidth += number_member(each, "peak");
    }
    const bool has_roofs = point.bandwidth > 0 && compute_us > 0;
    if (operations <= 0 || bytes <= 0 || kernel_us <= 0 || !has_roofs) continue;
    point.intensity = operations / bytes;
    point.gops = operations / kernel_us / 1000;
    point.compute = operations / compute_us / 1000;
    points.push_back(point);
  }
  return points;
}

// A logarithmic axis over whole decades.
struct Axis {
  double low = 0, high = 1;  // exponents
  double from = 0, to = 1;   // pixels
  double at(double value) const {
    return from + (std::log10(value) - low) / (high - low) * (to - from);
  }
};

Axis axis_over(double least, double most, double from, double to) {
  const double low = std::floor(std::log10(least) - 0.1), high = std::ceil(std::log10(most) + 0.1);
  return {low, std::max(high, low + 1), from, to};
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') {
      result += "&lt;";
    } else if (c == '&') {
      result += "&amp;";
    } else {
      result += c;
    }
  }
  return result;
}

std::string grid(const Axis& x, const Axis& y) {
  std::string svg;
  for (double decade = x.low; decade <= x.high; ++decade) {
    const double at = x.at(std::pow(10, decade));
    svg += fmt::format(
        "<line x1='{0:.1f}' y1='{1}' x2='{0:.1f}' y2='{2}' stroke='#ddd'/>"
        "<text x='{0:.1f}' y='{3}' text-anchor='middle'>{4:g}</text>\n",
        at, y.to, y.from, y.from + 18, std::pow(10, decade));
  }
  for (double decade = y.low; decade <= y.high; ++decade) {
    const double at = y.at(std::pow(10, decade));
    svg += fmt::format(
        "<line x1='{0}' y1='{1:.1f}' x2='{2}' y2='{1:.1f}' stroke='#ddd'/>"
        "<text x='{3}' y='{4:.1f}' text-anchor='end'>{5:g}</text>\n",
        x.from, at, x.to, x.from - 8, at + 4, std::pow(10, decade));
  }
  return svg;
}

// The slope of the banks up to the height of the loops, then level.
std::string roof(const Point& point, const Axis& x, const Axis& y) {
  const double ridge = point.compute / point.bandwidth;
  const double left = std::pow(10, x.low), right = std::pow(10, x.high);
  const double first = std::clamp(ridge, left, right);
  const auto height = [&](double intensity) {
    return y.at(
        std::max(std::pow(10, y.low), std::min(point.compute, intensity * point.bandwidth)));
  };
  return fmt::format(
      "<polyline points='{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}' fill='none' stroke='#888'/>\n",
      x.at(left), height(left), x.at(first), height(first), x.at(right), height(right));
}

}  // namespace

ordered_json card_timeline(const std::vector<ScheduledItem>& items) {
  std::set<double> processes;
  for (const ScheduledItem& item : items) {
    if (text_member(*item.line, "kind") != kTimeKind) continue;
    processes.insert(number_member(*item.line, "process"));
  }
  Rows rows;
  for (const ScheduledItem& item : items) {
    if (text_member(*item.line, "kind") == kTimeKind) {
      const double process = number_member(*item.line, "process");
      add_run(item, processes.size() > 1 ? fmt::format(" of card {:.0f}", process) : "", rows);
      continue;
    }
    const std::string card = std::to_string(static_cast<int>(number_member(*item.line, "card")));
    rows.add("host link of card " + card, text_member(*item.line, "direction"),
             fmt::format("{:.0f} bytes", number_member(*item.line, "bytes")), item.start_us,
             item.end_us, {{"bytes", number_member(*item.line, "bytes")}});
  }
  return rows.trace();
}

std::string card_roofline(const std::vector<ScheduledItem>& items) {
  const std::vector<Point> points = points_of(items);
  if (points.empty()) return {};
  double least_x = 1e30, most_x = 0, least_y = 1e30, most_y = 0;
  for (const Point& each : points) {
    least_x = std::min({least_x, each.intensity, each.compute / each.bandwidth});
    most_x = std::max({most_x, each.intensity, each.compute / each.bandwidth});
    least_y = std::min(least_y, each.gops);
    most_y = std::max({most_y, each.gops, each.compute});
  }
  const Axis x = axis_over(least_x, most_x, 80, 680), y = axis_over(least_y, most_y, 420, 30);
  std::string svg =
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 720 480' font-family='sans-serif' "
      "font-size='12'>\n<rect width='720' height='480' fill='white'/>\n" +
      grid(x, y) +
      "<text x='380' y='466' text-anchor='middle'>operations per byte of device memory</text>\n"
      "<text x='20' y='225' text-anchor='middle' transform='rotate(-90 20 225)'>10^9 operations "
      "per second</text>\n";
  for (const Point& each : points) svg += roof(each, x, y);
  for (const Point& each : points) {
    svg += fmt::format(
        "<circle cx='{0:.1f}' cy='{1:.1f}' r='4' fill='#06c'><title>{2}: {3:.3g} "
        "operations per byte, {4:.3g} of {5:.3g} x 10^9 per second</title></circle>"
        "<text x='{6:.1f}' y='{7:.1f}'>{2}</text>\n",
        x.at(each.intensity), y.at(each.gops), escaped(each.name), each.intensity, each.gops,
        std::min(each.compute, each.intensity * each.bandwidth), x.at(each.intensity) + 7,
        y.at(each.gops) - 5);
  }
  return svg + "</svg>\n";
}

}  // namespace tandem::apps
