// SPDX-License-Identifier: Apache-2.0
//
// xcl_array_partition(complete, dimension), (cyclic or block, factor, dimension).
#include "bitstreams/compiler/vpp/timed_opencl.h"

#include <algorithm>
#include <vector>

#include "bitstreams/compiler/opencl_c/source_rewriter.h"
#include "bitstreams/compiler/vpp/timed_copy.h"

namespace tandem::vpp {
namespace {

timing::KernelPragmas opencl_pragmas(const std::vector<opencl_c::TimeHint>& hints,
                                     const std::vector<std::string>& pointers) {
  timing::KernelPragmas found;
  for (const std::string& pointer : pointers) found.ports[pointer] = "gmem";
  for (const opencl_c::TimeHint& hint : hints) {
    const auto value = [&hint](size_t index) {
      return index < hint.values.size() ? static_cast<int>(hint.values[index]) : 0;
    };
    const timing::SourceLine place{hint.file, hint.line};
    if (hint.name == "xcl_pipeline_loop") {
      found.loops.push_back({place, true, false, static_cast<double>(value(0)), 0});
    } else if (hint.name == "opencl_unroll_hint") {
      found.loops.push_back({place, false, false, 0, value(0)});
    } else {
      const bool complete = hint.kind == "complete";
      found.partitions[hint.variable].push_back(
          {complete, complete ? 1 : std::max(1, value(0)), complete ? value(0) : value(1)});
    }
  }
  return found;
}

}  // namespace

opencl_c::TimedCopy timed_opencl(const std::string& wanted, double clock_mhz) {
  opencl_c::TimedCopy timed;
  const std::string clang = find_timing_clang(wanted);
  timed.wanted = !clang.empty();
  timed.symbols = timed_prefixes();
  timed.functions = timed_stubs();
  timed.compile = [clang, clock_mhz](const std::string& path, const std::string& kernel,
                                     const std::vector<opencl_c::TimeHint>& hints,
                                     const std::vector<std::string>& pointers) {
    return compile_timed_ir({path, clang, kernel, clock_mhz, opencl_pragmas(hints, pointers)});
  };
  return timed;
}

}  // namespace tandem::vpp
