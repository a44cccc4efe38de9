// SPDX-License-Identifier: Apache-2.0
//
// Not part of the simulation headers: an include fails with a message. Vitis' own set of headers
// has it.
#pragma once

#error "hls_dds.h is not part of Tandem's simulation headers: name Vitis' by --hls_include"
