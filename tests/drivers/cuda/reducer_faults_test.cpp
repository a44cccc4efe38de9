// SPDX-License-Identifier: Apache-2.0
//
// A GPU that is lost under a reducer, over the interpreter.
#include <gmock/gmock.h>

#include "cuda/backend.h"
#include "gpu_kernels/simt/faults.h"
#include "host/training/reducer/reducers.h"

namespace tandem::training::test {
namespace {

TEST(CudaReducerFaults, ALostGpuBreaksTheReducerAndItsGroup) {
  run_groups(1, [&](Group& group) {
    ReducerOptions options = plain_options("topk", 0.1);
    options.open_device = [](std::string_view) { return device::cuda_backend().open(0, {}); };
    RankReducer reducer(group, options, {{"weight", {10, 10}}});
    const std::vector<std::uint32_t> bucket = {0};
    Values values = reducer.gradients(bucket, 0);  // the interpreter's device memory is the host's
    const auto step = [&] {
      const Ticket ticket = reducer->submit({.parameters = bucket,
                                             .values = values.data(),
                                             .last = true,
                                             .placement = {Memory::kDevice, "cuda:0", nullptr}});
      return text_of([&] { reducer->wait(ticket, Deadline::never()); });
    };
    EXPECT_EQ(step(), "");
    simt::set_faults({.lose_at_work = 8});  // after the check of the gradient
    const std::string error = step();
    simt::clear_faults();
    EXPECT_NE(error, "");
    EXPECT_TRUE(group.broken());
    EXPECT_EQ(step(), error);
  });
}

}  // namespace
}  // namespace tandem::training::test
