// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: any text becomes a valid trace, load or machine, or an Error. The first byte chooses
// which.
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "common/error.h"
#include "simulation/serving/load.h"
#include "simulation/serving/machine_spec.h"
#include "support/fuzz_main.h"

namespace tandem::simulation {
namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

void check_request(const SimulatedRequest& request, double last_s) {
  check(request.arrival_s >= last_s);
  check(request.prompt >= 1 && request.prompt <= kMostTokens);
  check(request.output >= 1 && request.output <= kMostTokens);
}

void check_trace(const std::string& text) {
  std::istringstream in(text);
  double last_s = 0;
  for (const SimulatedRequest& request : read_trace(in)) {
    check_request(request, last_s);
    last_s = request.arrival_s;
  }
}

void check_load(const std::string& text) {
  const LoadSpec spec = parse_load(text);
  check(std::isfinite(spec.amount) && spec.amount > 0);
  check(spec.requests > 0 || spec.seconds > 0);
  Load load(spec, 1);
  double last_s = 0;
  for (int i = 0; i < 8; ++i) {
    const auto request = load.next();
    if (!request) return;
    check_request(*request, last_s);
    last_s = request->arrival_s;
  }
}

void check_machine(const std::string& text) {
  const MachineSpec machine = parse_machine(text);
  check(machine.num_devices() >= 1 && machine.num_devices() <= 100'000);
  check(machine.compute.count >= 1 && machine.compute.sheet.memory_bytes > 0);
  for (const UnitSpec& unit : machine.units) {
    check(unit.count >= 1 && unit.link.bytes_per_s > 0);
    check(std::isfinite(unit.sheet.memory_bytes) && unit.sheet.memory_bytes > 0);
    check(std::isfinite(unit.sheet.bytes_per_s) && unit.sheet.bytes_per_s > 0);
  }
}

}  // namespace
}  // namespace tandem::simulation

void tandem::test::add_fuzz_seeds(std::vector<std::string>& seeds) {
  for (const char* text :
       {"0arrival,prompt,output\n0,5,6\n\n12.5,7,8\r\n",
        "0TIMESTAMP,ContextTokens,GeneratedTokens\n2024-02-29 23:59:59.5000000,4808,10\n",
        "0Timestamp,Model,Request tokens,Response tokens\n5,ChatGPT,472,18\n6,GPT-4,9,0\n",
        "1batch:64,prompt=1024,output=1024,requests=256", "1poisson:8,prompt=100..2000,seconds=60",
        "1burst:32,every=10", "2l40s+4*u55c", "28x(2*h100-sxm/nvlink4+4*u55c+cpu:200@host+a100:40)",
        "2h100-sxm+4*h20@400gbe"}) {
    seeds.emplace_back(text);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace s = tandem::simulation;
  if (size < 1) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] % 3 == 0) {
      s::check_trace(text);
    } else if (data[0] % 3 == 1) {
      s::check_load(text);
    } else {
      s::check_machine(text);
    }
  } catch (const tandem::Error&) {
  }
  return 0;
}
