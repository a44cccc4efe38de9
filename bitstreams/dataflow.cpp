// SPDX-License-Identifier: Apache-2.0
//
// Walks the statements of every region and collects insertions; the text itself is never moved.
#include "bitstreams/dataflow.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "bitstreams/dataflow_prefix.h"
#include "bitstreams/dataflow_tokens.h"
#include "bitstreams/hls_pragma.h"

namespace tandem::xclbin {
namespace {

// Words that open something else than a call, though a parenthesis may follow.
constexpr std::array<std::string_view, 30> kNotCallees = {
    "alignas",   "asm",         "__asm__",       "catch",    "class",    "co_await",
    "co_return", "co_yield",    "const_cast",    "decltype", "delete",   "dynamic_cast",
    "enum",      "goto",        "namespace",     "new",      "operator", "reinterpret_cast",
    "sizeof",    "static_cast", "static_assert", "struct",   "template", "throw",
    "typedef",   "typeid",      "union",         "using",    "noexcept", "__attribute__"};

struct Insertion {
  size_t at;
  std::string text;
};

// The regions around a statement, outermost first.
struct OpenRegion {
  std::string name;
  int loops = 0;     // loops of the region around the statement
  int switches = 0;  // switches likewise
};

class Rewriter {
 public:
  explicit Rewriter(std::string_view text)
      : text_(text), tokens_(tokenize(text)), partner_(match_brackets(text, tokens_)) {}

  std::string run() {
    if (partner_.empty()) return std::string(text_);
    find_pragmas();
    for (size_t open : region_blocks_) {
      if (std::find(done_.begin(), done_.end(), open) == done_.end()) region(open);
    }
    for (size_t pragma : stream_pragmas_) stream_depth(pragma);
    if (insertions_.empty()) return std::string(text_);
    return assemble();
  }

 private:
  std::string_view spelling(size_t index) const {
    if (index >= tokens_.size()) return {};
    return text_.substr(tokens_[index].begin, tokens_[index].end - tokens_[index].begin);
  }
  bool is(size_t index, std::string_view what) const { return spelling(index) == what; }
  bool is_word(size_t index) const {
    return index < tokens_.size() && tokens_[index].kind == TokenKind::kWord;
  }
  bool is_directive(size_t index) const {
    return index < tokens_.size() && tokens_[index].kind == TokenKind::kDirective;
  }
  bool is_opening(size_t index) const {
    return index < tokens_.size() && partner_[index] != kNoPartner && partner_[index] > index;
  }
  bool is_closing(size_t index) const {
    return partner_[index] != kNoPartner && partner_[index] < index;
  }
  void insert(size_t at, std::string text) { insertions_.push_back({at, std::move(text)}); }

  void find_pragmas() {
    std::vector<size_t> blocks;
    for (size_t index = 0; index < tokens_.size(); ++index) {
      if (is(index, "{")) blocks.push_back(index);
      if (is(index, "}")) blocks.pop_back();
      if (!is_directive(index)) continue;
      const HlsPragma pragma = parse_hls_pragma(spelling(index));
      if (pragma.kind == "stream") stream_pragmas_.push_back(index);
      if (pragma.kind != "dataflow" || blocks.empty() || !holds_statements(blocks.back())) continue;
      if (region_blocks_.empty() || region_blocks_.back() != blocks.back()) {
        region_blocks_.push_back(blocks.back());
      }
    }
    // Outer blocks first, so that a region within a region is walked by its outer one.
    std::sort(region_blocks_.begin(), region_blocks_.end());
    region_blocks_.erase(std::unique(region_blocks_.begin(), region_blocks_.end()),
                         region_blocks_.end());
  }

  // The first token of the statement that `index` is part of.
  size_t statement_begin(size_t index) const {
    while (index > 0) {
      const size_t before = index - 1;
      if (is_directive(before) || is(before, ";") || is(before, "{")) return index;
      if (is(before, "}") && !is(index, ",") && !is(index, ";") && !is(index, ")")) return index;
      index = is_closing(before) ? partner_[before] : before;
    }
    return index;
  }

  // False for the braces of namespaces, classes and linkage: what has parameters, or names none of
  // these, holds statements.
  bool holds_statements(size_t open) const {
    bool other = false;
    for (size_t index = statement_begin(open); index < open; ++index) {
      if (is(index, "(") && !is(index - 1, "alignas") && !is(index - 1, "__attribute__")) {
        return true;
      }
      for (const char* word : {"namespace", "class", "struct", "union", "enum", "extern"}) {
        other |= is(index, word);
      }
      if (is_opening(index)) index = partner_[index];
    }
    return !other;
  }

