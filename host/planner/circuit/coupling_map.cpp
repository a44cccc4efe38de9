// SPDX-License-Identifier: Apache-2.0
//
// Distances by breadth-first search from every qubit.
#include "planner/circuit/coupling_map.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "common/error.h"
#include "common/number.h"
#include "common/text_parts.h"
#include "planner/circuit/qasm_file.h"

namespace tandem::planner {
namespace {

using nlohmann::json;
using QubitPairs = std::vector<std::pair<int, int>>;

constexpr std::uint16_t kUnreached = 0xffff;

[[noreturn]] void refuse_coupling(const std::string& what) { throw Error("coupling", what); }

std::string pair_text(const std::pair<int, int>& pair) {
  return std::to_string(pair.first) + " and " + std::to_string(pair.second);
}

std::string line_text(std::int64_t line) { return "line " + std::to_string(line) + ": "; }

int qubit_of(std::string_view text, const std::string& where, int most) {
  const auto number = number_of<int>(text);
  if (!number || *number < 0 || *number > most) {
    refuse_coupling(where + "'" + std::string(text) + "' is not a number from 0 to " +
                    std::to_string(most));
  }
  return *number;
}

CouplingMap map_of_lines(const std::string& text) {
  QubitPairs pairs;
  int num_qubits = 0;
  std::int64_t line = 0;
  for (const std::string_view whole : parts_of(text, '\n')) {
    ++line;
    std::string row(cut_at(whole, '#').first);
    std::ranges::replace_if(
        row, [](char c) { return c == ',' || c == '\t'; }, ' ');
    for (auto at = row.find("--"); at != std::string::npos; at = row.find("--", at)) {
      row[at] = row[at + 1] = ' ';
    }
    std::vector<std::string_view> words;
    for (const std::string_view word : parts_of(row, ' ')) {
      if (!trimmed(word).empty()) words.push_back(trimmed(word));
    }
    const std::string where = line_text(line);
    if (words.empty()) continue;
    if (words.size() == 1 && pairs.empty() && num_qubits == 0) {
      num_qubits = qubit_of(words[0], where, kMostQubits);
      if (num_qubits == 0) refuse_coupling(where + "a machine has at least one qubit");
      continue;
    }
    if (words.size() != 2) {
      refuse_coupling(where + "two qubits were expected, not '" + std::string(trimmed(whole)) +
                      "'");
    }
    pairs.emplace_back(qubit_of(words[0], where, kMostQubits - 1),
                       qubit_of(words[1], where, kMostQubits - 1));
  }
  return {num_qubits, pairs};
}

int qubit_in(const json& value, const std::string& where) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() < kMostQubits) {
    return value.get<int>();
  }
  refuse_coupling(where + " has " + value.dump(-1, ' ', false, json::error_handler_t::replace) +
                  ", no qubit from 0 to " + std::to_string(kMostQubits - 1));
}

int count_in(const json& value) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() - 1 < kMostQubits) {
    return value.get<int>();
  }
  refuse_coupling("'num_qubits' is " + value.dump(-1, ' ', false, json::error_handler_t::replace) +
                  ", no number from 1 to " + std::to_string(kMostQubits));
}

CouplingMap map_of_json(const std::string& text) {
  json root;
  try {
    root = json::parse(text);
  } catch (const json::exception& error) {
    refuse_coupling("the file is not JSON: " + std::string(without_tag(error.what())));
  }
  int num_qubits = 0;
  if (root.is_object() && root.contains("num_qubits")) {
    num_qubits = count_in(root["num_qubits"]);
  }
  json list;
  if (root.is_object()) {
    list = root.contains("edges") ? root["edges"] : root.value("coupling_map", json());
  } else {
    list = std::move(root);
  }
  if (!list.is_array()) refuse_coupling("the file has no list of pairs, 'edges' or 'coupling_map'");
  QubitPairs pairs;
  for (const json& value : list) {
    const std::string where = "pair " + std::to_string(pairs.size());
    if (!value.is_array() || value.size() != 2) refuse_coupling(where + " is not a list of two");
    pairs.emplace_back(qubit_in(value[0], where), qubit_in(value[1], where));
  }
  return {num_qubits, pairs};
}

}  // namespace

CouplingMap::CouplingMap(int num_qubits, const QubitPairs& pairs) {
  int count = std::max(num_qubits, 0);
  for (const auto& pair : pairs) {
    const int most = std::max(pair.first, pair.second);
    if (num_qubits > 0 && most >= num_qubits) {
      refuse_coupling("qubits " + pair_text(pair) + " are joined, but there are " +
                      std::to_string(num_qubits) + " from 0");
    }
    if (pair.first == pair.second) {
      refuse_coupling("qubit " + std::to_string(most) + " is joined to itself");
    }
    count = std::max(count, most + 1);
  }
  if (count == 0) refuse_coupling("the map names no qubits");
  neighbours_.resize(static_cast<std::size_t>(count));
  for (const auto& [qubit, other] : pairs) {
    neighbours_[static_cast<std::size_t>(qubit)].push_back(other);
    neighbours_[static_cast<std::size_t>(other)].push_back(qubit);
  }
  for (auto& each : neighbours_) {
    std::ranges::sort(each);
    each.erase(std::unique(each.begin(), each.end()), each.end());
  }
  distances_.assign(neighbours_.size() * neighbours_.size(), kUnreached);
  for (int qubit = 0; qubit < count; ++qubit) measure_from(qubit);
}

void CouplingMap::measure_from(int qubit) {
  const auto row = distances_.begin() + static_cast<std::ptrdiff_t>(
                                            static_cast<std::size_t>(qubit) * neighbours_.size());
  std::vector<int> reached{qubit};
  row[qubit] = 0;
  for (std::size_t at = 0; at < reached.size(); ++at) {
    for (const int next : neighbours(reached[at])) {
      if (row[next] != kUnreached) continue;
      row[next] = static_cast<std::uint16_t>(row[reached[at]] + 1);
      reached.push_back(next);
    }
  }
  if (reached.size() == neighbours_.size()) return;
  int lost = 0;
  while (row[lost] != kUnreached) ++lost;
  refuse_coupling("the map is in parts: no way joins qubit " + std::to_string(qubit) +
                  " and qubit " + std::to_string(lost));
}

CouplingMap read_coupling_map(std::istream& in) {
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const std::string_view begin = trimmed(text, " \t\r\n");
  const bool is_json = !begin.empty() && (begin.front() == '[' || begin.front() == '{');
  return is_json ? map_of_json(text) : map_of_lines(text);
}

}  // namespace tandem::planner
