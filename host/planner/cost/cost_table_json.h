// SPDX-License-Identifier: Apache-2.0
//
// Writes a cost table as JSON text, and reads it, to keep it between runs.
//
// The text has a version. read_cost_table() checks everything: it refuses a text that is truncated,
// has another version, or belongs to another machine, model, set of options or driver. The refusal
// is one sentence, and the caller then measures again. Threads: pure functions. Errors: throws
// none.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "planner/cost/cost_model.h"

namespace tandem::planner {

std::string write_cost_table(const CostTable& table);

struct CostTableRead {
  std::optional<CostTable> table;
  std::string refusal;  // one line; empty if there is a table
};

// What the reader expects. A table with a device that is not listed here is refused.
struct WantedCosts {
  CostKey key;
  std::map<std::string, std::string> drivers;  // by device id
};

CostTableRead read_cost_table(std::string_view text, const WantedCosts& wanted);

// Does not check the key: reads the table of another machine, to simulate that machine.
CostTableRead read_cost_table(std::string_view text);

}  // namespace tandem::planner
