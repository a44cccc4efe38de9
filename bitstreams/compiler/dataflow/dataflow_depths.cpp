// SPDX-License-Identifier: Apache-2.0
//
// Replaces macros by their definitions in brackets, up to a limit that ends cycles.
#include "bitstreams/compiler/dataflow/dataflow_depths.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "bitstreams/compiler/dataflow/hls_pragma.h"

namespace tandem::xclbin {
namespace {

constexpr int kMacroLevels = 16;
constexpr size_t kLongestDepth = 1024;  // characters
// For a stated depth that is unknown: too shallow a stream would be told as a deadlock. More than
// the memory of a card's chip holds, less than that of the machine.
constexpr const char* kDeepest = "1000000";

bool is_plain_number(std::string_view text) {
  return text.size() < 10 && std::all_of(text.begin(), text.end(), [](char c) {
           return std::isdigit(static_cast<unsigned char>(c)) != 0;
         });
}

constexpr std::string_view kMember = "this->";

// An element of an array by constants, as in `streams[2][0]`.
bool is_plain_variable(std::string_view variable) {
  return std::all_of(variable.begin(), variable.end(),
                     [](char c) {
                       return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '[' ||
                              c == ']';
                     }) &&
         std::count(variable.begin(), variable.end(), '[') ==
             std::count(variable.begin(), variable.end(), ']');
}

class Depths {
 public:
  Depths(const DataflowSource& source, DataflowNotes& notes) : source_(source), notes_(notes) {}

  void pragma(size_t index) {
    const HlsPragma pragma = parse_hls_pragma(source_.spelling(index));
    const std::string variable = pragma.value("variable"), depth = pragma.value("depth");
    // A member may be of another type: then the statement has no effect.
    const bool is_member = variable.starts_with(kMember);
    const std::string path = variable.substr(is_member ? kMember.size() : 0);
    const std::string base = path.substr(0, path.find_first_of("[."));
    size_t before = index, next = index;
    while (before > 0 && source_.is_directive(before)) --before;
    while (source_.is_directive(next)) ++next;
    const bool between =
        source_.is(before, ";") || source_.is(before, "{") || source_.is(before, "}");
    if (base.empty() || depth.empty() || !between || next >= source_.size() ||
        source_.is(next, "else") || !is_plain_variable(path)) {
      return;
    }
    const Declaration* const declared = source_.find(base, index);
    if (!is_member && (declared == nullptr || !declared->stream)) return;
    std::optional<std::string> value = expression(depth, index, kMacroLevels);
    if (!value.has_value()) {
      notes_.warnings.push_back(location(index) + "depth=" + depth + " of stream '" + variable +
                                "' is neither a number nor a constant known there: it counts as " +
                                kDeepest);
      value = kDeepest;
    }
    statements_.push_back({source_.token(next).begin,
                           "::tandem_hls::stream_depth(" + variable + ", " + *value + "); "});
  }
  std::vector<DepthStatement> take() { return std::move(statements_); }

 private:
  // The depth with its macros replaced; nothing when a part of it is unknown.
  std::optional<std::string> expression(const std::string& depth, size_t index, int levels) {
    if (levels == 0 || depth.empty()) return std::nullopt;
    const std::vector<Token> tokens = tokenize(depth);
    if (match_brackets(depth, tokens).empty() && !tokens.empty()) return std::nullopt;
    std::string out;
    for (const Token& token : tokens) {
      const std::string word = depth.substr(token.begin, token.end - token.begin);
      if (token.kind == TokenKind::kWord) {
        const Declaration* const declared = source_.find(word, index);
        if ((declared != nullptr && declared->constant) || is_constant_function(word, index)) {
          out += word;
          continue;
        }
        const std::optional<std::string> value = macro(word, index, levels);
        if (!value.has_value()) return std::nullopt;
        out += "(" + *value + ")";
      } else if (word == "," && std::count(out.begin(), out.end(), '(') >
                                    std::count(out.begin(), out.end(), ')')) {
        out += word;
      } else if (token.kind == TokenKind::kLiteral ? is_number(word, levels) : is_operator(word)) {
        if (!out.empty() && out.back() == word[0] && (word == "+" || word == "-")) out += ' ';
        out += word;
      } else {
        return std::nullopt;
      }
      if (out.size() > kLongestDepth) return std::nullopt;
    }
    return out.empty() ? std::nullopt : std::optional(out);
  }

  // Whether a `constexpr` function of this name is declared before.
  bool is_constant_function(const std::string& name, size_t index) const {
    for (size_t at = 1; at < index; ++at) {
      if (!source_.is(at, name) || !source_.is(at + 1, "(")) continue;
      for (size_t before = at; before-- > 0;) {
        if (source_.is(before, "constexpr")) return true;
        const std::string_view word = source_.spelling(before);
        const bool ends =
            word.size() == 1 && std::string_view(";{}=(").find(word[0]) != std::string_view::npos;
        if (ends || source_.is_directive(before)) break;
      }
    }
    return false;
  }

  // In the pragma itself a plain number, in a macro also one with a base or a suffix.
  static bool is_number(const std::string& word, int levels) {
    if (levels == kMacroLevels) return is_plain_number(word);
    return word.size() < 12 && std::isdigit(static_cast<unsigned char>(word[0])) != 0 &&
           word.find('.') == std::string::npos;
  }
  static bool is_operator(const std::string& word) {
    return word == "::" ||
           (word.size() == 1 &&
            std::string_view("+-*/%()<>?:&|^~!=").find(word[0]) != std::string_view::npos);
  }

  std::optional<std::string> macro(const std::string& name, size_t index, int levels) {
    if (!asked_ && notes_.macros) macros_ = notes_.macros();
    asked_ = true;
    const auto found = macros_.find(name);
    if (found == macros_.end()) return std::nullopt;
    return expression(found->second, index, levels - 1);
  }

  // "file:line: " by the last line marker.
  std::string location(size_t index) const {
    for (size_t at = index; at-- > 0;) {
      if (!source_.is_directive(at)) continue;
      const std::string marker(source_.spelling(at));
      size_t digits = marker.find_first_not_of(" #");
      if (digits == std::string::npos || !std::isdigit(static_cast<unsigned char>(marker[digits])))
        continue;
      const size_t quote = marker.find('"'), end = marker.find('"', quote + 1);
      if (quote == std::string::npos || end == std::string::npos) continue;
      const std::string_view text = source_.text().substr(
          source_.token(at).end, source_.token(index).begin - source_.token(at).end);
      const auto lines = std::count(text.begin(), text.end(), '\n') - 1;
      return marker.substr(quote + 1, end - quote - 1) + ":" +
             std::to_string(std::stoll(marker.substr(digits, 9)) + lines) + ": ";
    }
    return {};
  }

  const DataflowSource& source_;
  DataflowNotes& notes_;
  bool asked_ = false;
  std::map<std::string, std::string> macros_;
  std::vector<DepthStatement> statements_;
};

}  // namespace

std::vector<DepthStatement> stream_depths(const DataflowSource& source,
                                          const std::vector<size_t>& pragmas,
                                          DataflowNotes& notes) {
  Depths depths(source, notes);
  for (const size_t pragma : pragmas) depths.pragma(pragma);
  return depths.take();
}

}  // namespace tandem::xclbin
