// SPDX-License-Identifier: Apache-2.0
//
// Every switch is a change of the options that have all parts.
#include "simulation/suggest/design_gains.h"

#include <algorithm>

namespace tandem::simulation {
namespace {

struct Part {
  const char* without;
  void (*switch_off)(ServingOptions& options, int longest);
};

const Part kParts[] = {
    {"grouped-query attention", [](ServingOptions& o, int) { o.repeats_kv = true; }},
    {"8-bit KV", [](ServingOptions& o, int) { o.precision.kv_dtype = DType::kF16; }},
    {"pages", [](ServingOptions& o, int longest) { o.reserved_tokens = longest; }},
    {"one read of the weights", [](ServingOptions& o, int) { o.num_sub_batches = 2; }},
    {"pages of a sequence split over units",
     [](ServingOptions& o, int) { o.placement = engine::Placement::kSequences; }},
    {"the compute device's own attention",
     [](ServingOptions& o, int) { o.attention = AttentionPolicy::kUnits; }},
    {"early queries", [](ServingOptions& o, int) { o.early_query = false; }},
};

}  // namespace

std::vector<DesignRow> design_gains(const MachineSpec& machine, const ServingOptions& options,
                                    const std::function<Load()>& make_load, int longest) {
  const auto rate_of = [&](const ServingOptions& with) {
    return simulate_serving(machine, with, make_load()).tokens_per_s();
  };
  ServingOptions all = options;
  all.precision.kv_dtype = DType::kI8;
  all.placement = engine::Placement::kPages;
  all.attention = AttentionPolicy::kAuto;
  all.num_sub_batches = 0;
  all.early_query = true;
  ServingOptions whole = all;
  whole.placement = engine::Placement::kSequences;
  if (rate_of(whole) > rate_of(all)) all = whole;
  std::vector<DesignRow> rows;
  const auto add = [&](const std::string& what, const ServingOptions& with) {
    const double rate = rate_of(with);
    rows.push_back({what, rate, rows.empty() ? 1 : rate / rows.front().tokens_per_s});
  };
  add("all parts", all);
  ServingOptions none = all, own = all;
  for (const Part& part : kParts) {
    ServingOptions without = all;
    part.switch_off(without, longest);
    part.switch_off(none, longest);
    add(std::string("without ") + part.without, without);
  }
  add("without any of them", none);
  own.attention = AttentionPolicy::kOwn;
  add("without units", own);
  return rows;
}

int longest_request(Load load) {
  int longest = 0;
  while (const auto request = load.next()) {
    longest = std::max(longest, request->prompt + request->output);
  }
  return longest;
}

}  // namespace tandem::simulation
