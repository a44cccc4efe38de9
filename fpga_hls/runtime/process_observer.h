// SPDX-License-Identifier: Apache-2.0
//
// ProcessObserver: is told when processes of a dataflow region start, end, take turns and are
// joined.
//
// Processes have numbers; the kernel itself is 1. Tasks are not told. Called on the unit's thread;
// it must not throw.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::hls_runtime {

class ProcessObserver {
 public:
  virtual ~ProcessObserver() = default;
  // The process that runs starts another one, which begins when those `behind` it have ended.
  virtual void started(std::uint64_t process, const std::string& name,
                       const std::vector<std::uint64_t>& behind) = 0;
  virtual void switched(std::uint64_t from, std::uint64_t to) = 0;
  virtual void ended(std::uint64_t process) = 0;
  // The process that runs goes on after all that it has started.
  virtual void joined() = 0;
};

}  // namespace tandem::hls_runtime
