// SPDX-License-Identifier: Apache-2.0
//
// The schemes' objects, for the registry; each is defined in the file of its name.
#pragma once

#include "collectives/scheme/scheme.h"

namespace tandem::collectives {

const Scheme& allgather_sparse();

}  // namespace tandem::collectives
