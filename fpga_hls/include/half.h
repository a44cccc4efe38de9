// SPDX-License-Identifier: Apache-2.0
//
// The type half under the name that some kernels include. See hls_half.h.
#pragma once

#include "hls_half.h"
