// SPDX-License-Identifier: Apache-2.0
//
// Walks the statements of every region and collects insertions. Existing text never moves.
#include "bitstreams/compiler/dataflow/dataflow.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bitstreams/compiler/dataflow/dataflow_calls.h"
#include "bitstreams/compiler/dataflow/dataflow_depths.h"
#include "bitstreams/compiler/dataflow/dataflow_prefix.h"
#include "bitstreams/compiler/dataflow/dataflow_source.h"
#include "bitstreams/compiler/dataflow/dataflow_uses.h"
#include "bitstreams/compiler/dataflow/hls_pragma.h"

namespace tandem::xclbin {
namespace {

struct Insertion {
  size_t at;
  std::string text;
};

// The regions around a statement, outermost first.
struct OpenRegion {
  std::string name;
  int loops = 0;     // loops of the region around the statement
  int switches = 0;  // switches likewise
  int inner = 0;     // inner blocks with variables likewise
};

class Rewriter {
 public:
  Rewriter(std::string_view text, DataflowNotes& notes)
      : text_(text), source_(text), notes_(notes) {}

  std::string run() {
    if (source_.empty()) return std::string(text_);
    find_pragmas();
    for (size_t open : region_blocks_) {
      if (done_.insert(open).second) region(open);
    }
    // The list grows by what these call.
    for (size_t index = 0; index < inlined_.size(); ++index) {
      if (done_.insert(inlined_[index]).second) region(inlined_[index]);
    }
    for (const size_t index : task_variables_) {
      const size_t semicolon = source_.semicolon(index, source_.size());
      if (semicolon < source_.size()) name_streams(index, semicolon);
    }
    for (DepthStatement& depth : stream_depths(source_, stream_pragmas_, notes_)) {
      insert(depth.at, std::move(depth.text));
    }
    if (insertions_.empty()) return std::string(text_);
    return assemble();
  }

 private:
  std::string_view spelling(size_t index) const { return source_.spelling(index); }
  bool is(size_t index, std::string_view what) const { return source_.is(index, what); }
  bool is_word(size_t index) const { return source_.is_word(index); }
  bool is_directive(size_t index) const { return source_.is_directive(index); }
  size_t partner(size_t index) const { return source_.partner(index); }
  void insert(size_t at, std::string text) { insertions_.push_back({at, std::move(text)}); }