  void region(size_t open) {
    done_.push_back(open);
    const std::string name = "tandem_region_" + std::to_string(++num_regions_);
    insert(tokens_[open].end, " ::tandem_hls::Region " + name + ";");
    regions_.push_back({name});
    statements(open + 1, partner_[open]);
    regions_.pop_back();
    insert(tokens_[partner_[open]].begin, name + ".join(); ");
  }

  void statements(size_t begin, size_t end) {
    while (begin < end) begin = statement(begin, end);
  }

  // Handles the statement at `at`; returns the token behind it, at most `end`.
  size_t statement(size_t at, size_t end) {
    while (at < end && is_directive(at)) ++at;
    if (at >= end) return end;
    if (is(at, "{")) {
      if (std::binary_search(region_blocks_.begin(), region_blocks_.end(), at)) {
        region(at);
      } else {
        statements(at + 1, partner_[at]);
      }
      return partner_[at] + 1;
    }
    if (is_word(at)) {
      const std::string_view word = spelling(at);
      if (word == "if" || word == "for" || word == "while" || word == "switch") {
        return controlled(at, end);
      }
      if (word == "do") return do_loop(at, end);
      if (word == "try" || word == "else") return statement(at + 1, end);
      if (word == "catch" && is(at + 1, "(")) return statement(partner_[at + 1] + 1, end);
      if (word == "case" || word == "default") return behind_colon(at, end);
      if (is(at + 1, ":")) return statement(at + 2, end);
    }
    return simple(at, end);
  }

  size_t controlled(size_t at, size_t end) {
    const std::string_view word = spelling(at);
    size_t head = at + 1;
    while (head < end && !is(head, "(") && (is_word(head) || is(head, "!"))) ++head;
    if (head >= end || !is(head, "(")) return at + 1;
    OpenRegion& around = regions_.back();
    const size_t level = regions_.size() - 1;
    const bool loop = word == "for" || word == "while";
    around.loops += loop ? 1 : 0;
    around.switches += word == "switch" ? 1 : 0;
    size_t next = statement(partner_[head] + 1, end);
    regions_[level].loops -= loop ? 1 : 0;
    regions_[level].switches -= word == "switch" ? 1 : 0;
    if (word != "if") return next;
    while (next < end && is_directive(next)) ++next;
    return next < end && is(next, "else") ? statement(next + 1, end) : next;
  }

  size_t do_loop(size_t at, size_t end) {
    const size_t level = regions_.size() - 1;
    ++regions_[level].loops;
    size_t next = statement(at + 1, end);
    --regions_[level].loops;
    while (next < end && !is(next, ";")) next = is_opening(next) ? partner_[next] + 1 : next + 1;
    return std::min(next + 1, end);
  }

  size_t behind_colon(size_t at, size_t end) {
    while (at < end && !is(at, ":")) at = is_opening(at) ? partner_[at] + 1 : at + 1;
    return std::min(at + 1, end);
  }

  size_t simple(size_t at, size_t end) {
    size_t semicolon = at;
    while (semicolon < end && !is(semicolon, ";")) {
      semicolon = is_opening(semicolon) ? partner_[semicolon] + 1 : semicolon + 1;
    }
    if (semicolon >= end) return end;
    const std::string callee = called_function(at, semicolon);
    if (is(at, "return")) {
      std::string joins;
      for (auto open = regions_.rbegin(); open != regions_.rend(); ++open) {
        joins += open->name + ".join(); ";
      }
      wrap(at, semicolon, "{ " + joins, " }");
    } else if (is(at, "break") || is(at, "continue")) {
      const OpenRegion& around = regions_.back();
      const bool leaves = around.loops == 0 && (is(at, "continue") || around.switches == 0);
      if (leaves) wrap(at, semicolon, "{ " + around.name + ".join(); ", " }");
    } else if (!callee.empty()) {
      wrap(at, semicolon, regions_.back().name + ".start(\"" + callee + "\", [&] { ", " });");
    } else {
      name_streams(at, semicolon);
    }
    return semicolon + 1;
  }

  void wrap(size_t first, size_t last, std::string before, std::string after) {
    insert(tokens_[first].begin, std::move(before));
    insert(tokens_[last].end, std::move(after));
  }

  // The function's name when the statement is `[(void)] name[<...>](...)`, with any qualification;
  // empty otherwise.
  std::string called_function(size_t at, size_t semicolon) const {
    if (is(at, "(") && is(at + 1, "void") && partner_[at] == at + 2) at += 3;
    std::string name;
    if (is(at, "::")) ++at;
    while (true) {
      if (is(at, "template")) ++at;
      if (!is_word(at) ||
          std::find(kNotCallees.begin(), kNotCallees.end(), spelling(at)) != kNotCallees.end()) {
        return {};
      }
      name += spelling(at);
      ++at;
      if (is(at, "<")) at = behind_angle(at, semicolon);
      if (!is(at, "::")) break;
      name += "::";
      ++at;
    }
    return is(at, "(") && partner_[at] + 1 == semicolon ? name : std::string();
  }

