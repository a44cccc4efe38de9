// SPDX-License-Identifier: Apache-2.0
//
// Bugs of the program with buffers that copies and kernels write on the card. The kernel finds
// them, so they have no mark.
#include <algorithm>
#include <utility>

#include "corpus.h"

namespace tandem::fpga_test {
namespace {

constexpr int kFillsScratch = -14;  // the twin of reads_unwritten_half

// The host's values, which no sync brings to the card.
int* filled(xrt::bo& buffer) {
  int* const values = buffer.map<int*>();
  std::fill_n(values, kCount, 3);
  return values;
}

void copied_before_sync(Bench& bench, bool bad) {
  xrt::kernel kernel = bench.kernel("memory_bugs");
  Buffers buffers = bench.make(kernel);
  xrt::bo source = buffers.in;
  source.map<int*>()[kCount - 1] = 9;
  if (!bad) source.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  buffers.in = xrt::bo(bench.device, kBytes, kernel.group_id(0));
  buffers.in.copy(source);
  bench.run_well(kernel, buffers);
}

void copied_unwritten(Bench& bench, bool bad) {
  xrt::kernel kernel = bench.kernel("memory_bugs");
  Buffers buffers = bench.make(kernel);
  const xrt::bo empty(bench.device, kBytes, kernel.group_id(0));
  const xrt::bo source = bad ? empty : buffers.in;
  buffers.in = xrt::bo(bench.device, kBytes, kernel.group_id(0));
  buffers.in.copy(source);
  bench.run_well(kernel, buffers);
}

// What the host copy held before is no change after the copy on the card.
void changed_after_copy(Bench& bench, bool bad) {
  xrt::kernel kernel = bench.kernel("memory_bugs");
  Buffers buffers = bench.make(kernel);
  const xrt::bo source = buffers.in;
  buffers.in = xrt::bo(bench.device, kBytes, kernel.group_id(0));
  int* const values = filled(buffers.in);
  buffers.in.copy(source);
  if (bad) values[kCount - 1] = 4;
  bench.run_well(kernel, buffers);
}

// The same in memory of the program that fills no page.
void changed_after_copy_to_own(Bench& bench, bool bad) {
  xrt::kernel kernel = bench.kernel("memory_bugs");
  Buffers buffers = bench.make(kernel);
  const xrt::bo source = buffers.in;
  alignas(4096) int own[kCount] = {};
  buffers.in = xrt::bo(bench.device, own, kBytes, kernel.group_id(0));
  filled(buffers.in);
  buffers.in.copy(source);
  if (bad) own[kCount - 1] = 4;
  bench.run_well(kernel, buffers);
}

void copied_half(Bench& bench, bool bad) {
  xrt::kernel kernel = bench.kernel("memory_bugs");
  Buffers buffers = bench.make(kernel);
  const xrt::bo source = buffers.in;
  buffers.in = xrt::bo(bench.device, kBytes, kernel.group_id(0));
  filled(buffers.in);
  buffers.in.copy(source, bad ? kBytes / 2 : kBytes);
  bench.run_well(kernel, buffers);
}

// What a kernel wrote is newer than what the host had there.
void changed_after_result(Bench& bench, bool bad) {
  xrt::kernel kernel = bench.kernel("memory_bugs");
  Buffers buffers = bench.make(kernel);
  int* const values = filled(buffers.scratch);
  kernel(buffers.in, buffers.out, buffers.scratch, kCount, kFillsScratch).wait(kPatience);
  std::swap(buffers.in, buffers.scratch);
  if (bad) values[kCount - 1] = 4;
  bench.run_well(kernel, buffers);
}

Row row(const char* name, const char* kind, std::function<void(Bench&, bool)> run) {
  return {name, kind, "in", "", std::move(run)};
}

}  // namespace

std::vector<Row> copy_rows() {
  const char* const kind = "missing_sync_to_device";
  return {row("copied_before_sync", kind, copied_before_sync),
          row("copied_unwritten", "uninitialised_memory", copied_unwritten),
          row("changed_after_copy", kind, changed_after_copy),
          row("changed_after_copy_to_own", kind, changed_after_copy_to_own),
          row("copied_half", kind, copied_half),
          row("changed_after_result", kind, changed_after_result)};
}

}  // namespace tandem::fpga_test
