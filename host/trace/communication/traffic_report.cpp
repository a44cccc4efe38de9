// SPDX-License-Identifier: Apache-2.0
//
// Every matrix comes from Traffic::matrix() with a filter, so all outputs agree.
#include "trace/communication/traffic_report.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/xml_text.h"

namespace tandem::trace {
namespace {

using nlohmann::ordered_json;

ordered_json rows_json(const CommunicationMatrix& matrix, bool of_bytes) {
  ordered_json rows = ordered_json::array();
  for (int to = 0; to < matrix.world(); ++to) {
    ordered_json row = ordered_json::array();
    for (int from = 0; from < matrix.world(); ++from) {
      row.push_back(of_bytes ? matrix.bytes(from, to) : matrix.messages(from, to));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

ordered_json both_json(const CommunicationMatrix& matrix) {
  return {{"bytes", rows_json(matrix, true)}, {"counts", rows_json(matrix, false)}};
}

// One pair of matrices per value of a field.
template <typename Values, typename Member>
ordered_json split_json(const Traffic& traffic, const Values& values, Member member) {
  ordered_json result = ordered_json::object();
  for (const auto& value : values) {
    std::string name;
    if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>) {
      name = std::to_string(value);
    } else {
      name = value;
    }
    result[name] =
        both_json(traffic.matrix([&](const TrafficKey& key) { return key.*member == value; }));
  }
  return result;
}

ordered_json difference_json(const CommunicationMatrix& counted, const CommunicationMatrix& model) {
  ordered_json rows = ordered_json::array();
  for (int to = 0; to < model.world(); ++to) {
    ordered_json row = ordered_json::array();
    for (int from = 0; from < model.world(); ++from) {
      row.push_back(static_cast<std::int64_t>(counted.bytes(from, to) - model.bytes(from, to)));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

using Cell = Traffic::Cells::value_type;

std::vector<const Cell*> largest_cells(const Traffic& traffic, std::size_t most) {
  std::vector<const Cell*> cells;
  for (const Cell& cell : traffic.cells()) cells.push_back(&cell);
  std::stable_sort(cells.begin(), cells.end(),
                   [](const Cell* a, const Cell* b) { return a->second.bytes > b->second.bytes; });
  if (cells.size() > most) cells.resize(most);
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
        labels[static_cast<std::size_t>(traffic.index_of(key.source))],
        labels[static_cast<std::size_t>(traffic.index_of(key.destination))], xml_text(key.kind),
        xml_text(key.operation), volume.bytes, volume.messages);
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

// What the models say of each algorithm, and what was counted.
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

// A label's value in the exposition format.
std::string label_value(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string traffic_json(const Traffic& traffic) {
  const CommunicationMatrix all = traffic.matrix();
  ordered_json result = {{"ranks", traffic.size()},
                         {"labels", traffic.labels()},
                         {"host_row", traffic.has_host() ? ordered_json(0) : ordered_json(nullptr)},
                         {"model", traffic.model()},
                         {"missing_ranks", traffic.missing_ranks()},
                         {"not_modelled", traffic.unmodelled()},
                         {"hosts", traffic.hosts()}};
  result.update(both_json(all));
  result["by_kind"] = split_json(traffic, traffic.kinds(), &TrafficKey::kind);
  result["by_collective"] = split_json(traffic, traffic.operations(), &TrafficKey::operation);
  if (traffic.phases().size() > 1) {
    result["by_phase"] = split_json(traffic, traffic.phases(), &TrafficKey::phase);
  }
  if (traffic.window_s() > 0) {
    result["window_s"] = traffic.window_s();
    result["by_window"] = split_json(traffic, traffic.windows(), &TrafficKey::window);
  }
  if (traffic.has_counted()) {
    const CommunicationMatrix counted = traffic.counted_matrix();
    result["counted"] = both_json(counted);
    result["counted_minus_model_bytes"] = difference_json(counted, all);
  }
  for (const std::string& algorithm : traffic.algorithms()) {
    const CommunicationMatrix modelled = traffic.call_matrix(CallSide::kModelled, algorithm);
    const CommunicationMatrix carried = traffic.call_matrix(CallSide::kCarried, algorithm);
    result["by_algorithm"][algorithm] = {
        {"modelled", both_json(modelled)},
        {"counted", both_json(carried)},
        {"counted_minus_modelled_bytes", difference_json(carried, modelled)}};
  }
  return result.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string traffic_csv(const Traffic& traffic) {
  const std::vector<std::string> labels = traffic.labels();
  std::string csv = "source,destination,kind,operation,phase,window,bytes,messages\n";
  for (const auto& [key, volume] : traffic.cells()) {
    csv += fmt::format(
        "{},{},{},{},{},{},{},{}\n", labels[static_cast<std::size_t>(traffic.index_of(key.source))],
        labels[static_cast<std::size_t>(traffic.index_of(key.destination))], key.kind,
        key.operation, key.phase, key.window, volume.bytes, volume.messages);
  }
  return csv;
}

std::string traffic_prometheus(const Traffic& traffic) {
  const std::vector<std::string> labels = traffic.labels();
  std::map<std::tuple<int, int, std::string>, TrafficVolume> sums;
  for (const auto& [key, volume] : traffic.cells()) {
    TrafficVolume& sum =
        sums[{traffic.index_of(key.source), traffic.index_of(key.destination), key.kind}];
    sum.bytes += volume.bytes;
    sum.messages += volume.messages;
  }
  std::vector<decltype(sums)::const_pointer> shown;
  for (const auto& sum : sums) shown.push_back(&sum);
  std::string bytes;
  if (shown.size() > kMostSeries) {
    bytes = fmt::format("# the largest {} of {} pairs\n", kMostSeries, shown.size());
    std::ranges::nth_element(shown, shown.begin() + kMostSeries, std::greater<>(),
                             [](const auto* sum) { return sum->second.bytes; });
    shown.resize(kMostSeries);
    std::ranges::sort(shown, {}, [](const auto* sum) { return sum->first; });
  }
  bytes += "# TYPE tandem_communication_bytes_total counter\n";
  std::string messages = "# TYPE tandem_communication_messages_total counter\n";
  for (const auto* sum : shown) {
    const auto& [from, to, kind] = sum->first;
    const TrafficVolume& volume = sum->second;
    const std::string names = fmt::format("{{source=\"{}\",destination=\"{}\",kind=\"{}\"}}",
                                          labels[static_cast<std::size_t>(from)],
                                          labels[static_cast<std::size_t>(to)], label_value(kind));
    bytes += fmt::format("tandem_communication_bytes_total{} {}\n", names, volume.bytes);
    messages += fmt::format("tandem_communication_messages_total{} {}\n", names, volume.messages);
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
  page += "<h2>By kind</h2>\n";
  for (const std::string& kind : traffic.kinds()) {
    const auto matrix = traffic.matrix([&kind](const TrafficKey& key) { return key.kind == kind; });
    page += figure(traffic, matrix, kind, HeatScale::kLogarithmic);
  }
  if (traffic.has_counted()) {
    page += "<h2>Counted by the transport</h2>\n" +
            figure(traffic, traffic.counted_matrix(), "counted", HeatScale::kLogarithmic);
  }
  return page + algorithms_html(traffic) + table_html(traffic) + "</body></html>\n";
}

}  // namespace tandem::trace
