// SPDX-License-Identifier: Apache-2.0
//
// CL/cl2.hpp of the XRT tree: OpenCL's C++ bindings under the file name that programs for cards
// include.
//
// The package's own file of this name prints a note at every inclusion. It also hides functions
// that OpenCL 1.2 deprecated (enqueueBarrier and others), which these programs call.
#pragma once

#ifndef CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#endif
#include <CL/opencl.hpp>
