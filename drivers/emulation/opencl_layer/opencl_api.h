// SPDX-License-Identifier: Apache-2.0
//
// OpenCL 2.0 with the calls of 1.2 that programs for cards make, and what a layer exports.
#pragma once

#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_layer.h>
