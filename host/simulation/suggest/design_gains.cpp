// SPDX-License-Identifier: Apache-2.0
//
// Each row switches off parts in a copy of the options with all parts.
#include "simulation/suggest/design_gains.h"

#include <algorithm>

#include "common/error.h"

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

void refuse_measured(const MachineSpec& machine) {
  if (!machine.measured) return;
  throw Error("simulate",
              "the parts of the design differ in KV type and head group, of which a measured table "
              "has one: name devices, as in l40s+4*u55c");
}

ServingOptions with_all_parts(ServingOptions options) {
  options.precision.kv_dtype = DType::kI8;
  options.placement = engine::Placement::kPages;
  options.attention = AttentionPolicy::kAuto;
  options.num_sub_batches = 0;
  options.early_query = true;
  return options;
}

}  // namespace

std::vector<DesignRow> design_gains(const MachineSpec& machine, const ServingOptions& options,
                                    const std::function<Load()>& make_load, int longest) {
  refuse_measured(machine);
  const auto rate_of = [&](const ServingOptions& with) {
    return simulate_serving(machine, with, make_load()).tokens_per_s();
  };
  ServingOptions all = with_all_parts(options);
  ServingOptions whole = all;
  whole.placement = engine::Placement::kSequences;
  const double of_pages = rate_of(all), of_sequences = rate_of(whole);
  if (of_sequences > of_pages) all = whole;
  std::vector<DesignRow> rows = {{"all parts", std::max(of_pages, of_sequences), 1, {}}};
  const auto add = [&](const std::string& what, const ServingOptions& with) {
    try {
      const double rate = rate_of(with);
      rows.push_back({what, rate, rate / rows.front().tokens_per_s, {}});
    } catch (const Error& error) {
      rows.push_back({what, 0, 0, error.what()});
    }
  };
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
