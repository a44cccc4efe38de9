// SPDX-License-Identifier: Apache-2.0
//
// The schemes of this build, by name.
#include <array>

#include "collectives/scheme/scheme.h"
#include "collectives/scheme/schemes.h"

namespace tandem::collectives {

std::span<const Scheme* const> all_schemes() {
  static const std::array<const Scheme*, 12> schemes = {
      &dense_ring(),
      &dense_halving_doubling(),
      &allgather_sparse(),
      &sparcml_recursive_doubling(),
      &sparcml_split_allgather(),
      &sparcml_split_dense(),
      &omnireduce(),
      &parameter_server(),
      &ok_topk(),
      &hierarchical_centralisation(),
      &balanced_parallelism(),
      &two_level(),
  };
  return schemes;
}

const Scheme& scheme_by_name(std::string_view name) {
  std::string known;
  for (const Scheme* scheme : all_schemes()) {
    if (scheme->name() == name) return *scheme;
    known += known.empty() ? "" : ", ";
    known += scheme->name();
  }
  throw Error("collectives",
              "no scheme is called '" + std::string(name) + "'; there are: " + known);
}

}  // namespace tandem::collectives
