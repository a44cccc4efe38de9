// SPDX-License-Identifier: Apache-2.0
//
// One pass over the expression, which knows whether it is within a character class.
#include "model/tokenizer/oniguruma_expression.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/error.h"

namespace tandem::model {
namespace {

class Translation {
 public:
  explicit Translation(std::string_view expression) : in_(expression) {}

  std::string run() {
    for (; at_ < in_.size(); ++at_) {
      const std::string_view rest = in_.substr(at_);
      if (rest[0] == '\\' && rest.size() > 1) {
        ++at_;
        take_escape(in_[at_]);
      } else if (in_class_) {
        take_in_class(rest);
      } else {
        if (rest[0] == '(') check_group(rest);
        if (rest[0] == '[') in_class_ = true;
        out_ += rest[0];
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] static void fail(const std::string& what) {
    throw Error("tokenizer", "pre-tokenizer expression: " + what);
  }

  void take_escape(char escaped) {
    static constexpr std::string_view kSame = "dDnrtf";
    const bool is_word = (escaped >= '0' && escaped <= '9') || (escaped >= 'a' && escaped <= 'z') ||
                         (escaped >= 'A' && escaped <= 'Z');
    const std::string_view rest = in_.substr(at_);
    const bool has_braces =
        rest.starts_with("x{") || rest.starts_with("p{") || rest.starts_with("P{");
    if (escaped == 's') {
      out_ += in_class_ ? TANDEM_SPACE : "[" TANDEM_SPACE "]";
    } else if (escaped == 'S' && !in_class_) {
      out_ += "[^" TANDEM_SPACE "]";
    } else if (escaped == 'h') {  // a hexadecimal digit
      out_ += in_class_ ? "0-9a-fA-F" : "[0-9a-fA-F]";
    } else if (escaped == 'H' && !in_class_) {
      out_ += "[^0-9a-fA-F]";
    } else if (!is_word || kSame.find(escaped) != std::string_view::npos || has_braces) {
      out_ += {'\\', escaped};
    } else {
      fail(std::string("the escape \\") + escaped + " is not supported" +
           (in_class_ ? " within a character class" : ""));
    }
  }

  void take_in_class(std::string_view rest) {
    if (rest.starts_with("[:")) {
      const std::size_t end = std::min(rest.find(":]"), rest.size());
      out_ += rest.substr(0, end);
      at_ += end - 1;
      return;
    }
    if (rest[0] == '[') fail("classes within a character class are not supported");
    if (rest.starts_with("&&")) {
      fail("intersections within a character class are not supported");
    }
    if (rest[0] == ']') in_class_ = false;
    out_ += rest[0];
  }

  // Options that hold to the end of a group end elsewhere there, but for one at the very start.
  void check_group(std::string_view rest) const {
    static constexpr std::string_view kKnown[] = {
        "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:"};
    if (rest.size() > 1 && rest[1] != '?' && rest[1] != '*') return;
    const bool is_known =
        std::any_of(std::begin(kKnown), std::end(kKnown),
                    [&](std::string_view known) { return rest.starts_with(known); });
    if (is_known || (at_ == 0 && rest.starts_with("(?i)"))) return;
    fail("groups that begin with '" + std::string(rest.substr(0, 3)) + "' are not supported");
  }

  std::string_view in_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  std::string out_;
};

}  // namespace

std::string translated_expression(std::string_view oniguruma) {
  return Translation(oniguruma).run();
}

}  // namespace tandem::model
