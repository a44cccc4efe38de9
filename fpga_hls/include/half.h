// SPDX-License-Identifier: Apache-2.0
//
// half under the name that some kernels include it by. See hls_half.h.
#pragma once

#include "hls_half.h"
