// SPDX-License-Identifier: Apache-2.0
//
// Shared by the libraries in traced processes: the recorder, configured by the environment, and the
// place of its record. Threads: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "trace/communication/recorder.h"

namespace tandem::trace {

// Whether `tandem trace-comm` has started this process.
bool is_traced();

// Whether it traces `kind`: "mpi", "nccl", "transport", ...
bool traces_kind(std::string_view kind);

// The time since the start of the run. Without windows and events the clock is not read, and the
// result is 0.
double process_time_s();

// The window of that time.
int process_window(double time_s);

// The most events that a source of this process keeps.
std::size_t most_process_events();

// One for the process; made at the first call and never destroyed, because calls come until exit.
TrafficRecorder& process_recorder();

// How collectives are modelled.
CollectiveAlgorithm process_algorithm();

// Writes the record of a rank; prints an error if it cannot. `source`: "mpi", "nccl" or
// "transport", a part of the file's name.
void write_process_record(const std::string& source, int rank, int world);

// The record of a process whose parties are its GPUs.
void write_gpu_record(const std::string& source, int gpus);

// The record of a further rank of this process, whose flows are in the record above.
void write_empty_record(const std::string& source, int rank, int world);

}  // namespace tandem::trace
