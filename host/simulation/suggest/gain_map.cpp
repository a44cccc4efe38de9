// SPDX-License-Identifier: Apache-2.0
//
// A cell compares one predicted step with and without units; nothing is simulated.
#include "simulation/suggest/gain_map.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/error.h"
#include "planner/mode/choose_mode.h"

namespace tandem::simulation {
namespace {

constexpr int kBatches[] = {1, 4, 16, 64, 256};
constexpr int kContexts[] = {512, 2048, 8192, 32768};
constexpr int kGroups[] = {1, 4, 8};
constexpr DType kKvTypes[] = {DType::kF16, DType::kI8};

double price_of(const MachineSpec& machine) {
  double price = machine.compute.count * machine.compute.sheet.price_per_hour;
  for (const UnitSpec& unit : machine.units) price += unit.count * unit.sheet.price_per_hour;
  return price;
}

double decode_tokens_per_s(const ServerModel& server, int page_tokens, int batch, int context) {
  planner::AttentionLoad load;
  for (const std::uint32_t pages : server.pages) {
    load.room.push_back(static_cast<double>(pages) * page_tokens);
  }
  const double room = std::accumulate(load.room.begin(), load.room.end(), 0.0);
  load.rows = std::min<double>(batch, std::floor(room / context));
  if (load.rows < 1) return 0;
  load.tokens = load.rows * context;
  return load.rows / planner::choose_mode(server.machine, load).time.total;
}

void check_machine(const MachineSpec& machine) {
  if (machine.measured) {
    throw Error("simulate",
                "the map compares KV types and head groups, of which a measured table has one: "
                "name devices, as in l40s+4*u55c");
  }
  if (machine.units.empty()) {
    throw Error("simulate", "the map shows what units gain, and '" + machine.text +
                                "' has none: name some after '+', as in l40s+4*u55c");
  }
}

}  // namespace

GainMap gain_map(const MachineSpec& machine, const ServingOptions& options) {
  check_machine(machine);
  GainMap map;
  MachineSpec alone = machine;
  alone.units.clear();
  map.price_ratio = price_of(machine) / price_of(alone);
  for (const DType kv_dtype : kKvTypes) {
    for (const int group : kGroups) {
      if (options.model.q_heads % group != 0) continue;
      ServingOptions cell_options = options;
      cell_options.precision.kv_dtype = kv_dtype;
      cell_options.model.kv_heads = options.model.q_heads / group;
      const ServerModel with = model_server(machine, cell_options);
      const ServerModel without = model_server(alone, cell_options);
      for (const int batch : kBatches) {
        for (const int context : kContexts) {
          const double rate = decode_tokens_per_s(with, options.page_tokens, batch, context);
          const double base = decode_tokens_per_s(without, options.page_tokens, batch, context);
          const double gain = base > 0 ? rate / base : 0;
          const bool pays = rate > 0 && (base == 0 || gain > map.price_ratio);
          map.cells.push_back({batch, context, group, kv_dtype, rate, gain, pays});
        }
      }
    }
  }
  return map;
}

}  // namespace tandem::simulation
