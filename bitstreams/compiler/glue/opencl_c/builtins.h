// SPDX-License-Identifier: Apache-2.0
//
// The built-in functions of OpenCL C for kernels on an emulated card; included before the source.
//
// The types and constants are clang's own (opencl-c-base.h). Not offered: images, samplers, device
// queues, sub-groups and collective functions of a work-group, which Vitis does not have either.
#pragma once

#include "atomics.h"
#include "common_functions.h"
#include "conversions.h"
#include "integer_functions.h"
#include "math_functions.h"
#include "pipes.h"
#include "relational_functions.h"
#include "vector_data.h"
#include "work_item.h"
