// SPDX-License-Identifier: Apache-2.0
//
// One pass over the tokens of the text.
#include "bitstreams/compiler/opencl_c/source_rewriter.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "common/error.h"

namespace tandem::opencl_c {
namespace {

bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

bool is_vendor_attribute(const std::string& name) {
  static const std::set<std::string> kHints = {"opencl_unroll_hint", "nounroll"};
  return name.starts_with("xcl_") || name.starts_with("__xcl_") || kHints.contains(name);
}

class Rewriter {
 public:
  Rewriter(const std::string& text, const std::string& file) : file_(file) { result_.text = text; }

  RewrittenSource run() {
    while (at_ < text().size()) {
      const char c = text()[at_];
      if (c == '#' && at_line_start()) {
        at_ = std::min(text().find('\n', at_), text().size());
      } else if (c == '"' || c == '\'') {
        skip_quoted();
      } else if (starts_word(c)) {
        word(read_word());
      } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
        while (at_ < text().size() && (in_word(text()[at_]) || text()[at_] == '.')) ++at_;
      } else {
        if (c == '{') ++depth_;
        if (c == '}') --depth_;
        ++at_;
      }
    }
    place_hints();
    return std::move(result_);
  }

 private:
  std::string& text() { return result_.text; }

  bool at_line_start() {
    size_t at = at_;
    while (at > 0 && (text()[at - 1] == ' ' || text()[at - 1] == '\t')) --at;
    return at == 0 || text()[at - 1] == '\n';
  }

  void skip_quoted() {
    const char quote = text()[at_++];
    while (at_ < text().size() && text()[at_] != quote && text()[at_] != '\n') {
      at_ += text()[at_] == '\\' ? 2 : 1;
    }
    at_ = std::min(at_ + 1, text().size());
  }

  std::string read_word() {
    const size_t begin = at_;
    while (at_ < text().size() && in_word(text()[at_])) ++at_;
    return text().substr(begin, at_ - begin);
  }

  size_t after_space(size_t at) {
    while (at < text().size() && is_space(text()[at])) ++at;
    return at;
  }

  // The position after the parenthesis that closes the one at `open`.
  size_t close_of(size_t open) {
    int depth = 0;
    for (size_t at = open; at < text().size(); ++at) {
      if (text()[at] == '(') ++depth;
      if (text()[at] == ')' && --depth == 0) return at + 1;
    }
    throw Error("opencl_c", file_ + ": an attribute has no closing parenthesis");
  }

  void blank(size_t begin, size_t end) {
    for (size_t at = begin; at < end; ++at) {
      if (text()[at] != '\n') text()[at] = ' ';
    }
  }

  void word(const std::string& name) {
    if (name == "__attribute__" || name == "__attribute") {
      attribute(at_ - name.size());
    } else if (depth_ == 0 && (name == "pipe" || name == "__pipe")) {
      pipe(at_ - name.size());
    } else if (name.starts_with("convert_")) {
      result_.conversions.insert(name);
    } else if (pending_group_[0] != 0 && depth_ == 0 && text()[after_space(at_)] == '(') {
      result_.maximum_groups[name] = pending_group_;
      pending_group_ = {0, 0, 0};
    }
  }

  // __attribute__((a, b(1))): the vendor's are blanked, and with all of them the whole.
  void attribute(size_t begin) {
    const size_t open = after_space(at_);
    if (open >= text().size() || text()[open] != '(') return;
    const size_t end = close_of(open);
    const size_t inner = after_space(open + 1);
    at_ = end;
    if (text()[inner] != '(') return;
    const size_t inner_end = close_of(inner) - 1;
    bool all = true;
    std::vector<std::pair<size_t, size_t>> vendors;
    for (size_t item = inner + 1; item < inner_end;) {
      const size_t item_end = end_of_item(item, inner_end);
      const size_t name_begin = after_space(item);
      at_ = name_begin;
      const std::string name = name_begin < item_end ? read_word() : "";
      if (is_vendor_attribute(name)) {
        remember(name, at_, item_end);
        vendors.emplace_back(item, std::min(item_end + 1, inner_end));
      } else if (!name.empty()) {
        all = false;
      }
      item = item_end + 1;
    }
    at_ = end;
    if (vendors.empty()) return;
    if (all) {
      blank(begin, end);
      return;
    }
    for (const auto& [from, to] : vendors) blank(from, to);
  }

