// SPDX-License-Identifier: Apache-2.0
//
// Reads the record of one process of a traced program, which TrafficRecorder writes. Threads: pure
// functions. Errors: Error("communication", ...) with file and line.
#pragma once

#include <string>
#include <string_view>

#include "trace/communication/traffic.h"

namespace tandem::trace {

// The first words of a file. The format:
//
//   tandem-communication 1
//   rank 0 of 4 on node-1
//   model ring
//   windows SECONDS         if there are several
//   unmodelled OPERATION CALLS
//   cell SOURCE DESTINATION KIND OPERATION PHASE WINDOW BYTES MESSAGES
//   event SECONDS SOURCE DESTINATION KIND OPERATION PHASE BYTES MESSAGES     also counted in a cell
//   dropped_events COUNT    events that the process did not keep
//   cards COUNT on HOST     in place of a rank: parties are cards, or GPUs: "gpus 8 on node-1"
//   counted ...             the fields of a cell: what the transport counted
//   modelled ...            the same fields: calls of an algorithm, as its model says
//   carried ...             the same fields: these calls, as the transport counted them
//   end
//
// -1 as a rank is the switch, -2 the host of cards. SECONDS count from the start of the run. A file
// without its last line is refused, because its process died while it wrote the file.
constexpr std::string_view kRecordFileStart = "tandem-communication ";

// Adds the record to `traffic`. `name` is for errors.
void read_record(const std::string& text, const std::string& name, Traffic& traffic);

// Adds the counts of one rank from Open MPI's monitoring component (a file "PREFIX.RANK.prof").
void read_transport_counts(const std::string& text, const std::string& name, Traffic& traffic);

}  // namespace tandem::trace
