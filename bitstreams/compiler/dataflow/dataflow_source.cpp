// SPDX-License-Identifier: Apache-2.0
//
// One pass with a stack of blocks. A statement starts after `;`, a brace or a directive.
#include "bitstreams/compiler/dataflow/dataflow_source.h"

#include <algorithm>
#include <array>

namespace tandem::xclbin {
namespace {

constexpr std::array<std::string_view, 14> kSpecifiers = {
    "static", "thread_local", "inline",   "extern", "register", "mutable", "typename",
    "struct", "const",        "volatile", "class",  "union",    "enum",    "constexpr"};
constexpr std::array<std::string_view, 9> kFundamental = {
    "int", "long", "short", "unsigned", "signed", "char", "double", "float", "bool"};
constexpr std::array<std::string_view, 8> kDecorations = {
    "*", "&", "const", "volatile", "__restrict", "__restrict__", "restrict", "__volatile__"};
// Words no declaration of a variable begins with.
constexpr std::array<std::string_view, 28> kOthers = {
    "return", "delete", "goto",          "throw",     "using",  "typedef", "template", "operator",
    "if",     "for",    "while",         "do",        "switch", "case",    "default",  "else",
    "try",    "catch",  "static_assert", "namespace", "public", "private", "asm",      "__asm__",
    "friend", "break",  "continue",      "new"};

template <size_t kCount>
bool among(const std::array<std::string_view, kCount>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

DataflowSource::DataflowSource(std::string_view text)
    : text_(text), tokens_(tokenize(text)), partner_(match_brackets(text, tokens_)) {
  if (!partner_.empty()) find_declarations();
}

std::string_view DataflowSource::spelling(size_t index) const {
  if (index >= tokens_.size()) return {};
  return text_.substr(tokens_[index].begin, tokens_[index].end - tokens_[index].begin);
}
bool DataflowSource::is_word(size_t index) const {
  return index < tokens_.size() && tokens_[index].kind == TokenKind::kWord;
}
bool DataflowSource::is_directive(size_t index) const {
  return index < tokens_.size() && tokens_[index].kind == TokenKind::kDirective;
}
bool DataflowSource::is_opening(size_t index) const {
  return index < tokens_.size() && partner_[index] != kNoPartner && partner_[index] > index;
}
bool DataflowSource::is_closing(size_t index) const {
  return index < tokens_.size() && partner_[index] != kNoPartner && partner_[index] < index;
}
bool DataflowSource::touches_next(size_t index) const {
  return index + 1 < tokens_.size() && tokens_[index].end == tokens_[index + 1].begin;
}

size_t DataflowSource::semicolon(size_t at, size_t end) const {
  while (at < end && !is(at, ";")) at = behind(at);
  return std::min(at, end);
}

size_t DataflowSource::behind_angle(size_t open, size_t end) const {
  int depth = 0;
  for (size_t at = open; at < end && !is(at, ";"); at = behind(at)) {
    if (is(at, "<")) ++depth;
    if (is(at, ">") && --depth == 0) return at + 1;
  }
  return open;
}

size_t DataflowSource::statement_begin(size_t index) const {
  while (index > 0) {
    const size_t before = index - 1;
    if (is_directive(before) || is(before, ";") || is(before, "{")) return index;
    if (is(before, "}") && !is(index, ",") && !is(index, ";") && !is(index, ")")) return index;
    index = is_closing(before) ? partner_[before] : before;
  }
  return index;
}

size_t DataflowSource::statement_end(size_t at, size_t end) const {
  while (at < end && is_directive(at)) ++at;
  if (at >= end) return end;
  if (is(at, "{")) return partner_[at] + 1;
  if (is_word(at) && is(at + 1, ":")) return statement_end(at + 2, end);
  if (is(at, "do")) return std::min(semicolon(statement_end(at + 1, end), end) + 1, end);
  const bool branch = is(at, "if");
  if (branch || is(at, "for") || is(at, "while") || is(at, "switch")) {
    size_t head = at + 1;
    while (head < end && !is(head, "(") && (is_word(head) || is(head, "!"))) ++head;
    if (head >= end || !is(head, "(")) return at + 1;
    const size_t next = statement_end(partner_[head] + 1, end);
    size_t otherwise = next;
    while (otherwise < end && is_directive(otherwise)) ++otherwise;
    return branch && is(otherwise, "else") ? statement_end(otherwise + 1, end) : next;
  }
  return std::min(semicolon(at, end) + 1, end);
}

std::string DataflowSource::flat(size_t begin, size_t end) const {
  std::string out;
  for (size_t at = begin; at < end; ++at) {
    if (is_directive(at)) continue;
    out += spelling(at);
    if (at + 1 < end && !touches_next(at)) out += ' ';
  }
  return out;
}

// The token after the specifiers, the type and its decorations; `at` itself if there is no type.
size_t DataflowSource::behind_type(size_t at, size_t end, Declaration& kind) const {
  const size_t begin = at;
  bool typed = false;
  while (at < end && is_word(at) &&
         (among(kSpecifiers, spelling(at)) || among(kFundamental, spelling(at)))) {
    kind.constant |= is(at, "const") || is(at, "constexpr");
    typed |= among(kFundamental, spelling(at));
    ++at;
  }
  if (!typed) {
    if (is(at, "::")) ++at;
    while (is_word(at) && !among(kOthers, spelling(at))) {
      kind.stream |= (is(at, "stream") && is(at + 1, "<")) || stream_types_.contains(spelling(at));
      ++at;
      if (is(at, "<")) {
        const size_t behind = behind_angle(at, end);
        if (behind == at) return begin;
        at = behind;
      }
      typed = true;
      if (!is(at, "::")) break;
      ++at;
      typed = false;
    }
    if (!typed) return begin;
  }
  while (at < end && among(kDecorations, spelling(at))) {
    kind.stream &= !is(at, "&") && !is(at, "*");
    kind.constant |= is(at, "const");
    ++at;
  }
  return at;
}

std::vector<Declaration> DataflowSource::declarations(size_t at, size_t end) const {
  std::vector<Declaration> found;
  Declaration kind;
  const size_t begin = at;
  at = behind_type(at, end, kind);
  if (at == begin) return found;
  while (is_word(at) && !among(kOthers, spelling(at)) && !among(kSpecifiers, spelling(at))) {
    const bool declares = is(at + 1, "=") || is(at + 1, "[") || is(at + 1, "(") ||
                          is(at + 1, "{") || is(at + 1, ",") || is(at + 1, ":") || at + 1 >= end;
    if (!declares || (is(at + 1, "=") && is(at + 2, "=") && touches_next(at + 1))) break;
    kind.at = at;
    found.push_back(kind);
    ++at;
    while (at < end && !is(at, ",") && !is(at, ";")) {
      const size_t angle = is_word(at) && is(at + 1, "<") ? behind_angle(at + 1, end) : at + 1;
      at = angle > at + 1 && is(angle, "(") ? angle : behind(at);
    }
    if (at >= end || is(at, ";")) break;
    ++at;
    while (at < end && among(kDecorations, spelling(at))) ++at;
  }
  return found;
}

const Declaration* DataflowSource::find(std::string_view name, size_t index) const {
  const auto found = declarations_.find(name);
  if (found == declarations_.end()) return nullptr;
  for (auto at = found->second.rbegin(); at != found->second.rend(); ++at) {
    if (at->at < index && index < at->scope_end) return &*at;
  }
  return nullptr;
}

void DataflowSource::add(Declaration declaration) {
  declarations_[spelling(declaration.at)].push_back(declaration);
}

void DataflowSource::find_declarations() {
  size_t begin = 0;  // start of the statement
  for (size_t index = 0; index < tokens_.size(); ++index) {
    while (!scopes_.empty() && scopes_.back().close <= index) scopes_.pop_back();
    const bool code = !scopes_.empty() && scopes_.back().code;
    const size_t end = scopes_.empty() ? tokens_.size() : scopes_.back().close;
    const bool starts = index == 0 || is(index - 1, ";") || is(index - 1, "{") ||
                        is(index - 1, "}") ||
                        (is_directive(index - 1) && !is_directive(index) && begin + 1 >= index);
    if (starts || is_directive(index)) {
      if (starts) begin = index;
      if (is_directive(index)) begin = index + 1;
    }
    if (index == begin) add_stream_type(index);
    if (index == begin && is_word(index)) {
      for (Declaration each : declarations(index, semicolon(index, std::min(end, index + 4096)))) {
        if (!code && is(each.at + 1, "(")) continue;  // a function
        each.local = code;
        each.scope_end = end;
        add(each);
      }
    }
    if (is(index, "{")) enter_block(index, begin);
    const bool loop = is(index, "for") && is(index + 1, "(");
    if (loop && code) add_parameters(index + 1, statement_end(index, end));
  }
}

void DataflowSource::enter_block(size_t open, size_t begin) {
  const bool inside = !scopes_.empty() && scopes_.back().code;
  size_t parameters = kNoPartner;
  bool type = false;
  if (open > 0 && is(open - 1, ")")) parameters = partner_[open - 1];
  for (size_t at = begin; at < open; at = behind(at)) {
    type |= is(at, "struct") || is(at, "class") || is(at, "union") || is(at, "enum") ||
            is(at, "namespace");
    const bool attribute = at > 0 && (is(at - 1, "alignas") || is(at - 1, "__attribute__"));
    if (is(at, "(") && !attribute && parameters == kNoPartner) parameters = at;
  }
  const bool code = parameters != kNoPartner || (inside && !type);
  if (is(begin, "template")) add_template_head(begin, open);
  if (parameters != kNoPartner && parameters < open) {
    const bool control = parameters > 0 && (is(parameters - 1, "for") || is(parameters - 1, "if") ||
                                            is(parameters - 1, "while"));
    if (!control) add_parameters(parameters, partner_[open]);
  }
  if (is(begin, "enum") || (is(begin, "typedef") && is(begin + 1, "enum"))) add_enumerators(open);
  scopes_.push_back({partner_[open], code});
}

// The declarations of a function, or of the head of a for-loop.
void DataflowSource::add_parameters(size_t open, size_t scope_end) {
  const size_t close = partner_[open];
  const bool loop = open > 0 && is(open - 1, "for");
  for (size_t at = open + 1; at < close;) {
    size_t end = at;
    while (end < close && !is(end, ",") && !is(end, ";")) {
      const size_t angle = is_word(end) && is(end + 1, "<") ? behind_angle(end + 1, close) : end;
      end = angle > end + 1 ? angle : behind(end);
    }
    for (Declaration each : declarations(at, loop ? semicolon(at, close) : end)) {
      each.local = true;
      each.stream = false;
      each.constant = false;
      each.scope_end = scope_end;
      add(each);
    }
    if (loop) return;
    at = end + 1;
  }
}

void DataflowSource::add_template_head(size_t begin, size_t open) {
  if (!is(begin + 1, "<")) return;
  const size_t close = behind_angle(begin + 1, open);
  for (size_t at = begin + 2; at < close; ++at) {
    const bool last = is(at + 1, ",") || is(at + 1, "=") || at + 2 == close;
    if (!is_word(at) || !last || !is_word(at - 1)) continue;
    if (is(at - 1, "typename") || is(at - 1, "class")) continue;
    Declaration each;
    each.at = at;
    each.scope_end = partner_[open];
    each.constant = true;
    add(each);
  }
}

// `using words = hls::stream<int>;` or `typedef hls::stream<int> words;`.
void DataflowSource::add_stream_type(size_t begin) {
  const bool alias = is(begin, "using") && is_word(begin + 1) && is(begin + 2, "=");
  if (!alias && !is(begin, "typedef")) return;
  size_t at = begin + (alias ? 3 : 1);
  while ((is_word(at) || is(at, "::")) && !is(at + 1, "<")) ++at;
  if (!is(at, "stream") || !is(at + 1, "<")) return;
  const size_t behind = behind_angle(at + 1, tokens_.size());
  const size_t name = alias ? begin + 1 : behind;
  if (is_word(name) && is(alias ? behind : behind + 1, ";")) stream_types_.insert(spelling(name));
}

void DataflowSource::add_enumerators(size_t open) {
  const size_t end = scopes_.empty() ? tokens_.size() : scopes_.back().close;
  for (size_t at = open + 1; at < partner_[open];) {
    Declaration each;
    each.at = at;
    each.scope_end = end;
    each.constant = true;
    if (is_word(at)) add(each);
    while (at < partner_[open] && !is(at, ",")) at = behind(at);
    ++at;
  }
}

}  // namespace tandem::xclbin
