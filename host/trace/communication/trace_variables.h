// SPDX-License-Identifier: Apache-2.0
//
// The environment variables by which `tandem trace-comm` configures the libraries in traced
// processes.
#pragma once

namespace tandem::trace {

constexpr const char* kRecordFolder = "TANDEM_TRACE_COMM_FOLDER";        // where records go
constexpr const char* kModelAlgorithm = "TANDEM_TRACE_COMM_ALGORITHM";   // "ring", ...
constexpr const char* kRunBegin = "TANDEM_TRACE_COMM_BEGIN_S";           // Unix time
constexpr const char* kWindowLength = "TANDEM_TRACE_COMM_WINDOW_S";      // 0: one window
constexpr const char* kMostRecordedEvents = "TANDEM_TRACE_COMM_EVENTS";  // per process; 0: none
// What is traced: words of "mpi", "nccl", "gloo", "transport", "xrt", "cuda", with commas.
constexpr const char* kTracedKinds = "TANDEM_TRACE_COMM_KINDS";

}  // namespace tandem::trace
