// SPDX-License-Identifier: Apache-2.0
//
// The lines of a request to load a bitstream (their form: card/program/load_request.h).
//
// `units`: the file's compute units in XRT's order. A unit without a control protocol and without
// global memory runs freely. A link is named after its ends, "reader_1.out->adder_1.in". Pure.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/xclbin/xclbin_file.h"

namespace tandem::emulation {

std::string load_lines(const xclbin::XclbinFile& file,
                       const std::vector<xclbin::ComputeUnit>& units);

}  // namespace tandem::emulation
