// SPDX-License-Identifier: Apache-2.0
//
// Checks one line at a time. The table holds the options of a pragma in one text, separated by
// blanks.
#include "bitstreams/compiler/vpp/pragma_check.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>

#include "bitstreams/compiler/dataflow/hls_pragma.h"
#include "common/lower_case.h"
#include "common/suggestion.h"

namespace tandem::vpp {
namespace {

struct KnownPragma {
  std::string_view name;
  std::string_view options;
};

constexpr std::string_view kModes =
    "ap_none ap_stable ap_vld ap_ack ap_hs ap_ovld ap_memory bram ap_fifo ap_bus s_axilite m_axi "
    "axis ap_ctrl_none ap_ctrl_hs ap_ctrl_chain";

constexpr std::array kPragmas = {
    KnownPragma{"aggregate", "variable compact"},
    KnownPragma{"alias", "ports distance offset"},
    KnownPragma{"allocation", "instances limit type function operation core"},
    KnownPragma{"array_map", "variable instance offset horizontal vertical"},
    KnownPragma{"array_partition", "variable type factor dim off complete block cyclic"},
    KnownPragma{"array_reshape", "variable type factor dim off object complete block cyclic"},
    KnownPragma{"array_stencil", "variable off"},
    KnownPragma{"bind_op", "variable op impl latency precision"},
    KnownPragma{"bind_storage", "variable type impl latency"},
    KnownPragma{"cache", "port lines depth ports l2_lines ways users burst write_mode"},
    KnownPragma{"clock", "domain"},
    KnownPragma{"data_pack", "variable instance byte_pad struct_level field_level"},
    KnownPragma{"dataflow", "disable_start_propagation"},
    KnownPragma{"dependence",
                "variable class type direction distance dependent array pointer inter intra raw "
                "war waw true false"},
    KnownPragma{"disaggregate", "variable"},
    KnownPragma{"expression_balance", "off"},
    KnownPragma{"function_instantiate", "variable"},
    KnownPragma{"inline", "off recursive region self"},
    KnownPragma{"interface",
                "mode port bundle register register_mode depth offset clock name channel latency "
                "num_read_outstanding num_write_outstanding max_read_burst_length "
                "max_write_burst_length max_widen_bitwidth storage_type storage_impl direct_io "
                "interrupt autorestart metadata addr64 both forward reverse fwd rev off"},
    KnownPragma{"latency", "min max"},
    KnownPragma{"loop_flatten", "off"},
    KnownPragma{"loop_merge", "force off"},
    KnownPragma{"loop_tripcount", "min max avg"},
    KnownPragma{"occurrence", "cycle off"},
    KnownPragma{"performance", "target_ti target_tl assume_ti assume_tl unit loop"},
    KnownPragma{"pipeline", "ii off rewind style enable_flush"},
    KnownPragma{"protocol", "mode floating fixed"},
    KnownPragma{"reset", "variable off"},
    KnownPragma{"resource", "variable core latency metadata"},
    KnownPragma{"shared", "variable"},
    KnownPragma{"stable", "variable off"},
    KnownPragma{"stream", "variable type depth dim off fifo pipo shared unsync"},
    KnownPragma{"top", "name"},
    KnownPragma{"unroll", "factor skip_exit_check off region"},
};

void append_words(std::string_view text, std::vector<std::string_view>& words) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

bool holds(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_name(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
}

// The error in a pragma; empty: none.
std::string complaint(const xclbin::HlsPragma& pragma) {
  // `#pragma HLS if (condition) ...` has its directive after the condition.
  if (pragma.kind == "if" || pragma.kind.starts_with("if(")) return {};
  const auto known = std::find_if(kPragmas.begin(), kPragmas.end(),
                                  [&](const KnownPragma& k) { return k.name == pragma.kind; });
  if (known == kPragmas.end()) {
    std::vector<std::string_view> names;
    for (const KnownPragma& each : kPragmas) names.push_back(each.name);
    return "#pragma HLS " + pragma.kind + " is unknown and has no effect" +
           suggestion(pragma.kind, names);
  }
  std::vector<std::string_view> options, modes;
  append_words(known->options, options);
  if (known->name == "interface") append_words(kModes, modes);
  std::vector<std::string_view> words = options;
  words.insert(words.end(), modes.begin(), modes.end());
  const std::string name = "#pragma HLS " + pragma.kind;
  bool in_list = false;  // "ports=a, b": b is no option
  for (const auto& [key, value] : pragma.options) {
    const bool skipped = in_list;
    in_list = (value.empty() ? key : value).ends_with(',');
    if (skipped || !is_name(key)) continue;
    const bool is_mode = !modes.empty() && key == "mode" && is_name(value);
    if (is_mode && !holds(modes, lower_case(value))) {
      return name + " has no mode '" + value + "'" + suggestion(lower_case(value), modes);
    }
    if (holds(words, key)) continue;
    const std::string nearest = suggestion(key, words);
    if (!value.empty() || !nearest.empty()) return name + " has no option '" + key + "'" + nearest;
  }
  return {};
}

// The origin of the next line of the preprocessed text.
struct Place {
  std::string file;
  size_t line = 1;
  bool is_system = false;

  // `# 7 "add.cpp" 2 3`; false when the line is no such marker.
  bool read(std::string_view text) {
    if (!text.starts_with("# ")) return false;
    const char* const end = text.data() + text.size();
    size_t number = 0;
    const auto [at, code] = std::from_chars(text.data() + 2, end, number);
    const size_t open = text.find('"');
    const size_t close = text.rfind('"');
    if (code != std::errc() || at == end || *at != ' ' || open == close) return false;
    line = number;
    file.clear();
    for (size_t index = open + 1; index < close; ++index) {
      if (text[index] == '\\' && index + 1 < close) ++index;
      file += text[index];
    }
    is_system = text.find(" 3", close) != std::string_view::npos;
    return true;
  }
};

}  // namespace

std::vector<std::string> check_pragmas(std::string_view preprocessed) {
  std::vector<std::string> complaints;
  std::set<std::string> told;
  Place place;
  for (size_t begin = 0; begin < preprocessed.size();) {
    const size_t end = std::min(preprocessed.find('\n', begin), preprocessed.size());
    std::string_view line = preprocessed.substr(begin, end - begin);
    begin = end + 1;
    if (place.read(line)) continue;
    const size_t number = place.line++;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (place.is_system || !line.starts_with('#')) continue;
    const xclbin::HlsPragma pragma = xclbin::parse_hls_pragma(line);
    if (pragma.kind.empty()) continue;
    const std::string what = complaint(pragma);
    if (what.empty()) continue;
    const std::string text = place.file + ":" + std::to_string(number) + ": " + what;
    if (told.insert(text).second) complaints.push_back(text);
  }
  return complaints;
}

}  // namespace tandem::vpp
