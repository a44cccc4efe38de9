// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes the pipes of a program. The driver replaces each pipe by a number.
//
// The blocking forms are the vendor's extension. The other forms return 0, or -1 when no packet
// moved. Source: OpenCL C 2.0, section 6.13.16; the Vitis documentation of OpenCL kernels.
#pragma once

#include "overloads.h"

int tandem_cl_pipe_read(uint number, ulong to, uint wait);
int tandem_cl_pipe_write(uint number, ulong from, uint wait);
#define read_pipe_block(name, to) ((void)tandem_cl_pipe_read(name, (ulong)(to), 1))
#define write_pipe_block(name, from) ((void)tandem_cl_pipe_write(name, (ulong)(from), 1))
#define read_pipe(name, to) tandem_cl_pipe_read(name, (ulong)(to), 0)
#define write_pipe(name, from) tandem_cl_pipe_write(name, (ulong)(from), 0)
