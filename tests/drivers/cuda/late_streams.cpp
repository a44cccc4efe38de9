// SPDX-License-Identifier: Apache-2.0
//
// Runs a whole test program with streams that work as late as a GPU may.
#include <gtest/gtest.h>

#include "gpu_kernels/simt/stream.h"

namespace tandem::simt {
namespace {

class LateStreams : public testing::Environment {
 public:
  void SetUp() override { set_lazy(true); }
  void TearDown() override { set_lazy(false); }
};

[[maybe_unused]] const auto* const kLateStreams =
    testing::AddGlobalTestEnvironment(new LateStreams);

}  // namespace
}  // namespace tandem::simt
