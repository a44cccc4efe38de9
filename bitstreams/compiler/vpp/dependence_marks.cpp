// SPDX-License-Identifier: Apache-2.0
//
// A loop gets an object whose scope is the loop: `if (object) {} else for (...) ...`. So labels,
// branches without braces, break and return need no care.
#include "bitstreams/compiler/vpp/dependence_marks.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <vector>

#include "bitstreams/compiler/dataflow/dataflow_source.h"
#include "bitstreams/compiler/dataflow/hls_pragma.h"
#include "bitstreams/compiler/vpp/mark_declarations.h"
#include "common/lower_case.h"

namespace tandem::vpp {
namespace {

using xclbin::DataflowSource;
using xclbin::HlsPragma;

// The bits are those of the card's dependence_watch.h.
constexpr unsigned kRaw = 1, kWar = 2, kWaw = 4, kInside = 8;

// What the insertions use. tandem_dependence_...: see the card's kernel_calls.cpp.
constexpr const char* kLoopPrefix = R"(extern "C" void tandem_dependence_begin(void*);
extern "C" void tandem_dependence_turn(void*);
extern "C" void tandem_dependence_end(void*);
extern "C" void tandem_dependence_claim(void*, const volatile void*, unsigned long, const char*,
                                        const char*, int, unsigned, unsigned);
template <class T> struct tandem_extent {
  static const volatile void* at(T& x) { return &reinterpret_cast<const volatile char&>(x); }
  static constexpr unsigned long bytes = sizeof(T);
};
template <class T> struct tandem_extent<T*> {
  static const volatile void* at(T* x) { return x; }
  static constexpr unsigned long bytes = 0;
};
template <class T> struct tandem_extent<T* const> : tandem_extent<T*> {};
template <class T> struct tandem_extent<T* __restrict> : tandem_extent<T*> {};
template <class T> struct tandem_extent<T* const __restrict> : tandem_extent<T*> {};
struct tandem_dependence_loop {
  tandem_dependence_loop() { tandem_dependence_begin(this); }
  ~tandem_dependence_loop() { tandem_dependence_end(this); }
  operator bool() const { return false; }
  template <class T> void claim(T& x, const char* name, const char* file, int line, unsigned kinds,
                                unsigned distance) {
    tandem_dependence_claim(this, tandem_extent<T>::at(x), tandem_extent<T>::bytes, name, file,
                            line, kinds, distance);
  }
};
)";

struct Claim {
  std::string variable;
  unsigned kinds = 0;
  int distance = 0;  // 0: no dependence at all
};

bool has_word(const HlsPragma& pragma, const std::string& word) {
  return std::any_of(pragma.options.begin(), pragma.options.end(), [&word](const auto& option) {
    const std::string name = lower_case(option.first);
    return name == word || (name != "variable" && lower_case(option.second) == word);
  });
}

bool is_expression(const std::string& text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || std::string_view("_.->[]:").find(c) != std::string::npos;
         });
}

// kinds 0: nothing that a run could disprove.
Claim claim_of(const HlsPragma& pragma) {
  Claim claim;
  claim.variable = pragma.value("variable");
  if (pragma.kind != "dependence" || !is_expression(claim.variable)) return claim;
  const bool none = has_word(pragma, "false");
  claim.distance = none ? 0 : std::atoi(pragma.value("distance").c_str());
  if (!none && claim.distance <= 1) return claim;
  const bool one = has_word(pragma, "raw") || has_word(pragma, "war") || has_word(pragma, "waw");
  if (!one || has_word(pragma, "raw")) claim.kinds |= kRaw;
  if (!one || has_word(pragma, "war")) claim.kinds |= kWar;
  if (!one || has_word(pragma, "waw")) claim.kinds |= kWaw;
  if (!has_word(pragma, "intra")) return claim;
  // Inside an iteration the data itself often orders a write after a read, or two writes of parts.
  claim.kinds &= one ? kRaw | kWaw : kRaw;
  claim.kinds = none && claim.kinds != 0 ? claim.kinds | kInside : 0;
  return claim;
}

class DependenceMarker {
 public:
  explicit DependenceMarker(std::string_view text) : text_(text), source_(text) {}

