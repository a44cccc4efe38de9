// SPDX-License-Identifier: Apache-2.0
//
// A loop in a pipelined one counts as often as its trips per iteration of that one.
#include "bitstreams/compiler/timing/loop_interval.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "bitstreams/compiler/timing/addresses.h"

namespace tandem::timing {
namespace {

constexpr double kMemoryPorts = 2;  // of a bank of local memory

}  // namespace

std::string number(double value) { return std::to_string(std::lround(value)); }

double LoopIntervals::trips(const LoopModel& loop) const {
  if (!loop.tests_first) return count(loop.header);
  double sum = 0;
  for (const int latch : loop.latches) sum += count(latch);
  return sum;
}

bool LoopIntervals::is_inside(const FunctionModel& function, int loop, int outer) {
  while (loop >= 0 && loop != outer) loop = function.loops[static_cast<size_t>(loop)].parent;
  return loop == outer;
}

// How often the body of `inner` runs per iteration of `outer`.
double LoopIntervals::copies(const LoopModel& inner, const LoopModel& outer) const {
  return std::max(1.0, trips(inner) / std::max(1.0, trips(outer)));
}

double LoopIntervals::longest_recurrence(const LoopModel& loop, double read_latency,
                                         std::string* what) const {
  double longest = 0;
  for (const Recurrence& each : loop.recurrences) {
    const double cycles = each.cycles + each.device_reads * read_latency;
    if (each.inner >= 0 || cycles <= longest) continue;
    longest = cycles;
    if (what != nullptr) *what = each.what;
  }
  return longest;
}

Interval LoopIntervals::interval(const FunctionModel& function, int index, double unroll,
                                 double read_latency) const {
  const LoopModel& loop = function.loops[static_cast<size_t>(index)];
  Interval result;
  result.raise(loop.wanted_ii, "the pragma asks for it");
  raise_by_dependences(function, loop, unroll, read_latency, result);
  raise_by_arrays(function, index, unroll, result);
  raise_by_streams(function, index, unroll, result);
  return result;
}

void LoopIntervals::raise_by_dependences(const FunctionModel& function, const LoopModel& loop,
                                         double unroll, double read_latency,
                                         Interval& interval) const {
  for (const Recurrence& each : loop.recurrences) {
    if (!each.certain && !pessimistic_) continue;
    double cycles = each.cycles + each.device_reads * read_latency;
    std::string what = each.what;
    if (each.inner >= 0) {
      const LoopModel& inner = function.loops[static_cast<size_t>(each.inner)];
      const double of_copy =
          each.cycles > 0 ? each.cycles : longest_recurrence(inner, read_latency, &what);
      cycles = of_copy * copies(inner, loop);
    }
    const bool any_order = loop.balanced && each.device_reads == 0 && each.inner < 0;
    const double chained = any_order ? copies_in_order(loop, unroll) : unroll;
    interval.raise(std::ceil(cycles * chained / each.distance),
                   std::string(each.certain ? "carried" : "possible") + " dependence through " +
                       what + ", " + number(cycles) + " cycles at distance " +
                       number(each.distance) +
                       (each.line > 0 ? " (line " + std::to_string(each.line) + ")" : ""));
  }
}

// Copies of one operation that may be done in any order are added up beside the chain, which then
// has one of them. Where the loop may end inside of the copies, that holds for those before this
// place: their sum and the value before them are there at the end, so the chain has two of them.
// The copies behind it stay in order. Of trips that are not constant each copy may be the last.
double LoopIntervals::copies_in_order(const LoopModel& loop, double unroll) {
  if (loop.unroll == 0) return 1;
  if (loop.fixed_trips == 0) return unroll;
  const double copies = std::min(unroll, loop.fixed_trips);
  const double before_end = std::fmod(loop.fixed_trips, copies);
  return before_end == 0 ? 1 : std::min(2.0, before_end) + copies - before_end;
}

// An entry's last iteration is a whole one, however many of its copies are left over. Without
// copies nothing is left over, also where entries have different trips.
double LoopIntervals::iterations(const LoopModel& loop, double unroll) const {
  if (unroll <= 1) return trips(loop);
  const double entries = std::max(1.0, count(loop.entries));
  return entries * std::ceil(trips(loop) / entries / unroll);
}

void LoopIntervals::raise_by_arrays(const FunctionModel& function, int index, double unroll,
                                    Interval& interval) const {
  const LoopModel& loop = function.loops[static_cast<size_t>(index)];
  std::map<std::string, ArrayUse> uses;
  const auto add = [&uses](const std::string& name, double reads, double writes, double banks) {
    ArrayUse& use = uses[name];
    use.reads += reads;
    use.writes += writes;
    use.banks = banks;
  };
  for (size_t each = 0; each < function.loops.size(); ++each) {
    if (!is_inside(function, static_cast<int>(each), index)) continue;
    const LoopModel& inner = function.loops[each];
    const double times = static_cast<int>(each) == index ? 1 : copies(inner, loop);
    for (const ArrayUse& use : inner.arrays) {
      add(use.array, use.reads * times, use.writes * times, use.banks);
    }
  }
  for (const int id : function.sites) {
    const SiteModel& site = model_.sites[static_cast<size_t>(id)];
    if (site.copy >= 0 || !is_inside(function, site.loop, index)) continue;
    const double times = static_cast<double>(counts_.sites[static_cast<size_t>(id)].others) /
                         std::max(1.0, trips(loop));
    if (times > 0) add(site.array, site.writes ? 0 : times, site.writes ? times : 0, site.banks);
  }
  for (const auto& [name, use] : uses) {
    // Vitis partitions an array for a loop that is unrolled by a pragma, if no pragma says how
    // (config_array_partition -throughput_driven auto).
    const bool is_partitioned = loop.unroll != 1 && use.banks == 1;
    if (use.banks == 0 || is_partitioned) continue;
    const double accesses = (use.reads + use.writes) * unroll;
    interval.raise(std::ceil(accesses / (kMemoryPorts * use.banks)),
                   number(accesses) + " accesses of '" + source_name(name) + "' in " +
                       number(use.banks) + " banks of 2 ports");
  }
}

// A stream takes and gives one value per cycle. Copies that choose one of an array of streams by
// their own number do not wait for each other here; the replay knows which stream it was.
void LoopIntervals::raise_by_streams(const FunctionModel& function, int index, double unroll,
                                     Interval& interval) const {
  const auto number_of = static_cast<int>(&function - model_.functions.data());
  const double steps = std::max(1.0, trips(function.loops[static_cast<size_t>(index)]));
  std::map<std::pair<std::string, bool>, double> accesses;
  for (const StreamPoint& point : model_.points) {
    if (point.function != number_of || !is_inside(function, point.loop, index)) continue;
    const double streams = point.varies && point.loop != index
                               ? copies(function.loops[static_cast<size_t>(point.loop)],
                                        function.loops[static_cast<size_t>(index)])
                               : 1;
    accesses[{point.stream, point.writes}] += count(point.block) / steps / streams;
  }
  for (const auto& [stream, each] : accesses) {
    interval.raise(std::ceil(each * unroll), number(each * unroll) +
                                                 (stream.second ? " writes" : " reads") +
                                                 " of one stream, which passes a value per cycle");
  }
}

// Copies of loop `each` that one iteration of loop `index` makes and of which each waits for the
// one before: those of loops around it too where they pass on its value.
double LoopIntervals::copies_in_line(const FunctionModel& function, int each, int index) const {
  double times = 1;
  while (each != index) {
    const LoopModel& inner = function.loops[static_cast<size_t>(each)];
    const LoopModel& outer = function.loops[static_cast<size_t>(inner.parent)];
    times *= copies(inner, outer);
    const bool passes_on = std::any_of(
        outer.recurrences.begin(), outer.recurrences.end(),
        [each](const Recurrence& value) { return value.inner == each && value.cycles == 0; });
    if (!passes_on) break;
    each = inner.parent;
  }
  return times;
}

// Copies of a body run beside each other but for what one waits for from the one before.
double LoopIntervals::depth(const FunctionModel& function, int index, double unroll) const {
  const LoopModel& loop = function.loops[static_cast<size_t>(index)];
  const auto lengthened = [](const LoopModel& each, double times) {
    const double steps = each.balanced ? std::ceil(std::log2(std::max(1.0, times))) : times - 1;
    return std::ceil(steps * each.chain);
  };
  double depth = loop.depth + lengthened(loop, unroll);
  for (size_t each = 0; each < function.loops.size(); ++each) {
    if (static_cast<int>(each) == index || !is_inside(function, static_cast<int>(each), index)) {
      continue;
    }
    const LoopModel& inner = function.loops[each];
    depth += inner.depth - 1 +
             lengthened(inner, copies_in_line(function, static_cast<int>(each), index));
  }
  return depth;
}

double LoopIntervals::shared_reads(const FunctionModel& function, int index) const {
  const LoopModel& loop = function.loops[static_cast<size_t>(index)];
  double cycles = 0;
  for (size_t each = 0; each < function.loops.size(); ++each) {
    const LoopModel& inner = function.loops[each];
    if (static_cast<int>(each) == index || !is_inside(function, static_cast<int>(each), index)) {
      continue;
    }
    for (const ArrayUse& use : inner.arrays) {
      if (use.banks == 0 || use.invariant == 0) continue;
      cycles += std::ceil(use.invariant * copies(inner, loop) / (kMemoryPorts * use.banks));
    }
  }
  return cycles;
}

}  // namespace tandem::timing
