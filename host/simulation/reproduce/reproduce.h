// SPDX-License-Identifier: Apache-2.0
//
// reproduce: computes published results with the simulator, and states every assumption and the
// error.
//
// No constant is fitted to a result. What a publication does not state comes from data sheets, or
// is named as an assumption. Threads: any. Errors: Error("simulate", ...) for an unknown name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem::simulation {

struct ReproducedRow {
  std::string what;
  double published = 0, simulated = 0;
  std::vector<std::string> assumptions;

  double error() const { return simulated / published - 1; }
};

struct Reproduction {
  std::string system, source;
  std::vector<ReproducedRow> rows;
};

// GPU with four FPGA cards (arXiv 2504.16112).
Reproduction reproduce_hpu();
// Attention of part of the requests in host memory (arXiv 2411.01142).
Reproduction reproduce_neo();
// Attention on other GPUs over a network (arXiv 2405.01814).
Reproduction reproduce_lamina();

Reproduction reproduce(std::string_view name);  // "hpu", "neo", "lamina"

}  // namespace tandem::simulation
