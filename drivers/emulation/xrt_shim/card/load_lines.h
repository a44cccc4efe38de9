// SPDX-License-Identifier: Apache-2.0
//
// load_lines: makes the lines of a request to load a bitstream (format:
// card/program/load_request.h).
//
// `units`: the compute units of the file in XRT's order. A unit without a control protocol and
// without global memory is free-running. A link is named by its ends: "reader_1.out->adder_1.in".
// Pure.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/xclbin/xclbin_file.h"

namespace tandem::emulation {

std::string load_lines(const xclbin::XclbinFile& file,
                       const std::vector<xclbin::ComputeUnit>& units);

}  // namespace tandem::emulation
