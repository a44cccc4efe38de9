// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: any bytes must be described or refused with an Error. The project's own writer makes
// the seeds, so they follow the format; corpus/ adds hostile files.
#include <cstddef>
#include <cstdint>
#include <span>

#include "bitstreams/xclbin/inspect.h"
#include "common/error.h"
#include "support/fuzz_main.h"
#include "test_design.h"

namespace {

std::string encoded(const tandem::xclbin::Design& design) {
  const std::vector<std::byte> bytes = tandem::xclbin::encode(design);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void tandem::test::add_fuzz_seeds(std::vector<std::string>& seeds) {
  xclbin::Design design = xclbin_test::small_design();
  seeds.push_back(encoded(design));
  design.kernels.pop_back();
  design.connections.clear();
  seeds.push_back(encoded(design));
  design.platform = &xclbin::find_platform("u280");
  design.kernels[0].unit_names = {"a", "b", "c"};
  seeds.push_back(encoded(design));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    tandem::xclbin::inspect({reinterpret_cast<const std::byte*>(data), size}, "fuzzed");
  } catch (const tandem::Error&) {
  }
  return 0;
}
