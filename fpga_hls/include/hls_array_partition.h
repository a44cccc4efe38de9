// SPDX-License-Identifier: Apache-2.0
//
// hls::gather<T, N>(array, {i, j, ...}): reads N elements of a partitioned array at once, as the
// lanes of an hls::vector.
//
// Software has no banks, so it accepts any indices; hardware needs each index in a different bank.
// C++11.
#pragma once

#include <cstddef>

#include "hls_vector.h"

#include "tandem_macros_begin.h"

namespace hls {

template <typename T, std::size_t N>
vector<T, N> gather(const T* array, const std::size_t (&indices)[N]) {
  vector<T, N> values;
  for (std::size_t lane = 0; lane < N; ++lane) values[lane] = array[indices[lane]];
  return values;
}

}  // namespace hls

#include "tandem_macros_end.h"
