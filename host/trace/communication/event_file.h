// SPDX-License-Identifier: Apache-2.0
//
// The single events of a run as a file: one line per event, sorted by time.
//
//   time_s,source,destination,bytes,messages,kind,operation,phase
//   0.0012345,rank 0,rank 1,4096,1,mpi_point_to_point,send,0
// Times count from the start of the run. Parties are named as in the matrices. If no event was
// dropped, sums over the lines give the matrices for any windows and phases; import_events()
// computes them. Errors of reading: Error("communication", ...) with file and line. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "trace/communication/traffic.h"

namespace tandem::trace {

constexpr std::string_view kEventFileStart = "time_s,source,destination,bytes,";

// Passes the file to `write`, one piece at a time.
void write_events(const Traffic& traffic, const std::function<void(const std::string&)>& write);

}  // namespace tandem::trace
