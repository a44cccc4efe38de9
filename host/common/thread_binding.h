// SPDX-License-Identifier: Apache-2.0
//
// Binding of the calling thread to processors, and for a while only.
//
// Best effort: a system that refuses (the mask has changed since, a sandbox) leaves the thread
// where it may run, which is slower and nothing else. Threads: acts on the calling thread.
#pragma once

#include <vector>

namespace tandem {

// processors: as the system numbers them; empty changes nothing. False when the system refused.
bool bind_this_thread(const std::vector<int>& processors);

// Bound in its lifetime; the mask of before comes back.
class BindingScope {
 public:
  explicit BindingScope(const std::vector<int>& processors);
  ~BindingScope();
  BindingScope(const BindingScope&) = delete;
  BindingScope& operator=(const BindingScope&) = delete;

 private:
  std::vector<int> before_;  // empty: nothing to restore
};

}  // namespace tandem
