// SPDX-License-Identifier: Apache-2.0
//
// Binding by sched_setaffinity, which every Linux has.
#include "common/thread_binding.h"

#include <sched.h>

#include <algorithm>
#include <cstddef>

#include "common/processors.h"

namespace tandem {

bool bind_this_thread(const std::vector<int>& processors) {
  if (processors.empty()) return true;
  const int capacity = *std::max_element(processors.begin(), processors.end()) + 1;
  const std::size_t bytes = CPU_ALLOC_SIZE(capacity);
  std::vector<cpu_set_t> set((bytes + sizeof(cpu_set_t) - 1) / sizeof(cpu_set_t));
  for (const int id : processors) CPU_SET_S(static_cast<std::size_t>(id), bytes, set.data());
  return sched_setaffinity(0, bytes, set.data()) == 0;
}

BindingScope::BindingScope(const std::vector<int>& processors) {
  if (processors.empty()) return;
  before_ = affinity_mask();
  if (!bind_this_thread(processors)) before_.clear();
}

BindingScope::~BindingScope() { bind_this_thread(before_); }

}  // namespace tandem
