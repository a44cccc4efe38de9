// SPDX-License-Identifier: Apache-2.0
//
// A cost table as text, to keep between runs.
//
// The text is JSON with a version. read_cost_table() trusts nothing: a text that is truncated, of
// another version, of another machine, model or set of options, or whose devices have other drivers
// is refused with a sentence, and the caller measures anew. Threads: pure functions. Errors: none
// escape.
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
  std::string refusal;  // one line; empty where there is a table
};

// What the reader expects. A device that is not named must not be in the table.
struct WantedCosts {
  CostKey key;
  std::map<std::string, std::string> drivers;  // by device id
};

CostTableRead read_cost_table(std::string_view text, const WantedCosts& wanted);

// Without a look at the key: the table of another machine, to simulate that machine.
CostTableRead read_cost_table(std::string_view text);

}  // namespace tandem::planner
