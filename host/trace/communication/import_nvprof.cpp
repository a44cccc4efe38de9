// SPDX-License-Identifier: Apache-2.0
//
// nvprof --print-gpu-trace --csv: lines of the profiler ("==12== ..."), names of the columns, their
// units, then a row per activity.
//
// Copies between host and device are those named "[CUDA memcpy HtoD]" and so on; between devices
// "[CUDA memcpy PtoP]", with both devices. Unified memory has a column of its own, in bytes.
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "common/error.h"
#include "trace/communication/import.h"
#include "trace/communication/line_errors.h"

namespace tandem::trace {
namespace {

using CsvRow = std::vector<std::string>;
using UnitFactors = std::map<std::string, double>;

CsvRow split_csv(const std::string& line) {
  CsvRow fields(1);
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

class NvprofRows : LineErrors {
 public:
  explicit NvprofRows(const ImportFile& file) : LineErrors(file.name), text_(file.text) {
    while (next_line()) {
      names_ = split_csv(line_);
      if (names_.front() == "Start") break;
      names_.clear();
    }
    if (names_.empty()) fail("there is no row of column names that begins with Start");
    if (!next_line()) fail("the row of units is missing");
    const CsvRow units = split_csv(line_);
    if (units.size() != names_.size()) fail_width(units.size(), names_.size());
    for (std::size_t i = 0; i < names_.size(); ++i) {
      columns_[names_[i]] = i;
      units_[names_[i]] = units[i];
    }
    if (!columns_.contains("Name")) fail("there is no column Name; use --print-gpu-trace");
  }

  bool next() {
    while (next_line()) {
      if (line_.empty() || line_ == "\r" || line_.starts_with("==")) continue;
      row_ = split_csv(line_);
      if (row_.size() != names_.size()) fail_width(row_.size(), names_.size());
      return true;
    }
    return false;
  }

  const std::string& value(const std::string& column) const {
    const auto at = columns_.find(column);
    if (at == columns_.end()) fail("the column " + column + " is missing");
    return row_[at->second];
  }
  std::string value_or_empty(const std::string& column) const {
    return columns_.contains(column) ? value(column) : std::string();
  }

  double number(const std::string& column) const {
    double number = 0;
    const std::string& word = value(column);
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, number);
    const bool is_whole = stop == end || (stop + 1 == end && *stop == 'B');
    if (error != std::errc() || !is_whole || !std::isfinite(number) || number < 0) {
      fail("column " + column + ": '" + word + "' is not a number");
    }
    return number;
  }

  std::uint64_t bytes(const std::string& column) const {
    static const UnitFactors kFactors = {
        {"", 1}, {"B", 1}, {"KB", 1024}, {"MB", 1024.0 * 1024}, {"GB", 1024.0 * 1024 * 1024}};
    const double bytes = number(column) * factor_of(column, kFactors);
    if (bytes > 1e18) fail("column " + column + ": '" + value(column) + "' is too large");
    return static_cast<std::uint64_t>(std::llround(bytes));
  }

  double seconds(const std::string& column) const {
    static const UnitFactors kFactors = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    return number(column) * factor_of(column, kFactors);
  }

  // "Tesla V100 (2)" -> 2.
  int device(const std::string& column) const {
    const std::string& text = value(column);
    const std::size_t open = text.rfind('(');
    int device = -1;
    if (open != std::string::npos) {
      const char* first = text.data() + open + 1;
      const auto [stop, error] = std::from_chars(first, text.data() + text.size(), device);
      if (error != std::errc() || *stop != ')') device = -1;
    }
    if (device < 0 || device >= kMostParties) {
      fail("column " + column + ": '" + text + "' ends in no device number, such as (0)");
    }
    return device;
  }

 private:
  double factor_of(const std::string& column, const UnitFactors& factors) const {
    const auto unit = units_.find(column);
    if (unit == units_.end()) fail("the column " + column + " is missing");
    const auto factor = factors.find(unit->second);
    if (factor == factors.end()) {
      fail("column " + column + ": the unit '" + unit->second + "' is unknown");
    }
    return factor->second;
  }
  bool next_line() {
    if (!std::getline(text_, line_)) return false;
    ++number_;
    return true;
  }

  std::istringstream text_;
  std::string line_;
  CsvRow names_, row_;
  std::map<std::string, std::size_t> columns_;
  std::map<std::string, std::string> units_;
};

// "[CUDA memcpy HtoD]" -> "HtoD"; nothing for other activities.
std::optional<std::string> direction_in(const std::string& name, const std::string& start) {
  if (!name.starts_with(start) || !name.ends_with("]")) return std::nullopt;
  return name.substr(start.size(), name.size() - start.size() - 1);
}

struct NvprofCopy {
  std::string direction;
  const char* kind = "device_copy";
  int source = 0, destination = 0;
  std::uint64_t bytes = 0;
};

std::optional<NvprofCopy> copy_of(const NvprofRows& rows) {
  const std::string& name = rows.value("Name");
  const auto unified = direction_in(name, "[Unified Memory Memcpy ");
  const auto plain = direction_in(name, "[CUDA memcpy ");
  if (!unified && !plain) return std::nullopt;
  NvprofCopy copy{unified ? *unified : *plain};
  const std::string& direction = copy.direction;
  copy.bytes = rows.bytes(unified ? "Unified Memory" : "Size");
  if (unified) copy.kind = "unified_memory";
  if (direction == "PtoP" || (unified && direction == "DtoD")) {
    if (!unified) copy.kind = "peer_copy";
    copy.source = rows.device("Src Dev");
    copy.destination = rows.device("Dst Dev");
    return copy;
  }
  copy.source = copy.destination = rows.device("Device");
  if (direction.starts_with("H")) copy.source = kHostParty;
  if (direction.ends_with("H")) copy.destination = kHostParty;
  if (!unified && direction.starts_with("H")) copy.kind = "host_to_device";
  if (!unified && direction.ends_with("H")) copy.kind = "device_to_host";
  return copy;
}

}  // namespace

Traffic import_nvprof(const ImportFile& file, const ImportOptions& options) {
  Traffic traffic("gpu");
  traffic.set_window_s(options.window_s);
  traffic.set_keeps_events(options.keep_events);
  NvprofRows rows(file);
  std::optional<double> first_s;
  while (rows.next()) {
    const std::optional<NvprofCopy> copy = copy_of(rows);
    if (!copy) continue;
    const double start_s = rows.seconds("Start");
    if (!first_s) first_s = start_s;
    traffic.add_event({start_s - *first_s,
                       {copy->source, copy->destination, copy->kind, copy->direction},
                       {copy->bytes, 1}});
  }
  return traffic;
}

}  // namespace tandem::trace