  std::string run() {
    if (source_.empty()) return std::string(text_);
    for (size_t at = 0; at < source_.size(); ++at) {
      if (source_.is_directive(at)) read_pragma(at);
    }
    if (loops_.empty()) return std::string(text_);
    return with_declarations(with_insertions(), kLoopPrefix);
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  struct Insertion {
    size_t offset;
    std::string text;
  };

  void read_pragma(size_t at) {
    const Claim claim = claim_of(xclbin::parse_hls_pragma(source_.spelling(at)));
    if (claim.kinds == 0) return;
    size_t block = block_around(at);
    for (; block != kNone; block = block_around(block)) {
      if (loop_of(block) != kNone) return add_claim(block, at, behind_directives(at), claim);
      if (is_function(block)) break;
    }
    if (block == kNone) return;
    for (const size_t inner : innermost_loops(at, source_.partner(block))) {
      add_claim(inner, at, inner + 1, claim);
    }
  }

  // The opening brace of the block around a token.
  size_t block_around(size_t at) const {
    while (at > 0) {
      --at;
      if (source_.is_closing(at)) {
        at = source_.partner(at);
      } else if (source_.is(at, "{")) {
        return at;
      }
    }
    return kNone;
  }

  // The `for`, `while` or `do` of the loop whose body begins at `block`.
  size_t loop_of(size_t block) const {
    if (block == 0) return kNone;
    size_t before = block - 1;
    while (before > 0 && source_.is_directive(before)) --before;
    if (source_.is(before, "do")) return before;
    if (!source_.is(before, ")")) return kNone;
    const size_t open = source_.partner(before);
    if (open == 0) return kNone;
    return source_.is(open - 1, "for") || source_.is(open - 1, "while") ? open - 1 : kNone;
  }

  bool is_function(size_t block) const {
    if (block == 0 || !source_.is(block - 1, ")")) return false;
    const size_t open = source_.partner(block - 1);
    return open > 0 && !source_.is(open - 1, "if") && !source_.is(open - 1, "switch");
  }

  std::vector<size_t> innermost_loops(size_t begin, size_t end) const {
    std::vector<size_t> found;
    for (size_t at = begin; at < end; ++at) {
      if (!source_.is(at, "{") || loop_of(at) == kNone) continue;
      const bool has_inner = !innermost_loops(at + 1, source_.partner(at)).empty();
      if (!has_inner) found.push_back(at);
    }
    return found;
  }

  size_t behind_directives(size_t at) const {
    while (at < source_.size() && source_.is_directive(at)) ++at;
    return at;
  }

  // `where`: the token before which the claim is made.
  void add_claim(size_t block, size_t pragma, size_t where, const Claim& claim) {
    const auto [known, is_new] = loops_.try_emplace(block, loops_.size());
    const std::string object = "tandem_loop_" + std::to_string(known->second);
    if (is_new) {
      insert(loop_of(block), "if (tandem_dependence_loop " + object + "{}) {} else ");
      insert(block + 1, "tandem_dependence_turn(&" + object + "); ");
    }
    where = behind_directives(where);
    const size_t from = source_.token(pragma).begin;
    const size_t to = source_.token(where).begin;
    const auto lines =
        std::count(text_.begin() + static_cast<std::ptrdiff_t>(std::min(from, to)),
                   text_.begin() + static_cast<std::ptrdiff_t>(std::max(from, to)), '\n');
    insert(where, object + ".claim(" + claim.variable + ", \"" + claim.variable +
                      "\", __builtin_FILE(), __builtin_LINE() - " + std::to_string(lines) + ", " +
                      std::to_string(claim.kinds) + ", " + std::to_string(claim.distance) + "); ");
  }

  void insert(size_t before, std::string text) {
    before = behind_directives(before);
    insertions_.push_back({source_.token(before).begin, std::move(text)});
  }

  std::string with_insertions() {
    std::stable_sort(insertions_.begin(), insertions_.end(),
                     [](const Insertion& a, const Insertion& b) { return a.offset < b.offset; });
    std::string out;
    size_t done = 0;
    for (const Insertion& each : insertions_) {
      out.append(text_.substr(done, each.offset - done)).append(each.text);
      done = each.offset;
    }
    return out.append(text_.substr(done));
  }

  std::string_view text_;
  DataflowSource source_;
  std::map<size_t, size_t> loops_;  // number of each marked loop, by the brace of its body
  std::vector<Insertion> insertions_;
};

}  // namespace

std::string mark_dependences(std::string_view preprocessed) {
  // Most kernels have no such pragma, and their text is long.
  if (lower_case(std::string(preprocessed)).find("dependence") == std::string::npos) {
    return std::string(preprocessed);
  }
  return DependenceMarker(preprocessed).run();
}

}  // namespace tandem::vpp
