// SPDX-License-Identifier: Apache-2.0
//
// Binds the calling thread to processors, permanently or for a scope.
//
// Best effort: when the system refuses (a sandbox, a mask that has changed), the thread stays where
// it may run. That can only be slower. Threads: acts on the calling thread.
#pragma once

#include <vector>

namespace tandem {

// processors: in the system's numbers; empty: nothing changes. False when the system refuses.
bool bind_this_thread(const std::vector<int>& processors);

// Binds the thread for a scope; the destructor restores the earlier mask.
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
