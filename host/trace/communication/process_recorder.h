// SPDX-License-Identifier: Apache-2.0
//
// What the libraries in traced processes share: the recorder as the environment describes it, and
// where its record goes. Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "trace/communication/recorder.h"

namespace tandem::trace {

// Whether `tandem trace-comm` has started this process.
bool is_traced();

// Whether it traces `kind`: "mpi", "nccl", "transport", ...
bool traces_kind(std::string_view kind);

// One for the process; made at the first call and never destroyed, because calls come until exit.
TrafficRecorder& process_recorder();

// How collectives are modelled.
CollectiveAlgorithm process_algorithm();

// Writes the record of a rank; says on standard error when it cannot. `source`: "mpi", "nccl"
// or "transport", part of the file's name.
void write_process_record(const std::string& source, int rank, int world);

// The record of a further rank of this process, whose flows are in the record above.
void write_empty_record(const std::string& source, int rank, int world);

}  // namespace tandem::trace
