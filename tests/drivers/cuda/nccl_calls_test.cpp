// SPDX-License-Identifier: Apache-2.0
//
// The reducer and the nccl transport share one loaded NCCL.
#include "cuda/group/nccl_calls.h"

#include <gtest/gtest.h>

#include "common/nccl_library.h"

namespace tandem::cuda {
namespace {

TEST(NcclCalls, UseTheLibraryThatTheProcessHasLoaded) {
  EXPECT_EQ(nccl_calls() == nullptr, nccl_library() == nullptr);
  EXPECT_EQ(&nccl_reason(), &nccl_library_reason());
}

TEST(NcclCalls, AreAbsentForAReason) { EXPECT_EQ(nccl_calls() == nullptr, !nccl_reason().empty()); }

}  // namespace
}  // namespace tandem::cuda
