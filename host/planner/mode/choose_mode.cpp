// SPDX-License-Identifier: Apache-2.0
//
// Water-filling, and the comparison of modes.
//
// With one sub-batch a unit competes with the device's own attention from the time when the queries
// are known. With two sub-batches the units compete with two passes of the dense layers plus the
// device's own attention.
#include "planner/mode/choose_mode.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace tandem::planner {
namespace {

constexpr int kBisections = 40;
constexpr double kSimplerWithin = 0.99;
constexpr double kHalfAToken = 0.5;  // sums of shares are not exact

double held_by(const FillUnit& unit, double time) {
  if (time <= unit.fixed_s || unit.room <= 0) return 0;
  if (unit.per_token_s <= 0) return unit.room;
  return std::min(unit.room, (time - unit.fixed_s) / unit.per_token_s);
}

double held_by_all(std::span<const FillUnit> units, double time) {
  double sum = 0;
  for (const FillUnit& unit : units) sum += held_by(unit, time);
  return sum;
}

// The time of all sub-batches of a layer on the unit as a line, by the second half of the tokens: a
// few tokens may be in a cache, and take less.
FillUnit fill_unit(const AttentionCost& cost, const AttentionLoad& load, int num_sub_batches) {
  const double half = std::max(1.0, load.tokens / 2);
  const double first = cost.seconds({load.rows / 2, half, half});
  const double all = cost.seconds({load.rows, 2 * half, 2 * half});
  return {num_sub_batches * (2 * first - all), (all - first) / half};
}

std::vector<FillUnit> fill_units(const MachineModel& machine, const AttentionLoad& load,
                                 int num_sub_batches) {
  const double dense = machine.compute.dense_s((load.rows + load.prompt_rows) / num_sub_batches) /
                           machine.num_layers +
                       machine.compute.launch_s;
  std::vector<FillUnit> units;
  for (std::size_t u = 0; u < machine.units.size(); ++u) {
    const UnitModel& unit = machine.units[u];
    FillUnit fill = fill_unit(unit.attention, load, num_sub_batches);
    fill.room = load.room[u];
    if (num_sub_batches > 1) {
      fill.fixed_s += unit.is_own ? num_sub_batches * dense : 0;
    } else if (!unit.is_own) {
      const double way = unit.to_unit.seconds(load.rows * machine.bytes_to_unit) +
                         unit.from_unit.seconds(load.rows * machine.bytes_from_unit);
      fill.fixed_s += std::max(0.0, way + unit.launch_s - machine.early_share * dense);
    }
    units.push_back(fill);
  }
  return units;
}

std::vector<double> own_first(const MachineModel& machine, const AttentionLoad& load) {
  std::vector<double> shares(machine.units.size());
  for (std::size_t u = 0; u < shares.size(); ++u) {
    if (machine.units[u].is_own) shares[u] = std::min(load.room[u], load.tokens);
  }
  return shares;
}

// Reduces the shares of the others to a part of their water-filling; the own memory gets the rest.
// Empty if it cannot hold it.
std::vector<double> part_of_others(const MachineModel& machine, const AttentionLoad& load,
                                   std::vector<double> shares, double part) {
  double moved = 0;
  for (std::size_t u = 0; u < shares.size(); ++u) {
    if (machine.units[u].is_own) continue;
    moved += (1 - part) * shares[u];
    shares[u] *= part;
  }
  for (std::size_t u = 0; u < shares.size(); ++u) {
    if (!machine.units[u].is_own) continue;
    const double taken = std::min(moved, load.room[u] - shares[u]);
    shares[u] += taken, moved -= taken;
  }
  if (moved > kHalfAToken) return {};
  return shares;
}

}  // namespace

const char* mode_name(StepMode mode) {
  switch (mode) {
    case StepMode::kOwnAttention:
      return "own attention";
    case StepMode::kShares:
      return "shares";
    case StepMode::kTwoSubBatches:
      return "two sub-batches";
  }
  return "";
}

