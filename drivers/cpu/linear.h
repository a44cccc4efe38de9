// SPDX-License-Identifier: Apache-2.0
//
// Linear: LinearOp on a team of threads.
//
// Up to kFewRows rows go through kernels/matvec.h (weights read once, activations as they are),
// more through kernels/matmul.h in blocks of 512 rows. All targets of a call share one pass of the
// team; threads split output features. Memory: packed activations and one workspace per worker,
// kept between calls. Threads: one caller.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/team.h"
#include "cpu/weight.h"

namespace tandem::device::cpu {

inline constexpr std::int64_t kFewRows = 24;

class Linear {
 public:
  explicit Linear(Team& team) : team_(team), workspaces_(team.size()) {}

  // Returns the bytes of weights read. Throws Error on shapes that do not fit.
  std::uint64_t run(const LinearOp& op);

 private:
  struct Target {
    const CpuWeight* weight = nullptr;
    const float* bias = nullptr;
    float* out = nullptr;
    bool accumulate = false;
  };
  struct Part {  // outputs [begin, end) of a target
    std::size_t target = 0;
    std::int64_t begin = 0, end = 0;
  };

  void resolve(const LinearOp& op);
  void split(std::int64_t outputs_multiple, std::int64_t max_outputs, std::size_t part_bytes);
  void run_few(const float* x, std::int64_t rows, std::int64_t in_features);
  void run_many(const float* x, std::int64_t rows, std::int64_t in_features);

  Team& team_;
  std::vector<Target> targets_;
  std::vector<Part> parts_;
  std::vector<float> packed_;
  std::vector<std::vector<float>> workspaces_;
};

}  // namespace tandem::device::cpu
