// SPDX-License-Identifier: Apache-2.0
//
// StopMatcher: finds stop texts in text that arrives in pieces, holding back what may become one.
//
// The stop text whose end comes first wins; of several that end there, the longest. The answer
// does not depend on how the text was cut into pieces. Empty stop texts are ignored.
// Threads: one thread per matcher. Cost: O(bytes * stop texts), amortised (Knuth-Morris-Pratt).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::model {

class StopMatcher {
 public:
  explicit StopMatcher(std::vector<std::string> stops);

  // The text that can be released: it precedes any stop text and can be part of none. After a stop
  // text was found everything further is swallowed.
  std::string push(std::string_view text);

  // What was held back, when no more text comes. Empty once stopped.
  std::string finish();

  bool stopped() const { return stopped_; }
  const std::string& matched() const { return matched_; }  // the stop text found

 private:
  struct Pattern {
    std::string text;
    std::vector<std::size_t> fallback;  // [text]: longest border of each prefix
    std::size_t length = 0;             // of the prefix that the text so far ends with
  };
  static void advance(Pattern& pattern, char c);

  std::vector<Pattern> patterns_;
  std::string held_;
  std::string matched_;
  bool stopped_ = false;
};

}  // namespace tandem::model