std::vector<double> water_fill(std::span<const FillUnit> units, double tokens) {
  double low = 0, high = 0;
  for (const FillUnit& unit : units) {
    if (unit.room <= 0) continue;
    high = std::max(high, unit.fixed_s + unit.per_token_s * std::min(unit.room, tokens));
    low = std::min(low, unit.fixed_s);  // a line may begin below no time
  }
  high = std::nextafter(high, std::numeric_limits<double>::infinity());
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (held_by_all(units, middle) < tokens ? low : high) = middle;
  }
  std::vector<double> shares;
  for (const FillUnit& unit : units) shares.push_back(held_by(unit, high));
  // Units that take any number of tokens in no time leave a surplus.
  double surplus = std::accumulate(shares.begin(), shares.end(), 0.0) - tokens;
  for (double& share : shares) {
    const double less = std::clamp(surplus, 0.0, share);
    share -= less, surplus -= less;
  }
  return shares;
}

namespace {

// Rows of a sub-batch: of decoding sequences, and all.
struct PartRows {
  double decode = 0, all = 0;
};

// Long chunks are not divided: then the first half has decode rows alone.
std::vector<PartRows> parts_of(const AttentionLoad& load, int num_sub_batches) {
  const double all = load.rows + load.prompt_rows;
  if (num_sub_batches == 1) return {PartRows{load.rows, all}};
  const PartRows half{load.rows / 2, all / 2};
  if (2 * load.chunk_rows <= load.prompt_rows) return {half, half};
  const double first = std::min(load.rows, all / 2);
  return {PartRows{first, first}, PartRows{load.rows - first, all - first}};
}

}  // namespace

StepTime time_of_shares(const MachineModel& machine, const AttentionLoad& load,
                        std::span<const double> shares, int num_sub_batches) {
  const std::vector<PartRows> parts = parts_of(load, num_sub_batches);
  std::vector<SubBatch> batches;
  for (const PartRows& part : parts) {
    SubBatch& batch = batches.emplace_back(SubBatch{part.all, part.decode, 0, {}});
    const double fraction = load.rows > 0 ? part.decode / load.rows : 0;
    for (std::size_t u = 0; u < machine.units.size(); ++u) {
      const double tokens = shares[u] * fraction;
      const double rows = load.tokens > 0 ? part.decode * shares[u] / load.tokens : 0;
      batch.units.push_back({rows, tokens, tokens});
    }
  }
  StepTime time = step_time(machine, batches);
  const double first_dense = num_sub_batches > 1 ? machine.compute.dense_s(parts[0].all) : 0;
  for (std::size_t u = 0; u < load.serial_s.size(); ++u) {
    const double beside = load.rows > 0 ? parts.back().decode / load.rows : 0;
    const double hidden = first_dense - beside * (time.units[u] + time.links[u]);
    const bool is_hidden = !machine.units[u].is_own && hidden > 0;
    const double seen = std::max(0.0, load.serial_s[u] - (is_hidden ? hidden : 0));
    time.total += seen * shares[u] / load.tokens;
  }
  return time;
}

ModeChoice choose_mode(const MachineModel& machine, const AttentionLoad& load) {
  std::optional<ModeChoice> best;
  const auto consider = [&](StepMode mode, std::vector<double> shares, int num_sub_batches) {
    ModeChoice choice{mode, std::move(shares), 0, {}};
    const double held = std::accumulate(choice.shares.begin(), choice.shares.end(), 0.0);
    choice.missing_tokens = load.tokens - held > kHalfAToken ? load.tokens - held : 0;
    choice.time = time_of_shares(machine, load, choice.shares, num_sub_batches);
    // Later candidates never hold less.
    const bool holds_more = best && choice.missing_tokens < best->missing_tokens - kHalfAToken;
    const bool is_faster = best && choice.time.total < kSimplerWithin * best->time.total;
    if (!best || holds_more || is_faster) best = std::move(choice);
  };
  consider(StepMode::kOwnAttention, own_first(machine, load), 1);
  for (const int num_sub_batches : {1, 2}) {
    if (load.rows < num_sub_batches) continue;
    const StepMode mode = num_sub_batches == 1 ? StepMode::kShares : StepMode::kTwoSubBatches;
    const std::vector<double> filled =
        water_fill(fill_units(machine, load, num_sub_batches), load.tokens);
    consider(mode, filled, num_sub_batches);
    // Water-filling does not include times that overlap with nothing.
    for (const double part : {0.5, 0.25, 0.1}) {
      if (load.serial_s.empty()) break;
      auto shares = part_of_others(machine, load, filled, part);
      if (!shares.empty()) consider(mode, std::move(shares), num_sub_batches);
    }
  }
  return *best;
}

}  // namespace tandem::planner
