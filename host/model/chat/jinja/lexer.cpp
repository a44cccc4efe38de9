// SPDX-License-Identifier: Apache-2.0
//
// One pass over the source; tags and text alternate.
#include "model/chat/jinja/lexer.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

std::string with_unix_newlines(const std::string& source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t at = 0; at < source.size(); ++at) {
    if (source[at] != '\r') {
      out += source[at];
    } else {
      out += '\n';
      if (at + 1 < source.size() && source[at + 1] == '\n') ++at;
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(const std::string& source) : source_(with_unix_newlines(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      lex_text();
      if (at_ >= source_.size()) break;
      const char kind = source_[at_ + 1];
      if (kind == '#') {
        skip_comment();
      } else if (kind == '%' && lex_raw()) {
        continue;
      } else {
        lex_tag(kind == '{');
      }
    }
    push(TokenType::kEnd, {});
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_at(place_, what); }
  bool starts(std::string_view text) const {
    return std::string_view(source_).substr(at_).starts_with(text);
  }
  void push(TokenType type, std::string text) {
    tokens_.push_back({type, std::move(text), place_});
  }
  void advance(std::size_t count) {
    for (const std::size_t end = at_ + count; at_ < end; ++at_) {
      if (source_[at_] == '\n') {
        place_ = {place_.line + 1, 1};
      } else if (!is_continuation(source_[at_])) {
        ++place_.column;
      }
    }
  }

  // Where the next tag begins at or after `from`, or the end.
  std::size_t find_tag(std::size_t from) const {
    for (std::size_t at = source_.find('{', from); at != std::string::npos;
         at = source_.find('{', at + 1)) {
      if (at + 1 < source_.size() &&
          std::string_view("{%#").find(source_[at + 1]) != std::string::npos) {
        return at;
      }
    }
    return source_.size();
  }

  void lex_text() {
    const std::size_t end = find_tag(at_);
    std::string text = source_.substr(at_, end - at_);
    trim_before_tag(text, end);
    if (!text.empty()) push(TokenType::kText, text);
    advance(end - at_);
  }

  // What the tag at `tag` takes of the text before it.
  void trim_before_tag(std::string& text, std::size_t tag) const {
    if (tag >= source_.size()) return;
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
    if (sign == '-') {
      while (!text.empty() && is_blank(text.back())) text.pop_back();
    } else if (sign != '+' && source_[tag + 1] != '{') {
      strip_indentation(text);
    }
  }

  // lstrip_blocks: blanks between the start of the line and the tag.
  void strip_indentation(std::string& text) const {
    const std::size_t last = text.find_last_not_of(" \t");
    const bool line_start = last == std::string::npos ? at_line_start_ : text[last] == '\n';
    if (line_start) text.resize(last == std::string::npos ? 0 : last + 1);
  }

  static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  // After a tag that ended with `sign`: white space it takes.
  void trim_after_tag(char sign, bool drops_newline) {
    at_line_start_ = false;
    if (sign == '-') {
      while (at_ < source_.size() && is_blank(source_[at_])) advance(1);
    } else if (sign != '+' && drops_newline && at_ < source_.size() && source_[at_] == '\n') {
      advance(1);
      at_line_start_ = true;
    }
  }

  void skip_comment() {
    const std::size_t end = source_.find("#}", at_ + 2);
    if (end == std::string::npos) fail("the comment is never closed");
    const char sign = source_[end - 1];
    advance(end + 2 - at_);
    trim_after_tag(sign, true);
  }

  // {% raw %} ... {% endraw %}; false for another tag.
  bool lex_raw() {
    std::size_t body = match_tag(at_, "raw");
    if (body == std::string::npos) return false;
    std::size_t end = body;
    do {
      end = source_.find("{%", end);
      if (end == std::string::npos) fail("the raw block is never closed");
    } while (match_tag(end, "endraw") == std::string::npos && ++end);
    advance(body - at_);
    trim_after_tag(source_[at_ - 3], true);
    std::string text = at_ < end ? source_.substr(at_, end - at_) : std::string();
    trim_before_tag(text, end);
    if (!text.empty()) push(TokenType::kText, text);
    const std::size_t after = match_tag(end, "endraw");
    advance(after - at_);
    trim_after_tag(source_[at_ - 3], true);
    return true;
  }

  // The position after the block tag `{% name %}` at `at`, npos for another tag.
  std::size_t match_tag(std::size_t at, std::string_view name) const {
    const auto skip = [&](std::string_view allowed) {
      while (at < source_.size() && allowed.find(source_[at]) != std::string::npos) ++at;
    };
    at += 2;
    skip("-+");
    skip(" \t\n");
    if (std::string_view(source_).substr(std::min(at, source_.size()), name.size()) != name) {
      return std::string::npos;
    }
    at += name.size();
    skip(" \t\n");
    skip("-+");
    if (std::string_view(source_).substr(std::min(at, source_.size()), 2) != "%}") {
      return std::string::npos;
    }
    return at + 2;
  }

  void lex_tag(bool is_print) {
    push(is_print ? TokenType::kPrintBegin : TokenType::kBlockBegin, {});
    advance(2);
    if (starts("-") || starts("+")) advance(1);
    const std::string_view close = is_print ? "}}" : "%}";
    brackets_.clear();
    while (true) {
      while (at_ < source_.size() && is_blank(source_[at_])) advance(1);
      if (at_ >= source_.size()) fail("the tag is never closed");
      const bool has_sign = starts("-") || starts("+");
      if (brackets_.empty() &&
          std::string_view(source_).substr(at_ + (has_sign ? 1 : 0)).starts_with(close)) {
        const char sign = has_sign ? source_[at_] : ' ';
        push(is_print ? TokenType::kPrintEnd : TokenType::kBlockEnd, {});
        advance(has_sign ? 3 : 2);
        trim_after_tag(sign, !is_print);
        return;
      }
      lex_token();
    }
  }

  void lex_token() {
    const char c = source_[at_];
    if (c == '"' || c == '\'') {
      lex_string(c);
    } else if (is_digit(c)) {
      lex_number();
    } else if (is_name_start(c)) {
      std::size_t end = at_;
      while (end < source_.size() && (is_name_start(source_[end]) || is_digit(source_[end]))) ++end;
      push(TokenType::kName, source_.substr(at_, end - at_));
      advance(end - at_);
    } else {
      lex_operator();
    }
  }

  void lex_operator() {
    for (const std::string_view two : {"==", "!=", "<=", ">=", "//", "**"}) {
      if (!starts(two)) continue;
      push(TokenType::kOperator, std::string(two));
      advance(2);
      return;
    }
    const char c = source_[at_];
    if (std::string_view("+-*/%~<>=()[]{}.,:|").find(c) == std::string::npos) {
      fail(std::string("unexpected character '") + c + "'");
    }
    if (c == '(' || c == '[' || c == '{') brackets_.push_back(c);
    if ((c == ')' || c == ']' || c == '}') && !brackets_.empty()) brackets_.pop_back();
    push(TokenType::kOperator, std::string(1, c));
    advance(1);
  }

  // 0x1f, 0o17, 0b11; false for another number.
  bool lex_based_number() {
    const char kind = static_cast<char>(source_[at_ + 1] | 0x20);
    const int base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
    if (source_[at_] != '0' || base == 0) return false;
    std::size_t end = at_ + 2;
    while (end < source_.size() &&
           (std::isxdigit(static_cast<unsigned char>(source_[end])) != 0 || source_[end] == '_')) {
      ++end;
    }
    std::string digits = source_.substr(at_ + 2, end - at_ - 2);
    std::erase(digits, '_');
    std::int64_t value = 0;
    const char* last = digits.data() + digits.size();
    const auto result = std::from_chars(digits.data(), last, value, base);
    if (result.ec != std::errc() || result.ptr != last) fail("a number out of range");
    push(TokenType::kInteger, std::to_string(value));
    advance(end - at_);
    return true;
  }

  void lex_number() {
    if (at_ + 1 < source_.size() && lex_based_number()) return;
    std::size_t end = at_;
    bool is_real = false;
    const auto digits = [&] {
      while (end < source_.size() && (is_digit(source_[end]) || source_[end] == '_')) ++end;
    };
    digits();
    const bool is_subscript = at_ > 0 && source_[at_ - 1] == '.';  // x.0.1
    if (is_subscript) {
      push(TokenType::kInteger, source_.substr(at_, end - at_));
      advance(end - at_);
      return;
    }
    if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      is_real = true;
      ++end;
      digits();
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      std::size_t exponent = end + 1;
      if (exponent < source_.size() &&
          std::string_view("+-").find(source_[exponent]) != std::string::npos) {
        ++exponent;
      }
      if (exponent < source_.size() && is_digit(source_[exponent])) {
        is_real = true;
        end = exponent;
        digits();
      }
    }
    std::string text = source_.substr(at_, end - at_);
    std::erase(text, '_');
    push(is_real ? TokenType::kReal : TokenType::kInteger, text);
    advance(end - at_);
  }

  void lex_string(char quote) {
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail("the string is never closed");
    push(TokenType::kString, unescape_literal(source_.substr(at_ + 1, end - at_ - 1)));
    advance(end + 1 - at_);
  }

  std::string source_;
  std::size_t at_ = 0;
  Place place_;
  bool at_line_start_ = true;  // whether at_ was the start of a line when the last tag ended
  std::string brackets_;
  std::vector<Token> tokens_;
};

}  // namespace

void fail_at(const Place& place, const std::string& what) {
  throw Failure("template line " + std::to_string(place.line) + ", column " +
                std::to_string(place.column) + ": " + what);
}

std::vector<Token> tokenize(const std::string& source) { return Lexer(source).run(); }

}  // namespace tandem::model::jinja
