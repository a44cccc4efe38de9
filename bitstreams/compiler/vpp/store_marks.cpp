// SPDX-License-Identifier: Apache-2.0
//
// Statements are recognised by their form: an element, then an operator that reads and writes it.
#include "bitstreams/compiler/vpp/store_marks.h"

#include <algorithm>
#include <vector>

#include "bitstreams/compiler/dataflow/dataflow_source.h"
#include "bitstreams/compiler/vpp/mark_declarations.h"

namespace tandem::vpp {
namespace {

using xclbin::DataflowSource;

constexpr const char* kStorePrefix =
    R"(extern "C" __attribute__((__nothrow__)) void tandem_stored(const volatile void*, unsigned long);
template <class T> constexpr inline __attribute__((always_inline)) T& tandem_store(T& x) {
  if (!__builtin_is_constant_evaluated()) {
    tandem_stored(&reinterpret_cast<const volatile char&>(x), sizeof(x));
  }
  return x;
}
template <class T> constexpr inline __attribute__((always_inline)) T&& tandem_store(T&& x) {
  return static_cast<T&&>(x);
}
)";

class StoreMarker {
 public:
  explicit StoreMarker(std::string_view text) : text_(text), source_(text) {}

  std::string run() {
    if (source_.empty()) return std::string(text_);
    std::string out;
    size_t done = 0;
    bool is_system = false;
    for (size_t at = 0; at < source_.size(); ++at) {
      if (source_.is_directive(at)) read_marker(source_.spelling(at), is_system);
      if (is_system || !begins_element(at)) continue;
      const size_t end = element_end(at);
      if (end == 0 || !changes(at, end)) continue;
      const size_t from = source_.token(at).begin;
      const size_t to = source_.token(end - 1).end;
      out.append(text_.substr(done, from - done)).append("tandem_store(");
      out.append(text_.substr(from, to - from)).append(")");
      done = to;
      at = end - 1;
    }
    if (done == 0) return std::string(text_);
    return with_declarations(out.append(text_.substr(done)), kStorePrefix);
  }

 private:
  // `# 7 "add.cpp" 2 3`: 3 marks a system header.
  static void read_marker(std::string_view line, bool& is_system) {
    const size_t close = line.rfind('"');
    if (!line.starts_with("# ") || close == std::string_view::npos) return;
    is_system = line.find(" 3", close) != std::string_view::npos;
  }

  bool twice(size_t at, std::string_view sign) const {
    return source_.is(at, sign) && source_.is(at + 1, sign) && source_.touches_next(at);
  }

  // Whether an element that is written may begin at `at`, as far as the token before it tells.
  bool begins_element(size_t at) const {
    if (!source_.is_word(at) && !source_.is(at, "*")) return false;
    size_t before = at;
    if (at >= 3 && (twice(at - 2, "+") || twice(at - 2, "-"))) before = at - 2;
    if (before == 0 || source_.is_directive(before - 1)) return before != 0;
    const std::string_view sign = source_.spelling(before - 1);
    for (const std::string_view allowed : {";", "{", "}", ")", ":", "(", "else", "do"}) {
      if (sign == allowed) return true;
    }
    return false;
  }

  // The token after `a[i].b[j]` or `*a`; 0: there is no such element.
  size_t element_end(size_t at) const {
    const bool pointer = source_.is(at, "*");
    if (pointer) ++at;
    if (!source_.is_word(at)) return 0;
    bool indexed = pointer;
    ++at;
    for (;;) {
      if (source_.is(at, "[")) {
        indexed = true;
        at = source_.partner(at) + 1;
      } else if ((source_.is(at, ".") || source_.is(at, "->")) && source_.is_word(at + 1)) {
        at += 2;
      } else {
        return indexed && !source_.is(at, "(") && !source_.is(at, "::") ? at : 0;
      }
    }
  }

  // Whether the statement reads and writes the element [begin, end). `*p++` changes the pointer.
  bool changes(size_t begin, size_t end) const {
    if (twice(end, "+") || twice(end, "-")) return !source_.is(begin, "*");
    if (begin >= 2 && (twice(begin - 2, "+") || twice(begin - 2, "-"))) return true;
    const bool shifts = (twice(end, "<") || twice(end, ">")) && source_.touches_next(end + 1);
    if (shifts && source_.is(end + 2, "=")) return true;
    for (const std::string_view sign : {"+", "-", "*", "/", "%", "&", "|", "^"}) {
      if (source_.is(end, sign) && source_.touches_next(end) && source_.is(end + 1, "=")) {
        return true;
      }
    }
    if (!source_.is(end, "=") || source_.is(end + 1, "=")) return false;
    const std::string_view name = source_.spelling(source_.is(begin, "*") ? begin + 1 : begin);
    for (size_t at = end + 1; at < source_.size() && !source_.is(at, ";"); ++at) {
      if (source_.is(at, name)) return true;
    }
    return false;
  }

  std::string_view text_;
  DataflowSource source_;
};

}  // namespace

std::string mark_stores(std::string_view preprocessed) { return StoreMarker(preprocessed).run(); }

}  // namespace tandem::vpp
