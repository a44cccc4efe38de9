// SPDX-License-Identifier: Apache-2.0
//
// One pass over the characters. A directive is a `#` that comes first on its line.
#include "bitstreams/compiler/dataflow/dataflow_tokens.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace tandem::xclbin {
namespace {

bool word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) step();
    return std::move(tokens_);
  }

 private:
  bool starts(std::string_view prefix) const {
    return text_.compare(at_, prefix.size(), prefix) == 0;
  }
  void add(TokenKind kind, size_t end) {
    end = std::min(end, text_.size());
    tokens_.push_back({kind, at_, end});
    at_ = end;
    line_start_ = false;
  }

  void step() {
    const char c = text_[at_];
    if (c == '\n') {
      line_start_ = true;
      ++at_;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++at_;
    } else if (starts("//")) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (starts("/*")) {
      const size_t close = text_.find("*/", at_ + 2);
      at_ = close == std::string_view::npos ? text_.size() : close + 2;
    } else if (c == '#' && line_start_) {
      add(TokenKind::kDirective, directive_end());
    } else if (c == '"' || c == '\'') {
      add(TokenKind::kLiteral, literal_end(at_));
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      add(TokenKind::kLiteral, number_end());
    } else if (word_char(c)) {
      word();
    } else {
      add(TokenKind::kPunctuation, at_ + (starts("::") || starts("->") ? 2 : 1));
    }
  }

  size_t directive_end() const {
    size_t end = at_;
    do {
      end = std::min(text_.find('\n', end + 1), text_.size());
    } while (end < text_.size() && text_[end - 1] == '\\');
    return end;
  }

  size_t literal_end(size_t quote) const {
    size_t end = quote + 1;
    while (end < text_.size() && text_[end] != text_[quote] && text_[end] != '\n') {
      end += text_[end] == '\\' ? 2 : 1;
    }
    return end + 1;
  }

  // Digits, letters, points, the digit separator and the sign of an exponent.
  size_t number_end() const {
    size_t end = at_ + 1;
    while (end < text_.size()) {
      const char c = text_[end];
      const char before =
          static_cast<char>(std::tolower(static_cast<unsigned char>(text_[end - 1])));
      const bool sign = (c == '+' || c == '-') && (before == 'e' || before == 'p');
      const bool separator = c == '\'' && end + 1 < text_.size() && word_char(text_[end + 1]);
      if (!word_char(c) && c != '.' && !sign && !separator) break;
      ++end;
    }
    return end;
  }

  // A word, or a literal with an encoding prefix.
  void word() {
    size_t end = at_;
    while (end < text_.size() && word_char(text_[end])) ++end;
    const std::string_view name = text_.substr(at_, end - at_);
    const char next = end < text_.size() ? text_[end] : '\0';
    const bool raw = next == '"' &&
                     (name == "R" || name == "LR" || name == "uR" || name == "UR" || name == "u8R");
    const bool encoded = name == "L" || name == "u" || name == "U" || name == "u8";
    if (raw) {
      add(TokenKind::kLiteral, raw_end(end));
    } else if (encoded && (next == '"' || next == '\'')) {
      add(TokenKind::kLiteral, literal_end(end));
    } else {
      add(TokenKind::kWord, end);
    }
  }

  size_t raw_end(size_t quote) const {
    const size_t open = text_.find('(', quote);
    if (open == std::string_view::npos) return text_.size();
    const std::string close = ")" + std::string(text_.substr(quote + 1, open - quote - 1)) + "\"";
    const size_t end = text_.find(close, open);
    return end == std::string_view::npos ? text_.size() : end + close.size();
  }

  std::string_view text_;
  size_t at_ = 0;
  bool line_start_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text) { return Lexer(text).run(); }

std::vector<size_t> match_brackets(std::string_view text, const std::vector<Token>& tokens) {
  std::vector<size_t> partner(tokens.size(), kNoPartner);
  std::vector<size_t> open;
  constexpr std::string_view kOpening = "([{", kClosing = ")]}";
  for (size_t index = 0; index < tokens.size(); ++index) {
    if (tokens[index].kind != TokenKind::kPunctuation) continue;
    const char c = text[tokens[index].begin];
    if (kOpening.find(c) != std::string_view::npos) open.push_back(index);
    const size_t closes = kClosing.find(c);
    if (closes == std::string_view::npos) continue;
    if (open.empty() || text[tokens[open.back()].begin] != kOpening[closes]) return {};
    partner[index] = open.back();
    partner[open.back()] = index;
    open.pop_back();
  }
  if (!open.empty()) return {};
  return partner;
}

}  // namespace tandem::xclbin
