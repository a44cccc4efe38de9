// SPDX-License-Identifier: Apache-2.0
//
// Declares OpenCL 2.0 with the deprecated calls of 1.2 that programs for cards use, and the exports
// of a layer.
#pragma once

#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_layer.h>