  // The comma that ends the attribute at `item`, or `limit`.
  size_t end_of_item(size_t item, size_t limit) {
    for (size_t at = item; at < limit; ++at) {
      if (text()[at] == ',') return at;
      if (text()[at] == '(') at = close_of(at) - 1;
    }
    return limit;
  }

  void remember(const std::string& name, size_t begin, size_t end) {
    std::vector<std::uint32_t> values;
    for (size_t at = begin; at < end;) {
      if (std::isdigit(static_cast<unsigned char>(text()[at])) == 0) {
        ++at;
        continue;
      }
      char* after = nullptr;
      values.push_back(static_cast<std::uint32_t>(std::strtoul(text().c_str() + at, &after, 0)));
      at = static_cast<size_t>(after - text().c_str());
    }
    if (name == "xcl_max_work_group_size") {
      for (size_t index = 0; index < std::min<size_t>(values.size(), 3); ++index) {
        pending_group_[index] = values[index];
      }
    } else if (name == "xcl_reqd_pipe_depth" && !values.empty()) {
      pipe_depth_ = values[0];
    } else if (name == "xcl_pipeline_loop" || name == "opencl_unroll_hint") {
      note_hint({name, "", values, "", "", 0}, end);
    } else if (name == "xcl_array_partition" || name == "xcl_array_reshape") {
      size_t at = text().find_first_not_of("( ", begin);
      size_t last = at;
      while (last < end && in_word(text()[last])) ++last;
      note_hint({name, text().substr(at, last - at), values, variable_before(begin), "", 0}, end);
    }
  }

  void note_hint(TimeHint hint, size_t end) {
    result_.hints.push_back(std::move(hint));
    hint_ends_.push_back(end);
  }

  // "a" of `a[4][2] __attribute__((`, before the attribute that contains `at`.
  std::string variable_before(size_t at) {
    at = text().rfind("__attribute", at);
    while (at != std::string::npos && at > 0) {
      const char c = text()[at - 1];
      if (c == ']') {
        at = text().rfind('[', at - 1);
      } else if (is_space(c)) {
        --at;
      } else {
        break;
      }
    }
    if (at == std::string::npos) return "";
    size_t begin = at;
    while (begin > 0 && in_word(text()[begin - 1])) --begin;
    return text().substr(begin, at - begin);
  }

  // Blanks keep positions, and a pipe keeps its lines, so a hint's end is on the line that it had.
  // The word that begins the loop follows it.
  void place_hints() {
    size_t next = 0, line_begin = 0;
    std::string file = file_;
    int line = 0;
    while (next < hint_ends_.size() && line_begin < text().size()) {
      const size_t line_end = std::min(text().find('\n', line_begin), text().size());
      const std::string_view whole(text().data() + line_begin, line_end - line_begin);
      ++line;
      if (whole.starts_with("# ")) {
        line = std::atoi(whole.data() + 2) - 1;
        const size_t quote = whole.find('"');
        if (quote != std::string_view::npos) {
          file = whole.substr(quote + 1, whole.rfind('"') - quote - 1);
        }
      }
      for (; next < hint_ends_.size() && hint_ends_[next] < line_end; ++next) {
        result_.hints[next].file = file;
        result_.hints[next].line = line + lines_to_loop(hint_ends_[next]);
      }
      line_begin = line_end + 1;
    }
  }

  int lines_to_loop(size_t from) const {
    int lines = 0;
    for (size_t at = from; at < result_.text.size(); ++at) {
      const char c = result_.text[at];
      if (c == '\n') ++lines;
      if (!starts_word(c)) continue;
      size_t end = at;
      while (end < result_.text.size() && in_word(result_.text[end])) ++end;
      const std::string_view word(result_.text.data() + at, end - at);
      if (word == "for" || word == "while" || word == "do") return lines;
      at = end - 1;
    }
    return 0;
  }

  // "pipe T a [attributes], b;" becomes "typedef T tandem_pipe_type_0; ...", on the same line.
  void pipe(size_t begin) {
    const size_t end = text().find(';', at_);
    const size_t brace = text().find_first_of("{()", at_);
    // A parenthesis that is not an attribute's belongs to a function with a pipe parameter.
    if (end == std::string::npos) return;
    pipe_depth_ = 0;
    const size_t first_attribute = text().find("__attribute", at_);
    if (brace < end && (first_attribute == std::string::npos || brace < first_attribute)) return;
    const size_t word_begin = at_;
    while (true) {
      const size_t found = text().find("__attribute", at_);
      if (found == std::string::npos || found > end) break;
      at_ = found;
      read_word();
      attribute(found);
    }
    at_ = end + 1;
    declare_pipe(begin, word_begin, end);
  }

