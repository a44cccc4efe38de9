// SPDX-License-Identifier: Apache-2.0
//
// The members are the JSON's.
#include "bitstreams/compiler/timing/kernel_model.h"

#include <nlohmann/json.hpp>

#include "common/error.h"

namespace tandem::timing {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ArrayUse, array, reads, writes, invariant, banks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Recurrence, cycles, distance, inner, certain, what, line,
                                   device_reads)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LoopModel, file, line, header, latches, entries, tests_first,
                                   parent, pipeline, wanted_ii, unroll, fixed_trips, depth, chain,
                                   balanced, perfect, recurrences, arrays)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SiteModel, block, loop, writes, copy, element_bytes, array,
                                   banks, line)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CallModel, callee, block, loop, process)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PhaseModel, home, loop, call, site, after)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FunctionModel, name, entry, depth, streams, loops, sites, calls,
                                   phases)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StreamPoint, function, loop, writes, offset, block, stream,
                                   varies)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OperationCount, block, operations)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(KernelModel, kernel, clock_mhz, functions, sites, points,
                                   operations, unknown, num_counters)

std::string write_model(const KernelModel& model) {
  return nlohmann::json(model).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

KernelModel read_model(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<KernelModel>();
  } catch (const nlohmann::json::exception&) {
    throw Error(
        "time",
        "the kernel's description of its time is damaged or of another version; compile the "
        "kernel again");
  }
}

}  // namespace tandem::timing
