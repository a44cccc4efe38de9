// SPDX-License-Identifier: Apache-2.0
//
// The object at the begin of a function ends the claims when the function is left.
#include "bitstreams/compiler/vpp/restrict_marks.h"

#include <vector>

#include "bitstreams/compiler/dataflow/dataflow_source.h"
#include "bitstreams/compiler/vpp/mark_declarations.h"

namespace tandem::vpp {
namespace {

using xclbin::DataflowSource;

constexpr const char* kRestrictPrefix = R"(
extern "C" void tandem_restricted(void*, const volatile void*, const volatile void*, const char*,
                                  const char*, int);
extern "C" void tandem_restrict_end(void*);
struct tandem_restrict_scope {
  ~tandem_restrict_scope() { tandem_restrict_end(this); }
};
)";

class RestrictMarker {
 public:
  explicit RestrictMarker(std::string_view text) : text_(text), source_(text) {}

  std::string run() {
    std::string out;
    size_t done = 0;
    bool is_system = false;
    for (size_t at = 0; !source_.empty() && at < source_.size(); ++at) {
      if (source_.is_directive(at)) read_origin(source_.spelling(at), is_system);
      if (is_system || !begins_function(at)) continue;
      const std::string calls = calls_for(parameters(source_.partner(at - 1), at - 1));
      if (calls.empty()) continue;
      const size_t behind = source_.token(at).end;
      out.append(text_.substr(done, behind - done)).append(calls);
      done = behind;
    }
    if (done == 0) return std::string(text_);
    return with_declarations(out.append(text_.substr(done)), kRestrictPrefix);
  }

 private:
  // `# 7 "add.cpp" 2 3`: 3 marks a system header.
  static void read_origin(std::string_view line, bool& is_system) {
    const size_t close = line.rfind('"');
    if (!line.starts_with("# ") || close == std::string_view::npos) return;
    is_system = line.find(" 3", close) != std::string_view::npos;
  }

  bool begins_function(size_t at) const {
    if (at < 3 || !source_.is(at, "{") || !source_.is(at - 1, ")")) return false;
    const size_t open = source_.partner(at - 1);
    if (open == 0 || !source_.is_word(open - 1)) return false;
    for (const std::string_view word : {"if", "for", "while", "switch", "catch"}) {
      if (source_.is(open - 1, word)) return false;
    }
    return true;
  }

  // The names of the `__restrict` pointers.
  std::vector<std::string> parameters(size_t open, size_t close) const {
    std::vector<std::string> names;
    bool is_restricted = false;
    std::string name;
    for (size_t at = open + 1; at <= close; at = source_.behind(at)) {
      if (source_.is(at, ",") || at == close) {
        if (is_restricted && !name.empty()) names.push_back(name);
        is_restricted = false;
        name.clear();
        if (at == close) break;
      } else if (source_.is(at, "__restrict") || source_.is(at, "__restrict__")) {
        is_restricted = true;
      } else if (is_restricted && source_.is_word(at)) {
        name = source_.spelling(at);
      }
    }
    return names;
  }

  static std::string calls_for(const std::vector<std::string>& names) {
    std::string calls;
    for (size_t first = 0; first < names.size(); ++first) {
      for (size_t second = first + 1; second < names.size(); ++second) {
        calls += " tandem_restricted(&tandem_restricts, " + names[first] + ", " + names[second] +
                 ", \"" + names[first] + "' and '" + names[second] +
                 "\", __builtin_FILE(), __builtin_LINE());";
      }
    }
    return calls.empty() ? calls : " tandem_restrict_scope tandem_restricts;" + calls;
  }

  std::string_view text_;
  DataflowSource source_;
};

}  // namespace

std::string mark_restricts(std::string_view preprocessed) {
  return RestrictMarker(preprocessed).run();
}

}  // namespace tandem::vpp
