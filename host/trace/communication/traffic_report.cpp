// SPDX-License-Identifier: Apache-2.0
//
// Every matrix comes from Traffic::matrix() with a filter, so all outputs agree.
#include "trace/communication/traffic_report.h"

#include <spdlog/fmt/compile.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/xml_text.h"

namespace tandem::trace {
namespace {

using Cell = Traffic::Cells::value_type;

std::vector<const Cell*> largest_cells(const Traffic& traffic, std::size_t most) {
  std::vector<const Cell*> cells;
  for (const Cell& cell : traffic.cells()) cells.push_back(&cell);
  const auto end = cells.begin() + static_cast<std::ptrdiff_t>(std::min(most, cells.size()));
  std::partial_sort(cells.begin(), end, cells.end(), [](const Cell* a, const Cell* b) {
    return a->second.bytes != b->second.bytes ? a->second.bytes > b->second.bytes : a < b;
  });
  cells.erase(end, cells.end());
  return cells;
}

constexpr const char* kPageStart =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\n"
    "<style>body{{font-family:sans-serif;margin:1rem}}figure{{display:inline-block;margin:0 1rem "
    "1rem 0}}td,th{{padding:.1rem .6rem;text-align:left}}td.n{{text-align:right}}</style>\n"
    "</head><body><h1>{0}</h1>\n";

std::string notes_html(const Traffic& traffic) {
  std::string out = fmt::format("<p>{} parties.", traffic.size());
  if (!traffic.model().empty()) {
    out += fmt::format(" Collectives are modelled as {}.", xml_text(traffic.model()));
  }
  for (const auto& [operation, calls] : traffic.unmodelled()) {
    out += fmt::format(" Not modelled: {} calls of {}.", calls, xml_text(operation));
  }
  const std::vector<int> missing = traffic.missing_ranks();
  if (!missing.empty()) out += fmt::format(" {} ranks left no record.", missing.size());
  if (traffic.dropped_events() > 0) {
    out +=
        fmt::format(" {} single events were not kept; sums have them.", traffic.dropped_events());
  }
  return out + "</p>\n";
}

std::string table_html(const Traffic& traffic) {
  constexpr std::size_t kMost = 50;
  const std::vector<std::string> labels = traffic.labels();
  std::string out = fmt::format(
      "<h2>Largest flows</h2><table><thead><tr><th>from</th><th>to</th><th>kind</th>"
      "<th>operation</th><th>bytes</th><th>messages</th></tr></thead><tbody>\n");
  for (const Cell* cell : largest_cells(traffic, kMost)) {
    const auto& [key, volume] = *cell;
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td></tr>\n",
        xml_text(labels[static_cast<std::size_t>(traffic.index_of(key.source))]),
        xml_text(labels[static_cast<std::size_t>(traffic.index_of(key.destination))]),
        xml_text(key.kind), xml_text(key.operation), volume.bytes, volume.messages);
  }
  return out + "</tbody></table>\n";
}

std::uint64_t total_bytes(const CommunicationMatrix& matrix) {
  std::uint64_t total = 0;
  for (int to = 0; to < matrix.world(); ++to) {
    for (int from = 0; from < matrix.world(); ++from) total += matrix.bytes(from, to);
  }
  return total;
}

// The bytes of each algorithm by its model, and as counted.
std::string algorithms_html(const Traffic& traffic) {
  if (traffic.algorithms().empty()) return "";
  std::string out =
      "<h2>Models and what was counted</h2><table><thead><tr><th>algorithm</th><th>bytes "
      "modelled</th><th>bytes counted</th><th>difference</th></tr></thead><tbody>\n";
  for (const std::string& algorithm : traffic.algorithms()) {
    const std::uint64_t modelled = total_bytes(traffic.call_matrix(CallSide::kModelled, algorithm));
    const std::uint64_t counted = total_bytes(traffic.call_matrix(CallSide::kCarried, algorithm));
    out += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
        "</tr>\n",
        xml_text(algorithm), modelled, counted, static_cast<std::int64_t>(counted - modelled));
  }
  return out + "</tbody></table>\n";
}

std::string figure(const Traffic& traffic, const CommunicationMatrix& matrix,
                   const std::string& title, HeatScale scale) {
  return "<figure>" + heat_map_svg(matrix, {title, scale, traffic.labels(), traffic.hosts()}) +
         "</figure>\n";
}

