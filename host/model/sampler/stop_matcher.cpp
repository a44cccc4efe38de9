// SPDX-License-Identifier: Apache-2.0
//
// One Knuth-Morris-Pratt automaton per stop text.
#include "model/sampler/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace tandem::model {

StopMatcher::StopMatcher(std::vector<std::string> stops) {
  for (std::string& stop : stops) {
    if (stop.empty()) continue;
    Pattern pattern{std::move(stop), {}, 0};
    pattern.fallback.assign(pattern.text.size(), 0);
    std::size_t border = 0;
    for (std::size_t i = 1; i < pattern.text.size(); ++i) {
      while (border > 0 && pattern.text[i] != pattern.text[border]) {
        border = pattern.fallback[border - 1];
      }
      if (pattern.text[i] == pattern.text[border]) ++border;
      pattern.fallback[i] = border;
    }
    patterns_.push_back(std::move(pattern));
  }
}

void StopMatcher::advance(Pattern& pattern, char c) {
  while (pattern.length > 0 && pattern.text[pattern.length] != c) {
    pattern.length = pattern.fallback[pattern.length - 1];
  }
  if (pattern.text[pattern.length] == c) ++pattern.length;
}

std::string StopMatcher::push(std::string_view text) {
  if (stopped_) return {};
  for (const char c : text) {
    held_ += c;
    const Pattern* found = nullptr;
    for (Pattern& pattern : patterns_) {
      advance(pattern, c);
      if (pattern.length < pattern.text.size()) continue;
      if (found == nullptr || pattern.text.size() > found->text.size()) found = &pattern;
    }
    if (found != nullptr) {
      stopped_ = true;
      matched_ = found->text;
      held_.resize(held_.size() - matched_.size());
      return std::exchange(held_, {});
    }
  }
  std::size_t keep = 0;
  for (const Pattern& pattern : patterns_) keep = std::max(keep, pattern.length);
  std::string released = held_.substr(0, held_.size() - keep);
  held_.erase(0, released.size());
  return released;
}

std::string StopMatcher::finish() {
  for (Pattern& pattern : patterns_) pattern.length = 0;
  return std::exchange(held_, {});
}

}  // namespace tandem::model