  // The token behind the `>` that closes the `<` at `open`; `open` itself when there is none.
  size_t behind_angle(size_t open, size_t end) const {
    int depth = 0;
    for (size_t at = open; at < end; at = is_opening(at) ? partner_[at] + 1 : at + 1) {
      if (is(at, "<")) ++depth;
      if (is(at, ">") && --depth == 0) return at + 1;
    }
    return open;
  }

  // Streams declared without a name get the variable's, for messages:
  // `[static] [hls::]stream<...> a, b[2];`
  void name_streams(size_t at, size_t semicolon) {
    while (is(at, "static") || is(at, "thread_local")) ++at;
    if (is(at, "::")) ++at;
    if (is(at, "hls") && is(at + 1, "::")) at += 2;
    if (!is(at, "stream") || !is(at + 1, "<")) return;
    at = behind_angle(at + 1, semicolon);
    std::string calls;
    while (at < semicolon && is_word(at)) {
      const std::string name(spelling(at++));
      while (is(at, "[")) at = partner_[at] + 1;
      if (!is(at, ",") && !is(at, ";")) return;
      calls += " ::tandem_hls::stream_name(" + name + ", \"" + name + "\");";
      if (at < semicolon) ++at;
    }
    if (!calls.empty()) insert(tokens_[semicolon].end, calls);
  }

  // Whether an enclosing block of the token at `index` declares the stream `name` in front of it.
  bool declares_stream(size_t index, std::string_view name) const {
    while (index > 0) {
      --index;
      if (is_closing(index)) {
        index = partner_[index];
      } else if (is_word(index) && is(index, name)) {
        for (size_t at = statement_begin(index); at < index; ++at) {
          if (is(at, "stream") && is(at + 1, "<")) return true;
        }
      }
    }
    return false;
  }

  // A number, or a constant of the program; macros are gone from the text but not from pragmas.
  bool is_usable_depth(size_t index, const std::string& depth) const {
    if (depth.empty()) return false;
    if (std::isdigit(static_cast<unsigned char>(depth[0]))) {
      return depth.size() < 10 && std::all_of(depth.begin(), depth.end(), [](char c) {
               return std::isdigit(static_cast<unsigned char>(c)) != 0;
             });
    }
    for (size_t at = 1; at < index; ++at) {
      if (!is(at, depth) || !is_word(at) || !is(at + 1, "=")) continue;
      for (size_t before = statement_begin(at); before < at; ++before) {
        if (is(before, "const") || is(before, "constexpr")) return true;
      }
    }
    return false;
  }

  void stream_depth(size_t index) {
    const HlsPragma pragma = parse_hls_pragma(spelling(index));
    const std::string variable = pragma.value("variable"), depth = pragma.value("depth");
    const std::string base = variable.substr(0, variable.find_first_of("[."));
    size_t before = index, next = index;
    while (before > 0 && is_directive(before)) --before;
    while (is_directive(next)) ++next;
    const bool between = is(before, ";") || is(before, "{") || is(before, "}");
    if (base.empty() || !between || next >= tokens_.size() || is(next, "else") ||
        !is_plain(variable) || !is_usable_depth(index, depth) || !declares_stream(index, base)) {
      return;
    }
    insert(tokens_[next].begin, "::tandem_hls::stream_depth(" + variable + ", " + depth + "); ");
  }

  // An element of an array by constants, as in `streams[2][0]`.
  static bool is_plain(const std::string& variable) {
    return std::all_of(variable.begin(), variable.end(),
                       [](char c) {
                         return std::isalnum(static_cast<unsigned char>(c)) || c == '_' ||
                                c == '[' || c == ']';
                       }) &&
           std::count(variable.begin(), variable.end(), '[') ==
               std::count(variable.begin(), variable.end(), ']');
  }

  std::string assemble() {
    std::stable_sort(insertions_.begin(), insertions_.end(),
                     [](const Insertion& a, const Insertion& b) { return a.at < b.at; });
    std::string out(kDataflowPrefix);
    if (text_.empty() || text_[0] != '#') out += "# 1 \"<source>\"\n";
    size_t at = 0;
    for (const Insertion& insertion : insertions_) {
      out += text_.substr(at, insertion.at - at);
      out += insertion.text;
      at = insertion.at;
    }
    out += text_.substr(at);
    return out;
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::vector<size_t> partner_;
  std::vector<size_t> region_blocks_;  // sorted
  std::vector<size_t> stream_pragmas_;
  std::vector<size_t> done_;
  std::vector<OpenRegion> regions_;
  std::vector<Insertion> insertions_;
  int num_regions_ = 0;
};

}  // namespace

std::string rewrite_dataflow(std::string_view preprocessed) { return Rewriter(preprocessed).run(); }

}  // namespace tandem::xclbin
