// SPDX-License-Identifier: Apache-2.0
//
// Forms of calls, and which bodies may become regions: those whose calls alone decide the order.
#include "bitstreams/compiler/dataflow/dataflow_calls.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "bitstreams/compiler/dataflow/hls_pragma.h"

namespace tandem::xclbin {
namespace {

// Words that start no call, although a parenthesis may follow.
constexpr std::array<std::string_view, 30> kNotCallees = {
    "alignas",   "asm",         "__asm__",       "catch",    "class",    "co_await",
    "co_return", "co_yield",    "const_cast",    "decltype", "delete",   "dynamic_cast",
    "enum",      "goto",        "namespace",     "new",      "operator", "reinterpret_cast",
    "sizeof",    "static_cast", "static_assert", "struct",   "template", "throw",
    "typedef",   "typeid",      "union",         "using",    "noexcept", "__attribute__"};

constexpr std::array<std::string_view, 6> kBeforeStatements = {";", "{", "}", ")", ":", "else"};
constexpr std::array<std::string_view, 5> kControls = {"for", "if", "while", "switch", "return"};

template <size_t kSize>
bool is_one_of(const std::array<std::string_view, kSize>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Whether a statement that begins before the bracket at `open` calls a function.
bool is_call(const DataflowSource& source, size_t open) {
  if (open < 2 || !source.is(open, "(") || !source.is_word(open - 1)) return false;
  const bool begins = source.is(open - 2, ";") || source.is(open - 2, "{") ||
                      source.is(open - 2, "}") || source.is_directive(open - 2);
  return begins && !is_one_of(kControls, source.spelling(open - 1));
}

// The name of the function whose body begins at `open`; empty: it is another block, or a function
// that may have no region among its variables, because a constant expression may call it.
std::string function_of(const DataflowSource& source, size_t open) {
  for (size_t at = source.statement_begin(open); at + 1 < open; ++at) {
    if (source.is(at, "constexpr") || source.is(at, "consteval")) return {};
    if (source.is_word(at) && source.is(at + 1, "(")) {
      if (!is_one_of(kNotCallees, source.spelling(at))) return std::string(source.spelling(at));
      at = source.partner(at + 1);
    }
    if (source.is(at, "[")) at = source.partner(at);  // an attribute
    if (source.is(at, "<")) at = std::max(at + 1, source.behind_angle(at, open)) - 1;
  }
  return {};
}

bool calls_functions(const DataflowSource& source, size_t open) {
  const size_t end = source.partner(open);
  size_t arguments = 0;
  for (size_t at = open + 1; at < end; ++at) {
    const bool begins =
        is_one_of(kBeforeStatements, source.spelling(at - 1)) || source.is_directive(at - 1);
    if (!begins || is_one_of(kControls, source.spelling(at))) continue;
    if (!called_function(source, at, source.semicolon(at, end), arguments).empty()) return true;
  }
  return false;
}

// Whether the loop itself is unrolled, not only one in it.
bool is_unrolled(const DataflowSource& source, size_t at, size_t end) {
  int depth = 0;
  for (; at < end; ++at) {
    depth += source.is(at, "{") ? 1 : source.is(at, "}") ? -1 : 0;
    if (!source.is_directive(at) || depth > 1) continue;
    if (parse_hls_pragma(source.spelling(at)).kind == "unroll") return true;
  }
  return false;
}

// Whether [at, end) names a variable that an earlier call may change.
bool reads_variable(const DataflowSource& source, size_t at, size_t end) {
  for (; at < end; ++at) {
    const Declaration* const known =
        source.is_word(at) ? source.find(source.spelling(at), at) : nullptr;
    if (known != nullptr && !known->constant && known->at != at) return true;
  }
  return false;
}

// Finds statements that would run before an earlier call has ended, although they may use what it
// does: a region does not hold them back.
class EarlyStatements {
 public:
  explicit EarlyStatements(const DataflowSource& source) : source_(source) {}

  bool any(size_t at, size_t end) {
    while (at < end) {
      const size_t next = source_.statement_end(at, end);
      if (is_early(at, next)) return true;
      at = std::max(next, at + 1);
    }
    return false;
  }

 private:
  bool is(size_t at, std::string_view what) const { return source_.is(at, what); }

  bool is_early(size_t at, size_t end) {
    while (at < end && source_.is_directive(at)) ++at;
    if (at >= end) return false;
    if (is(at, "{")) return any(at + 1, source_.partner(at));
    if (is(at, "case")) {
      while (at < end && !is(at, ":")) at = source_.behind(at);
      return is_early(at + 1, end);
    }
    if (source_.is_word(at) && is(at + 1, ":")) return is_early(at + 2, end);
    if (is(at, "else")) return is_early(at + 1, end);
    if (is(at, "for") || is(at, "while") || is(at, "do")) return is_early_loop(at, end);
    if (is(at, "if") || is(at, "switch")) {
      const size_t head = head_of(at, end), behind = std::min(source_.behind(head), end);
      return (has_called_ && reads_variable(source_, head, behind)) || any(behind, end);
    }
    return is_early_simple(at, end - 1);
  }

  bool is_early_loop(size_t at, size_t end) {
    if (!is_unrolled(source_, at, end)) {  // one process
      has_called_ = true;
      return false;
    }
    ++unrolled_;
    const size_t body = is(at, "do") ? at + 1 : source_.behind(head_of(at, end));
    const bool is_early = any(std::min(body, end), end);
    --unrolled_;
    return is_early;
  }

  bool is_early_simple(size_t at, size_t semicolon) {
    size_t open = 0;
    if (!called_function(source_, at, semicolon, open).empty()) {
      has_called_ = true;
      return false;
    }
    // What leaves the region waits for all calls.
    const bool leaves = is(at, "return") || is(at, "break") || is(at, "continue");
    if (leaves || at >= semicolon || is(at, "static_assert") || is(at, "using")) return false;
    if (!source_.declarations(at, semicolon).empty()) {
      return has_called_ && reads_variable(source_, at, semicolon);
    }
    return has_called_ || unrolled_ > 0;
  }

  size_t head_of(size_t at, size_t end) const {
    while (at < end && !is(at, "(")) ++at;
    return at;
  }

  const DataflowSource& source_;
  bool has_called_ = false;
  int unrolled_ = 0;
};

}  // namespace

std::string called_function(const DataflowSource& source, size_t at, size_t semicolon,
                            size_t& open) {
  if (source.is(at, "(") && source.is(at + 1, "void") && source.partner(at) == at + 2) at += 3;
  std::string name;
  if (source.is(at, "::")) ++at;
  while (true) {
    if (source.is(at, "template")) ++at;
    if (!source.is_word(at) || is_one_of(kNotCallees, source.spelling(at))) return {};
    name += source.spelling(at);
    ++at;
    if (source.is(at, "<")) at = source.behind_angle(at, semicolon);
    if (!source.is(at, "::")) break;
    name += "::";
    ++at;
  }
  open = at;
  return source.is(at, "(") && source.partner(at) + 1 == semicolon ? name : std::string();
}

std::string loop_name(const DataflowSource& source, size_t at, size_t end) {
  if (at > 1 && source.is(at - 1, ":") && source.is_word(at - 2)) {
    return std::string(source.spelling(at - 2));
  }
  for (size_t token = at + 1; token < end; ++token) {
    if (is_call(source, token)) return "loop of " + std::string(source.spelling(token - 1));
  }
  return "loop";
}

std::multimap<std::string, size_t> inline_bodies(const DataflowSource& source) {
  std::multimap<std::string, size_t> bodies;
  if (source.empty()) return bodies;
  std::vector<size_t> blocks;
  for (size_t at = 0; at < source.size(); ++at) {
    if (source.is(at, "{")) blocks.push_back(at);
    if (source.is(at, "}") && !blocks.empty()) blocks.pop_back();
    if (!source.is_directive(at) || blocks.empty()) continue;
    const HlsPragma pragma = parse_hls_pragma(source.spelling(at));
    const bool is_off = std::any_of(pragma.options.begin(), pragma.options.end(),
                                    [](const auto& option) { return option.first == "off"; });
    const size_t open = blocks.back();
    if (pragma.kind != "inline" || is_off || !calls_functions(source, open)) continue;
    if (EarlyStatements(source).any(open + 1, source.partner(open))) continue;
    const std::string name = function_of(source, open);
    if (!name.empty()) bodies.emplace(name, open);
  }
  return bodies;
}

}  // namespace tandem::xclbin
