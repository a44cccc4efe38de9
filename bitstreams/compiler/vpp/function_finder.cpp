// SPDX-License-Identifier: Apache-2.0
//
// A scanner over braces. At namespace scope, the text between ';', '{' and '}' is the head of a
// declaration.
#include "bitstreams/compiler/vpp/function_finder.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>

namespace tandem::vpp {
namespace {

constexpr size_t kNone = std::string_view::npos;

// The index after the literal that starts at `at` ('"' or '\''); raw strings included.
size_t skip_literal(std::string_view text, size_t at) {
  const char quote = text[at];
  if (quote == '"' && at > 0 && text[at - 1] == 'R') {
    const size_t open = text.find('(', at);
    if (open == kNone) return text.size();
    const std::string close = ")" + std::string(text.substr(at + 1, open - at - 1)) + "\"";
    const size_t end = text.find(close, open);
    return end == kNone ? text.size() : end + close.size();
  }
  for (++at; at < text.size() && text[at] != quote && text[at] != '\n'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

// 1'000 is no character literal.
bool starts_literal(std::string_view text, size_t at) {
  return text[at] == '"' || (text[at] == '\'' && (at == 0 || !word_char(text[at - 1])));
}

size_t line_end(std::string_view text, size_t at) {
  return std::min(text.find('\n', at), text.size());
}

// The index after the bracket that closes the one at `open`; the text's size without one. Braces
// inside directives (#pragma lines) do not count.
size_t closing(std::string_view text, size_t open) {
  const char left = text[open];
  const char right = left == '(' ? ')' : (left == '[' ? ']' : '}');
  int depth = 0;
  bool line_start = false;
  for (size_t at = open; at < text.size();) {
    const char c = text[at];
    if (c == '#' && line_start) {
      at = line_end(text, at);
      continue;
    }
    if (starts_literal(text, at)) {
      at = skip_literal(text, at);
      continue;
    }
    if (c == left) ++depth;
    if (c == right && --depth == 0) return at + 1;
    line_start = c == '\n' || (line_start && blank_char(c));
    ++at;
  }
  return text.size();
}

}  // namespace

bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool blank_char(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string plain_head(std::string_view head) {
  std::string out(head);
  const auto blank = [&](size_t begin, size_t end) {
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(begin),
              out.begin() + static_cast<std::ptrdiff_t>(end), ' ');
  };
  for (size_t at = 0; at < out.size(); ++at) {
    if (starts_literal(out, at)) {
      const size_t end = skip_literal(out, at);
      blank(at, end);
      at = end - 1;
    } else if (out.compare(at, 2, "[[") == 0) {
      blank(at, closing(out, at));
    }
  }
  for (const char* word : {"__attribute__", "__attribute", "__declspec", "alignas", "_Alignas"}) {
    for (size_t at = out.find(word); at != std::string::npos; at = out.find(word, at + 1)) {
      const size_t open = out.find('(', at);
      if (open != std::string::npos) blank(at, closing(out, open));
    }
  }
  return out;
}

std::string first_word(const std::string& text) {
  size_t begin = 0;
  while (begin < text.size() && blank_char(text[begin])) ++begin;
  size_t end = begin;
  while (end < text.size() && word_char(text[end])) ++end;
  return text.substr(begin, end - begin);
}

namespace {

enum class Scope : uint8_t { kNamespace, kLinkage };

class FunctionFinder {
 public:
  explicit FunctionFinder(std::string_view text) : text_(text) {}

  std::vector<FunctionDefinition> run() {
    bool line_start = true;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#' && line_start) {
        read_directive();
        continue;
      }
      line_start = c == '\n' || (line_start && blank_char(c));
      step(c);
    }
    return std::move(result_);
  }

 private:
  void step(char c) {
    if (starts_literal(text_, at_)) {
      at_ = skip_literal(text_, at_);
    } else if (c == '(') {
      at_ = closing(text_, at_);
    } else if (c == ';' || c == '}') {
      if (c == '}' && !scopes_.empty()) scopes_.pop_back();
      head_ = ++at_;
    } else if (c == '{') {
      open_brace();
    } else {
      ++at_;
    }
  }

  // A line marker (# 12 "file" flags) or a pragma.
  void read_directive() {
    const size_t end = line_end(text_, at_);
    const std::string_view line = text_.substr(at_, end - at_);
    const size_t quote = line.find('"');
    const size_t close = line.rfind('"');
    if (line.size() > 2 && line[1] == ' ' && std::isdigit(static_cast<unsigned char>(line[2])) &&
        quote != kNone && close > quote) {
      file_ = std::string(line.substr(quote + 1, close - quote - 1));
      system_ = line.find('3', close) != kNone;
    }
    // A directive between two declarations belongs to no head.
    const std::string_view before = text_.substr(head_, at_ - head_);
    if (std::all_of(before.begin(), before.end(), blank_char)) head_ = end;
    at_ = end;
  }

  void open_brace() {
    const std::string_view raw = text_.substr(head_, at_ - head_);
    const std::string head = plain_head(raw);
    const std::string word = first_word(head);
    const size_t open = at_;
    const bool linkage = word == "extern" && head.find('(') == std::string::npos;
    if (word == "namespace" || (word == "inline" && head.find("namespace") != std::string::npos) ||
        linkage) {
      scopes_.push_back(linkage ? Scope::kLinkage : Scope::kNamespace);
      head_ = ++at_;
      return;
    }
    at_ = closing(text_, open);
    add_function(raw, head, text_.substr(open + 1, std::max(at_, open + 2) - open - 2));
    // The text after the brace of a class or an initialiser still belongs to its declaration.
    head_ = at_;
  }

  void add_function(std::string_view raw, const std::string& head, std::string_view body) {
    const size_t open = parameter_list(head);
    if (open == std::string::npos || open == 0) return;
    size_t end = open;
    while (end > 0 && blank_char(head[end - 1])) --end;
    size_t begin = end;
    while (begin > 0 && word_char(head[begin - 1])) --begin;
    if (begin == end) return;
    const size_t close = closing(head, open);
    if (close <= open + 1) return;
    result_.push_back({head.substr(begin, end - begin), file_, system_, is_linkable(head, begin),
                       raw.substr(open + 1, close - open - 2), body, head.substr(0, begin)});
  }

  // `name`: the position of the function's name in its head.
  bool is_linkable(const std::string& head, size_t name) const {
    const size_t before = head.find_last_not_of(" \t\r\n", name - 1);
    const bool qualified = name > 0 && before != std::string::npos && head[before] == ':';
    const std::string word = first_word(head);
    const bool linkage =
        word == "extern" || std::count(scopes_.begin(), scopes_.end(), Scope::kLinkage) > 0;
    const bool global = std::count(scopes_.begin(), scopes_.end(), Scope::kNamespace) == 0;
    return !qualified && word != "template" && (linkage || global);
  }

  // The first parenthesis outside angle brackets; npos if the head is not that of a function.
  static size_t parameter_list(const std::string& head) {
    int angles = 0;
    for (size_t at = 0; at < head.size(); ++at) {
      if (head[at] == '<') ++angles;
      if (head[at] == '>' && angles > 0) --angles;
      if (angles > 0) continue;
      if (head[at] == '=') return std::string::npos;
      if (head[at] == '(') return at;
    }
    return std::string::npos;
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t head_ = 0;
  std::vector<Scope> scopes_;  // open ones
  std::string file_;
  bool system_ = false;
  std::vector<FunctionDefinition> result_;
};

}  // namespace

std::vector<FunctionDefinition> find_functions(std::string_view text) {
  return FunctionFinder(text).run();
}

}  // namespace tandem::vpp
