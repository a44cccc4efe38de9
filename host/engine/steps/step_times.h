// SPDX-License-Identifier: Apache-2.0
//
// StepTimes: the time of each part of a step on the compute device.
//
// Threads: plain data.
#pragma once

namespace tandem::engine {

// Seconds.
struct StepTimes {
  double dense = 0;     // the layers without attention
  double causal = 0;    // attention inside chunks of prompts
  double merge = 0;     // of partial results
  double sampling = 0;  // logits and sampling from them
};

}  // namespace tandem::engine
