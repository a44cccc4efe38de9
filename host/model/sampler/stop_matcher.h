// SPDX-License-Identifier: Apache-2.0
//
// StopMatcher: finds stop texts in text that comes in pieces. It holds back text that may become a
// stop text.
//
// The stop text that ends first wins; of several that end at one place, the longest. The result
// does not depend on the pieces. Empty stop texts are ignored. Threads: one per matcher.
// Cost: O(bytes * stop texts), amortised (Knuth-Morris-Pratt).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::model {

class StopMatcher {
 public:
  explicit StopMatcher(std::vector<std::string> stops);

  // Returns the text that is certainly not part of a stop text. After a stop text it returns
  // nothing.
  std::string push(std::string_view text);

  // Returns the text that was held back, at the end of all text. Empty after a stop text.
  std::string finish();

  bool stopped() const { return stopped_; }
  const std::string& matched() const { return matched_; }  // the stop text found

 private:
  struct Pattern {
    std::string text;
    std::vector<std::size_t> fallback;  // [text]: longest border of each prefix
    std::size_t length = 0;  // length of the longest prefix with which the text so far ends
  };
  static void advance(Pattern& pattern, char c);

  std::vector<Pattern> patterns_;
  std::string held_;
  std::string matched_;
  bool stopped_ = false;
};

}  // namespace tandem::model
