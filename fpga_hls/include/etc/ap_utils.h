// SPDX-License-Identifier: Apache-2.0
//
// Clock-cycle controls of HLS kernels, under the folder that older kernels name.
//
// ../ap_utils.h has them. The numbers of ap_int.h come with it, as kernels expect. C++11.
#pragma once

#include "../ap_int.h"
#include "../ap_utils.h"
