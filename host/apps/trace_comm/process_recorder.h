// SPDX-License-Identifier: Apache-2.0
//
// What the libraries in traced processes share: the recorder as the environment describes it, and
// where its record goes. Threads: any.
#pragma once

#include <string>

#include "trace/communication/recorder.h"

namespace tandem::apps {

// Whether `tandem trace-comm` has started this process.
bool is_traced();

// One for the process; made at the first call and never destroyed, because calls come until exit.
trace::TrafficRecorder& process_recorder();

// How collectives are modelled.
trace::CollectiveAlgorithm process_algorithm();

// Writes the record of a rank; says on standard error when it cannot. `source`: "mpi" or "nccl",
// part of the file's name.
void write_process_record(const std::string& source, int rank, int world);

// The record of a further rank of this process, whose flows are in the record above.
void write_empty_record(const std::string& source, int rank, int world);

}  // namespace tandem::apps