  void declare_pipe(size_t begin, size_t word_begin, size_t end) {
    std::string declaration = text().substr(word_begin, end - word_begin);
    while (!declaration.empty() && is_space(declaration.back())) declaration.pop_back();
    size_t name_begin = declaration.size();
    while (name_begin > 0 && in_word(declaration[name_begin - 1])) --name_begin;
    const std::string name = declaration.substr(name_begin);
    std::string type = declaration.substr(0, name_begin);
    std::replace(type.begin(), type.end(), '\n', ' ');
    if (name.empty() || type.find_first_not_of(' ') == std::string::npos ||
        type.find_first_of(",*") != std::string::npos) {
      throw Error("opencl_c", file_ +
                                  ": a pipe is declared as 'pipe type name', one at a time, not '" +
                                  text().substr(begin, end - begin) + "'");
    }
    const std::string number = std::to_string(result_.pipes.size());
    const auto lines = static_cast<size_t>(std::count(
        text().begin() + static_cast<long>(begin), text().begin() + static_cast<long>(end), '\n'));
    const std::string replacement = "__constant uint tandem_cl_pipe_bytes_" + number +
                                    " = sizeof(" + type + "); enum { " + name + " = " + number +
                                    " };" + std::string(lines, '\n');
    result_.pipes.push_back({name, pipe_depth_});
    text().replace(begin, end + 1 - begin, replacement);
    at_ = begin + replacement.size();
  }

  const std::string& file_;
  RewrittenSource result_;
  std::vector<size_t> hint_ends_;  // positions
  size_t at_ = 0;
  int depth_ = 0;
  std::uint32_t pipe_depth_ = 0;
  std::array<std::uint32_t, 3> pending_group_ = {0, 0, 0};
};

}  // namespace

RewrittenSource rewrite_source(const std::string& text, const std::string& file) {
  return Rewriter(text, file).run();
}

std::string without_header(const std::string& text, const std::string& header) {
  std::string kept;
  bool inside = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.starts_with("# ")) {
      inside = line.find("/" + header + "\"") != std::string::npos;
      // The inclusion flags of the marker would no longer be correct.
      const size_t quote = line.rfind('"');
      if (quote != std::string::npos) line.resize(quote + 1);
    }
    if (!inside) kept += line + "\n";
    begin = end + 1;
  }
  return kept;
}

std::string define_conversions(const std::set<std::string>& names, const std::string& file) {
  std::string definitions;
  for (const std::string& name : names) {
    // convert_<type>[width][_sat][_mode]
    const std::string rest = name.substr(8);
    size_t letters = 0;
    while (letters < rest.size() && std::isalpha(static_cast<unsigned char>(rest[letters])) != 0)
      ++letters;
    const std::string type = rest.substr(0, letters);
    size_t digits = letters;
    while (digits < rest.size() && std::isdigit(static_cast<unsigned char>(rest[digits])) != 0)
      ++digits;
    const std::string width = digits == letters ? "1" : rest.substr(letters, digits - letters);
    std::string ending = rest.substr(digits);
    const bool saturates = ending.starts_with("_sat");
    if (saturates) ending = ending.substr(4);
    static const std::set<std::string> kIntegers = {"char", "uchar", "short", "ushort",
                                                    "int",  "uint",  "long",  "ulong"};
    static const std::set<std::string> kWidths = {"1", "2", "3", "4", "8", "16"};
    static const std::set<std::string> kModes = {"", "_rte", "_rtz", "_rtp", "_rtn"};
    const bool integer = kIntegers.contains(type);
    const bool real = type == "float" || type == "double";
    if ((!integer && !real) || !kWidths.contains(width) || !kModes.contains(ending)) continue;
    if (real && (saturates || (!ending.empty() && ending != "_rte"))) {
      throw Error("opencl_c", file + ": " + name + " is not supported: conversions to " + type +
                                  " round to nearest");
    }
    // The scalar helper is named too: a vector form is made of elements, not of it.
    definitions += "TANDEM_CONVERT_" + width + "(" + name + ", " + type + ", " +
                   (saturates ? "tandem_sat_" + type : "(" + type + ")") + ", tandem_round" +
                   (real ? "" : ending) + ")\n";
  }
  return definitions;
}

}  // namespace tandem::opencl_c
