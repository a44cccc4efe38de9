// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing the pipes of a program, which the driver has turned into numbers.
//
// The blocking forms are the vendor's; the others answer 0, or -1 when nothing moved.
// Source: OpenCL C 2.0, section 6.13.16; the Vitis documentation of OpenCL kernels.
#pragma once

#include "overloads.h"

int tandem_cl_pipe_read(uint pipe, ulong to, uint wait);
int tandem_cl_pipe_write(uint pipe, ulong from, uint wait);
#define read_pipe_block(pipe, to) ((void)tandem_cl_pipe_read(pipe, (ulong)(to), 1))
#define write_pipe_block(pipe, from) ((void)tandem_cl_pipe_write(pipe, (ulong)(from), 1))
#define read_pipe(pipe, to) tandem_cl_pipe_read(pipe, (ulong)(to), 0)
#define write_pipe(pipe, from) tandem_cl_pipe_write(pipe, (ulong)(from), 0)