// A picture per value of a field; of one value it would be the picture of the whole.
template <typename Values, typename Member>
std::string split_html(const Traffic& traffic, const char* heading, const Values& values,
                       Member member) {
  constexpr std::size_t kMostFigures = 16;
  if (values.size() < 2) return "";
  std::string out = fmt::format("<h2>{}</h2>\n", heading);
  std::size_t drawn = 0;
  for (const auto& value : values) {
    if (++drawn > kMostFigures) break;
    const auto matrix = traffic.matrix([&](const TrafficKey& key) { return key.*member == value; });
    out += figure(traffic, matrix, fmt::format("{}", value), HeatScale::kLogarithmic);
  }
  if (values.size() > kMostFigures) {
    out += fmt::format("<p>{} more are in the JSON.</p>\n", values.size() - kMostFigures);
  }
  return out;
}

// A label's value in the exposition format.
std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// What a pair sends of one kind.
struct PairSum {
  std::size_t source, destination;  // rows
  std::string_view kind;
  TrafficVolume volume;
};

// Cells are in order, so those of a pair and kind are neighbours.
std::vector<PairSum> pair_sums(const Traffic& traffic) {
  std::vector<PairSum> sums;
  const TrafficKey* last = nullptr;
  for (const auto& [key, volume] : traffic.cells()) {
    if (last == nullptr || last->source != key.source || last->destination != key.destination ||
        last->kind != key.kind) {
      sums.push_back({static_cast<std::size_t>(traffic.index_of(key.source)),
                      static_cast<std::size_t>(traffic.index_of(key.destination)),
                      key.kind,
                      {}});
    }
    sums.back().volume.bytes += volume.bytes;
    sums.back().volume.messages += volume.messages;
    last = &key;
  }
  return sums;
}

}  // namespace

std::string traffic_csv(const Traffic& traffic) {
  const std::vector<std::string> labels = traffic.labels();
  std::string csv = "source,destination,kind,operation,phase,window,bytes,messages\n";
  for (const auto& [key, volume] : traffic.cells()) {
    fmt::format_to(std::back_inserter(csv), FMT_COMPILE("{},{},{},{},{},{},{},{}\n"),
                   labels[static_cast<std::size_t>(traffic.index_of(key.source))],
                   labels[static_cast<std::size_t>(traffic.index_of(key.destination))], key.kind,
                   key.operation, key.phase, key.window, volume.bytes, volume.messages);
  }
  return csv;
}

std::string traffic_prometheus(const Traffic& traffic) {
  std::vector<PairSum> sums = pair_sums(traffic);
  std::string bytes;
  if (sums.size() > kMostSeries) {
    bytes = fmt::format("# the largest {} of {} pairs\n", kMostSeries, sums.size());
    std::ranges::nth_element(sums, sums.begin() + kMostSeries, std::greater<>(),
                             [](const PairSum& sum) { return sum.volume.bytes; });
    sums.resize(kMostSeries);
  }
  std::ranges::sort(sums, {}, [](const PairSum& sum) {
    return std::tuple(sum.source, sum.destination, sum.kind);
  });
  const std::vector<std::string> labels = traffic.labels();
  bytes += "# TYPE tandem_communication_bytes_total counter\n";
  std::string messages = "# TYPE tandem_communication_messages_total counter\n";
  for (const PairSum& sum : sums) {
    const std::string names = fmt::format(
        "{{source=\"{}\",destination=\"{}\",kind=\"{}\"}}", label_value(labels[sum.source]),
        label_value(labels[sum.destination]), label_value(sum.kind));
    bytes += fmt::format("tandem_communication_bytes_total{} {}\n", names, sum.volume.bytes);
    messages +=
        fmt::format("tandem_communication_messages_total{} {}\n", names, sum.volume.messages);
  }
  return bytes + messages;
}

std::string traffic_svg(const Traffic& traffic, const std::string& title, HeatScale scale) {
  return heat_map_svg(traffic.matrix(), {title, scale, traffic.labels(), traffic.hosts()});
}

std::string traffic_html(const Traffic& traffic, const std::string& title) {
  std::string page = fmt::format(fmt::runtime(kPageStart), xml_text(title)) + notes_html(traffic);
  const auto all = traffic.matrix();
  for (const HeatScale scale : {HeatScale::kLinear, HeatScale::kLogarithmic}) {
    page += figure(traffic, all, "bytes", scale);
  }
  page += split_html(traffic, "By kind", traffic.kinds(), &TrafficKey::kind);
  page += split_html(traffic, "By collective", traffic.operations(), &TrafficKey::operation);
  page += split_html(traffic, "By phase", traffic.phases(), &TrafficKey::phase);
  page += split_html(traffic, "By time window", traffic.windows(), &TrafficKey::window);
  if (traffic.has_counted()) {
    page += "<h2>Counted by the transport</h2>\n" +
            figure(traffic, traffic.counted_matrix(), "counted", HeatScale::kLogarithmic);
  }
  return page + algorithms_html(traffic) + table_html(traffic) + "</body></html>\n";
}

}  // namespace tandem::trace
