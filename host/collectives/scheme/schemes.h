// SPDX-License-Identifier: Apache-2.0
//
// Declares the scheme objects for the registry. Each scheme's own file defines its object.
#pragma once

#include "collectives/scheme/scheme.h"

namespace tandem::collectives {

const Scheme& allgather_sparse();
const Scheme& balanced_parallelism();
const Scheme& dense_halving_doubling();
const Scheme& dense_ring();
const Scheme& hierarchical_centralisation();
const Scheme& ok_topk();
const Scheme& omnireduce();
const Scheme& parameter_server();
const Scheme& sparcml_recursive_doubling();
const Scheme& sparcml_split_allgather();
const Scheme& sparcml_split_dense();
const Scheme& two_level();

}  // namespace tandem::collectives
