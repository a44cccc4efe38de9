// SPDX-License-Identifier: Apache-2.0
//
// Words, then statements.
#include "planner/graph/dot_file.h"

#include <algorithm>
#include <string_view>

#include "common/error.h"

namespace tandem::planner {
namespace {

[[noreturn]] void refuse_dot(std::int64_t line, const std::string& what) {
  throw Error("graph-triple", "graph.dot: line " + std::to_string(line) + ": " + what);
}

// Words, quoted words, "->" and single characters of `{};,=[]`.
class DotWords {
 public:
  explicit DotWords(std::string text) : text_(std::move(text)) {}

  std::int64_t line() const { return line_; }
  bool was_quoted() const { return was_quoted_; }

  // Empty at the end.
  std::string next() {
    skip_blanks();
    was_quoted_ = false;
    if (at_ >= text_.size()) return {};
    if (text_[at_] == '"') return quoted();
    if (starts("->")) return taken(2);
    if (is_mark(text_[at_])) return taken(1);
    std::size_t end = at_;
    while (end < text_.size() && !is_blank(text_[end]) && !is_mark(text_[end]) &&
           text_[end] != '"' && text_.compare(end, 2, "->") != 0) {
      ++end;
    }
    return taken(end - at_);
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  static bool is_mark(char c) {
    return std::string_view("{};,=[]").find(c) != std::string_view::npos;
  }
  bool starts(std::string_view what) const { return text_.compare(at_, what.size(), what) == 0; }

  std::string taken(std::size_t count) {
    at_ += count;
    return text_.substr(at_ - count, count);
  }

  void skip_to(std::string_view what) {
    const std::size_t end = std::min(text_.find(what, at_), text_.size());
    while (at_ < end) line_ += text_[at_++] == '\n';
  }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const bool begins_line = at_ == 0 || text_[at_ - 1] == '\n';
      if (starts("//") || (begins_line && text_[at_] == '#')) {
        skip_to("\n");
      } else if (starts("/*")) {
        skip_to("*/");
        at_ = std::min(at_ + 2, text_.size());
      } else if (is_blank(text_[at_])) {
        line_ += text_[at_++] == '\n';
      } else {
        return;
      }
    }
  }

  std::string quoted() {
    was_quoted_ = true;
    std::string word;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\n') refuse_dot(line_, "a quoted name has no end");
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      word += text_[at_];
    }
    if (at_ >= text_.size()) refuse_dot(line_, "a quoted name has no end");
    ++at_;
    if (word.empty()) refuse_dot(line_, "a name is empty");
    return word;
  }

  std::string text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
  bool was_quoted_ = false;
};

class DotReader {
 public:
  DotReader(DotWords words, NamedGraph& graph) : words_(std::move(words)), graph_(graph) { move(); }

  void read() {
    if (is("strict")) move();
    if (!is("digraph")) refuse("the file begins with '" + word_ + "', not with digraph");
    move();
    if (!is("{")) move();
    expect("{");
    while (!is("}")) read_statement();
    move();
    if (!word_.empty()) refuse("'" + word_ + "' follows the end of the graph");
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { refuse_dot(words_.line(), what); }
  // A word or mark of the language; quoted it is a name.
  bool is(std::string_view word) const { return !words_.was_quoted() && word_ == word; }
  void move() {
    word_ = words_.next();
    is_name_ = words_.was_quoted() ||
               (!word_.empty() && word_ != "->" &&
                std::string_view("{};,=[]").find(word_[0]) == std::string_view::npos);
  }
  void expect(const std::string& what) {
    if (!is(what)) {
      refuse("'" + what + "' was expected, not " + (word_.empty() ? "the end" : "'" + word_ + "'"));
    }
    move();
  }

  std::string taken_name() {
    if (!is_name_) {
      refuse("a name was expected, not " + (word_.empty() ? "the end" : "'" + word_ + "'"));
    }
    std::string name = std::move(word_);
    move();
    return name;
  }

  void read_statement() {
    if (is(";")) return move();
    const bool is_word = !words_.was_quoted();
    const std::string name = taken_name();
    if (is_word && name == "subgraph") refuse("subgraphs are not read: list nodes and edges");
    if (is("=")) {  // an attribute of the graph
      move();
      taken_name();
    } else if (is_word && (name == "graph" || name == "node" || name == "edge") && is("[")) {
      skip_attributes();
    } else {
      read_edges(graph_.id_of(name));
    }
    if (is(";")) move();
  }

  void read_edges(int from) {
    while (is("->")) {
      move();
      const int to = graph_.id_of(taken_name());
      OperatorEdge edge;
      edge.from = from;
      edge.to = to;
      graph_.edges.push_back(edge);
      from = to;
    }
    if (is("[")) skip_attributes();
  }

  void skip_attributes() {
    while (!is("]")) {
      if (word_.empty()) refuse("']' is missing");
      move();
    }
    move();
  }

  DotWords words_;
  NamedGraph& graph_;
  std::string word_;
  bool is_name_ = false;
};

}  // namespace

NamedGraph read_dot(std::string text) {
  NamedGraph graph;
  DotReader(DotWords(std::move(text)), graph).read();
  return graph;
}

}  // namespace tandem::planner
