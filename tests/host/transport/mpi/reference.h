// SPDX-License-Identifier: Apache-2.0
//
// Every scheme against MPI_Allreduce on the same data, dense, u64 and f32.
//
// The f32 values are small multiples of 1/256, so that their sums are exact in any order and the
// comparison is of bits. Throws std::runtime_error naming scheme and type.
#pragma once

#include "transport/transport.h"

namespace tandem::test {

void compare_with_mpi_allreduce(transport::Transport& transport);

}  // namespace tandem::test
