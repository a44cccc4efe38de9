// SPDX-License-Identifier: Apache-2.0
//
// Line markers give the place of each pragma.
#include "bitstreams/compiler/timing/loop_pragmas.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "bitstreams/compiler/dataflow/hls_pragma.h"
#include "common/lower_case.h"

namespace tandem::timing {
namespace {

using xclbin::HlsPragma;

bool has_word(const HlsPragma& pragma, const std::string& word) {
  return std::any_of(pragma.options.begin(), pragma.options.end(), [&word](const auto& option) {
    return lower_case(option.first) == word ||
           ((option.first == "type" || option.first == "direction") &&
            lower_case(option.second) == word);
  });
}

void add_partition(const HlsPragma& pragma, KernelPragmas& found) {
  Partition partition;
  const std::string factor = pragma.value("factor");
  const bool split = has_word(pragma, "cyclic") || has_word(pragma, "block");
  partition.complete = !split;
  partition.factor = split ? std::max(1, std::atoi(factor.c_str())) : 1;
  const std::string dimension = pragma.value("dim");
  partition.dimension = dimension.empty() ? 1 : std::atoi(dimension.c_str());
  found.partitions[pragma.value("variable")].push_back(partition);
}

void add_pragma(const HlsPragma& pragma, const SourceLine& place, KernelPragmas& found) {
  const bool off = has_word(pragma, "off") || lower_case(pragma.value("off")) == "true";
  if (pragma.kind == "pipeline") {
    found.loops.push_back({place, true, off, std::atof(pragma.value("ii").c_str()), 0});
  } else if (pragma.kind == "inline") {
    if (!off) found.inlined.push_back(place);
  } else if (pragma.kind == "unroll") {
    found.loops.push_back({place, false, off, 0, std::atoi(pragma.value("factor").c_str())});
  } else if (pragma.kind == "array_partition" || pragma.kind == "array_reshape") {
    add_partition(pragma, found);
  } else if (pragma.kind == "dependence") {
    if (has_word(pragma, "false") || lower_case(pragma.value("dependent")) == "false") {
      found.independent.insert(pragma.value("variable"));
    } else if (!has_word(pragma, "intra") && !has_word(pragma, "war") && !has_word(pragma, "waw")) {
      const double distance = std::atof(pragma.value("distance").c_str());
      if (distance >= 1) found.distances[pragma.value("variable")] = distance;
    }
  } else if (pragma.kind == "interface" && has_word(pragma, "m_axi")) {
    const std::string bundle = pragma.value("bundle");
    found.ports[pragma.value("port")] = bundle.empty() ? "gmem" : bundle;
  }
}

// "# 12 "file" 3" or "#line 12 "file"".
bool read_marker(std::string_view line, SourceLine& place) {
  size_t at = line.starts_with("#line ") ? 6 : line.starts_with("# ") ? 2 : 0;
  if (at == 0 || at >= line.size() || std::isdigit(line[at]) == 0) return false;
  place.line = std::atoi(std::string(line.substr(at)).c_str()) - 1;
  const size_t open = line.find('"');
  if (open == std::string_view::npos) return true;
  place.file = std::string(line.substr(open + 1, line.rfind('"') - open - 1));
  return true;
}

}  // namespace

KernelPragmas find_pragmas(std::string_view preprocessed) {
  KernelPragmas found;
  SourceLine place;
  for (size_t begin = 0; begin < preprocessed.size();) {
    const size_t end = std::min(preprocessed.find('\n', begin), preprocessed.size());
    std::string_view line = preprocessed.substr(begin, end - begin);
    begin = end + 1;
    ++place.line;
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    if (!line.starts_with('#') || read_marker(line, place)) continue;
    const HlsPragma pragma = xclbin::parse_hls_pragma(line);
    if (!pragma.kind.empty()) add_pragma(pragma, place, found);
  }
  return found;
}

const std::vector<Partition>* partition_of(const KernelPragmas& pragmas, const std::string& name) {
  const auto end = pragmas.partitions.end();
  std::string plain = name;
  auto found = pragmas.partitions.find(plain);
  while (found == end && !plain.empty() && std::isdigit(plain.back()) != 0) {
    plain.pop_back();
    found = pragmas.partitions.find(plain);
  }
  if (found == end) {
    found = pragmas.partitions.lower_bound(name + ".");
    if (found != end && !found->first.starts_with(name + ".")) found = end;
  }
  return found == end ? nullptr : &found->second;
}

bool in_same_file(const SourceLine& a, const SourceLine& b) {
  const auto name = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  return name(a.file) == name(b.file);
}

double banks_of(const std::vector<Partition>& partitions, const std::string& type) {
  std::vector<double> extents;
  for (size_t at = 0; at < type.size() && type[at] == '['; at = type.find('[', at + 1)) {
    extents.push_back(std::atof(type.c_str() + at + 1));
    if (type.find('[', at + 1) == std::string::npos) break;
  }
  double banks = 1;
  double all = 1;
  for (const double extent : extents) all *= extent;
  for (const Partition& each : partitions) {
    if (!each.complete) {
      banks *= each.factor;
    } else if (each.dimension == 0 || extents.empty()) {
      return 0;
    } else {
      banks *= extents[std::min(static_cast<size_t>(each.dimension) - 1, extents.size() - 1)];
    }
  }
  return !extents.empty() && banks >= all ? 0 : banks;
}

}  // namespace tandem::timing
