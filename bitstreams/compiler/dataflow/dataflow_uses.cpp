// SPDX-License-Identifier: Apache-2.0
//
// To ask the compiler about one argument, the call is wrapped in a generic lambda whose parameter
// replaces that argument. The lambda is never called.
#include "bitstreams/compiler/dataflow/dataflow_uses.h"

#include <algorithm>
#include <array>
#include <set>

namespace tandem::xclbin {
namespace {

constexpr std::array<std::string_view, 8> kNotOperands = {"new",   "delete", "sizeof", "alignof",
                                                          "throw", "true",   "false",  "nullptr"};

std::string use(const std::string& what, const std::string& call) {
  const std::string type = "decltype((" + what + "))";
  return ", ::tandem_hls::use<" + type + ">(" + call + ", [&] { return ::tandem_hls::Argument<" +
         type + ">::place(" + what + "); })";
}

// Whether the expression has a form without side effects: names, elements, members, addresses and
// offsets.
bool is_harmless(const DataflowSource& source, size_t begin, size_t end) {
  bool name = false;
  for (size_t at = begin; at < end; ++at) {
    const std::string_view word = source.spelling(at);
    if (source.is_directive(at)) continue;
    if (source.is_word(at)) {
      if (std::find(kNotOperands.begin(), kNotOperands.end(), word) != kNotOperands.end()) {
        return false;
      }
      name = true;
      continue;
    }
    const bool digit = word[0] >= '0' && word[0] <= '9';
    const bool twice =
        (word == "+" || word == "-") && source.is(at + 1, word) && source.touches_next(at);
    if (twice || !(digit || word == "::" || word == "." || word == "[" || word == "]" ||
                   word == "&" || word == "*" || word == "+" || word == "-")) {
      return false;
    }
  }
  return name;
}

bool is_class_key(const DataflowSource& source, size_t at) {
  return source.is(at, "class") || source.is(at, "struct") || source.is(at, "union");
}

bool is_declared(const DataflowSource& source, size_t name) {
  for (size_t at = 1; at < name - 1; ++at) {
    if (!is_class_key(source, at - 1) || !source.is(at, source.spelling(name))) continue;
    if (source.is(at + 1, "{") || source.is(at + 1, ";") || source.is(at + 1, ":")) return true;
  }
  return false;
}

}  // namespace

std::string new_classes(const DataflowSource& source, size_t begin, size_t open) {
  std::string out;
  for (size_t at = begin; at + 1 < open; ++at) {
    const bool is_named = is_class_key(source, at) && source.is_word(at + 1);
    if (!is_named || source.is(at + 2, "::") || is_declared(source, at + 1)) continue;
    out += source.flat(at, at + 2) + "; ";
  }
  return out;
}

std::string call_uses(const DataflowSource& source, size_t begin, size_t open, size_t end) {
  const size_t close = end - 1;
  std::string out;
  std::set<std::string> seen;
  for (size_t at = open + 1; at < close;) {
    size_t comma = at;
    while (comma < close && !source.is(comma, ",")) comma = source.behind(comma);
    const std::string what = source.flat(at, comma);
    if (is_harmless(source, at, comma) && seen.insert(what).second) {
      const std::string call = source.flat(begin, at) +
                               "static_cast<decltype(tandem_it)>(tandem_it)" +
                               source.flat(comma, end);
      out += use(what, "[&](auto&& tandem_it) -> decltype((void)" + call + ") {}");
    }
    at = comma + 1;
  }
  return out;
}

std::string loop_uses(const DataflowSource& source, size_t begin, size_t end) {
  std::string out;
  std::set<std::string_view> seen;
  for (size_t at = begin; at < end; ++at) {
    if (!source.is_word(at) || source.is(at + 1, "(") || source.is(at + 1, "::")) continue;
    if (source.is(at - 1, ".") || source.is(at - 1, "->") || source.is(at - 1, "::")) continue;
    const std::string_view name = source.spelling(at);
    const Declaration* const declared = source.find(name, at);
    if (declared == nullptr || !declared->local || declared->at >= begin) continue;
    if (seen.insert(name).second) {
      out += use(std::string(name), "::tandem_hls::AnyUse()");
    }
  }
  return out;
}

}  // namespace tandem::xclbin
