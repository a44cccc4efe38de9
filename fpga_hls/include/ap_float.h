// SPDX-License-Identifier: Apache-2.0
//
// The simulation headers do not have this one, and say so where a kernel includes it; Vitis' own
// set of headers has it.
#pragma once

#error "ap_float.h is not part of Tandem's simulation headers: name Vitis' by --hls_include"
