// SPDX-License-Identifier: Apache-2.0
//
// CL/cl_ext.h of the XRT tree: OpenCL's extensions with those of XRT.
//
// Programs for cards use XRT's names (CL_MEM_EXT_PTR_XILINX, XCL_MEM_DDR_BANK0) but include only
// CL/cl2.hpp, CL/opencl.hpp or CL/opencl.h, which include this file. XRT's header includes OpenCL's
// own CL/cl_ext.h. It also defines the macros below. This file restores the program's values of
// these macros, because they change the declarations of OpenCL's headers.
#pragma once

#pragma push_macro("CL_USE_DEPRECATED_OPENCL_1_0_APIS")
#pragma push_macro("CL_USE_DEPRECATED_OPENCL_1_1_APIS")
#pragma push_macro("CL_USE_DEPRECATED_OPENCL_1_2_APIS")
#undef CL_USE_DEPRECATED_OPENCL_1_0_APIS
#undef CL_USE_DEPRECATED_OPENCL_1_1_APIS
#undef CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_ext_xilinx.h>
#pragma pop_macro("CL_USE_DEPRECATED_OPENCL_1_2_APIS")
#pragma pop_macro("CL_USE_DEPRECATED_OPENCL_1_1_APIS")
#pragma pop_macro("CL_USE_DEPRECATED_OPENCL_1_0_APIS")