  void find_pragmas() {
    std::vector<size_t> blocks;
    for (size_t index = 0; index < source_.size(); ++index) {
      if (is(index, "{")) blocks.push_back(index);
      if (is(index, "}")) blocks.pop_back();
      // Streams between tasks, which need no region.
      if (is(index, "thread_local") && !blocks.empty() && holds_statements(blocks.back())) {
        task_variables_.push_back(index);
      }
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

  // False for the braces of namespaces, classes and linkage: what has parameters, or names none of
  // these, holds statements.
  bool holds_statements(size_t open) const {
    bool other = false;
    for (size_t index = source_.statement_begin(open); index < open; ++index) {
      if (is(index, "(") && !is(index - 1, "alignas") && !is(index - 1, "__attribute__")) {
        return true;
      }
      for (const char* word : {"namespace", "class", "struct", "union", "enum", "extern"}) {
        other |= is(index, word);
      }
      if (source_.is_opening(index)) index = partner(index);
    }
    return !other;
  }

  void region(size_t open) {
    done_.insert(open);
    const std::string name = "tandem_region_" + std::to_string(++num_regions_);
    insert(source_.token(open).end, " ::tandem_hls::Region " + name + ";");
    regions_.push_back({name});
    const int in_order = in_order_;
    in_order_ = 0;
    size_t last = statements(open + 1, partner(open));
    in_order_ = in_order;
    regions_.pop_back();
    while (is_directive(last)) ++last;
    // Behind a return the end is not reached; a call there would make g++ warn that it may be.
    if (is(last, "return")) return;
    insert(source_.token(partner(open)).begin, name + ".join(); ");
  }

  // Returns where the last one begins.
  size_t statements(size_t begin, size_t end) {
    size_t last = begin;
    while (begin < end) begin = statement(last = begin, end);
    return last;
  }

  // Handles the statement at `at`; returns the token after it, at most `end`.
  size_t statement(size_t at, size_t end) {
    while (at < end && is_directive(at)) ++at;
    if (at >= end) return end;
    if (is(at, "{")) {
      if (is_region(at)) {
        region(at);
      } else {
        inner_block(at);
      }
      return partner(at) + 1;
    }
    if (is_word(at)) {
      const std::string_view word = spelling(at);
      if (word == "for" || word == "while" || word == "do") return loop(at, end);
      if (word == "if" || word == "switch") return controlled(at, end);
      if (word == "try" || word == "else") return statement(at + 1, end);
      if (word == "catch" && is(at + 1, "(")) return statement(partner(at + 1) + 1, end);
      if (word == "case" || word == "default") return behind_colon(at, end);
      if (is(at + 1, ":")) return statement(at + 2, end);
    }
    return simple(at, end);
  }

  bool is_region(size_t open) const {
    return std::binary_search(region_blocks_.begin(), region_blocks_.end(), open);
  }

  // Processes do not outlive the variables of a block.
  void inner_block(size_t open) {
    bool declares = false;
    for (size_t at = open + 1; at < partner(open) && !declares;) {
      const size_t end = source_.statement_end(at, partner(open));
      while (at < end && is_directive(at)) ++at;
      declares = at < end && !source_.declarations(at, end - 1).empty();
      at = end;
    }
    const size_t level = regions_.size() - 1;
    regions_[level].inner += declares ? 1 : 0;
    statements(open + 1, partner(open));
    regions_[level].inner -= declares ? 1 : 0;
    if (!declares || in_order_ > 0) return;
    insert(source_.token(partner(open)).begin, regions_[level].name + ".join(); ");
  }

  enum class LoopKind { kUnrolled, kOneProcess, kInOrder };

  // Unrolled loops, and those around a region, stay; one that leaves the function cannot be a
  // process: its calls run in order, after all started processes.
  LoopKind kind_of_loop(size_t at, size_t end) const {
    bool leaves = false;
    size_t depth = 0;
    for (size_t token = at; token < end; ++token) {
      if (is(token, "{")) {
        if (is_region(token)) return LoopKind::kUnrolled;
        ++depth;
      }
      if (is(token, "}")) --depth;
      leaves |= is(token, "return") || is(token, "goto");
      if (!is_directive(token) || depth > 1) continue;
      if (parse_hls_pragma(spelling(token)).kind == "unroll") return LoopKind::kUnrolled;
    }
    return leaves ? LoopKind::kInOrder : LoopKind::kOneProcess;
  }

  size_t loop(size_t at, size_t end) {
    const size_t next = source_.statement_end(at, end);
    if (in_order_ > 0) return loop_statement(at, end);
    const LoopKind kind = kind_of_loop(at, next);
    if (kind == LoopKind::kUnrolled) {
      const size_t before = counters_.size();
      add_counter(at);
      const size_t behind = loop_statement(at, end);
      counters_.resize(before);
      return behind;
    }
    const std::string& name = regions_.back().name;
    if (kind == LoopKind::kInOrder) {
      insert(source_.token(at).begin, "{ " + name + ".join(); ");
    } else {
      insert(source_.token(at).begin,
             name + ".start(\"" + loop_name(source_, at, next) + "\", " + capture() + "{ ");
    }
    ++in_order_;
    loop_statement(at, next);
    --in_order_;
    insert(source_.token(next - 1).end,
           kind == LoopKind::kInOrder ? " }" : " }" + loop_uses(source_, at, next) + ");");
    return next;
  }

  size_t loop_statement(size_t at, size_t end) {
    return is(at, "do") ? do_loop(at, end) : controlled(at, end);
  }

  // The counter of an unrolled loop: it changes before a waiting process begins.
  void add_counter(size_t at) {
    if (!is(at, "for")) return;
    const size_t head = at + 2, end = source_.semicolon(head, partner(at + 1));
    for (const Declaration& each : source_.declarations(head, end)) {
      const bool value = !is(each.at - 1, "&") && is(each.at + 1, "=");
      if (value && end < partner(at + 1)) counters_.emplace_back(spelling(each.at));
    }
    const Declaration* const known = source_.find(spelling(head), head);
    const bool local = known != nullptr && known->local && !is(known->at - 1, "&");
    if (is_word(head) && is(head + 1, "=") && local) counters_.emplace_back(spelling(head));
  }

  std::string capture() const {
    if (counters_.empty()) return "[&] ";
    std::string out = "[&";
    for (size_t index = 0; index < counters_.size(); ++index) {
      const auto end = counters_.begin() + static_cast<std::ptrdiff_t>(index);
      if (std::find(counters_.begin(), end, counters_[index]) == end)
        out += ", " + counters_[index];
    }
    return out + "]() mutable ";
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
    size_t next = statement(partner(head) + 1, end);
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
    return std::min(source_.semicolon(next, end) + 1, end);
  }

  size_t behind_colon(size_t at, size_t end) {
    while (at < end && !is(at, ":")) at = source_.behind(at);
    return std::min(at + 1, end);
  }

  size_t simple(size_t at, size_t end) {
    const size_t semicolon = source_.semicolon(at, end);
    if (semicolon >= end) return end;
    size_t open = 0;
    const std::string callee = called_function(source_, at, semicolon, open);
    if (is(at, "return")) {
      std::string joins;
      for (auto open = regions_.rbegin(); open != regions_.rend(); ++open) {
        joins += open->name + ".join(); ";
      }
      wrap(at, semicolon, "{ " + joins, " }");
    } else if (is(at, "break") || is(at, "continue")) {
      const OpenRegion& around = regions_.back();
      const bool leaves = around.loops == 0 && (is(at, "continue") || around.switches == 0);
      const bool variables = around.inner > 0 && in_order_ == 0;
      if (leaves || variables) wrap(at, semicolon, "{ " + around.name + ".join(); ", " }");
    } else if (!callee.empty()) {
      if (in_order_ > 0) return semicolon + 1;
      find_inlined(callee);
      const std::string classes = new_classes(source_, at, open);
      const std::string start = regions_.back().name + ".start(\"" + callee + "\", " + capture();
      wrap(at, semicolon, (classes.empty() ? "" : "{ " + classes) + start + "{ ",
           " }" + call_uses(source_, at, open, semicolon) + (classes.empty() ? ");" : "); }"));
    } else {
      name_streams(at, semicolon);
    }
    return semicolon + 1;
  }

  // The calls of an inlined function are processes of the region that calls it.
  void find_inlined(const std::string& callee) {
    const auto [first, last] = inline_bodies_.equal_range(callee.substr(callee.rfind(':') + 1));
    for (auto each = first; each != last; ++each) inlined_.push_back(each->second);
  }

  void wrap(size_t first, size_t last, std::string before, std::string after) {
    insert(source_.token(first).begin, std::move(before));
    insert(source_.token(last).end, std::move(after));
  }

  // Streams declared without a name get the variable's, for messages:
  // `[static] [hls::]stream<...> a, b[2];`
  void name_streams(size_t at, size_t semicolon) {
    while (is(at, "static") || is(at, "thread_local") || is_directive(at)) ++at;
    if (is(at, "::")) ++at;
    if (is(at, "hls") && is(at + 1, "::")) at += 2;
    if (!is(at, "stream") || !is(at + 1, "<")) return;
    at = source_.behind_angle(at + 1, semicolon);
    std::string calls;
    while (at < semicolon && is_word(at)) {
      const std::string name(spelling(at++));
      while (is(at, "[")) at = partner(at) + 1;
      if (!is(at, ",") && !is(at, ";")) return;
      calls += " ::tandem_hls::stream_name(" + name + ", \"" + name + "\");";
      if (at < semicolon) ++at;
    }
    if (!named_.insert(semicolon).second) return;
    if (!calls.empty()) insert(source_.token(semicolon).end, calls);
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
  DataflowSource source_;
  DataflowNotes& notes_;
  std::vector<size_t> region_blocks_;  // sorted
  std::vector<size_t> stream_pragmas_;
  const std::multimap<std::string, size_t> inline_bodies_ = inline_bodies(source_);
  std::vector<size_t> inlined_;  // bodies that regions call
  std::vector<size_t> task_variables_;
  std::set<size_t> named_;  // semicolons of streams with names
  std::set<size_t> done_;
  std::vector<OpenRegion> regions_;
  std::vector<std::string> counters_;  // counters of the enclosing unrolled loops
  std::vector<Insertion> insertions_;
  int in_order_ = 0;  // number of enclosing loops whose calls are not processes
  int num_regions_ = 0;
};

}  // namespace

std::string rewrite_dataflow(std::string_view preprocessed, DataflowNotes* notes) {
  DataflowNotes unwanted;
  return Rewriter(preprocessed, notes != nullptr ? *notes : unwanted).run();
}

}  // namespace tandem::xclbin
