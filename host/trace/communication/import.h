// SPDX-License-Identifier: Apache-2.0
//
// import_traffic(): reads files of other tools as Traffic.
//
// The kind of a file is told from its beginning: NCCL Inspector (JSON, a line per operation; one
// file per process), Nsight Systems (SQLite export), nvprof (CSV of --print-gpu-trace), Snoopie (a
// log per process), or a record or the events of this program. Several files must be of one kind.
// NCCL's collectives are modelled by `algorithm`, because Inspector does not report the algorithm;
// it does not report roots either, so rank 0 counts as the root. nvprof rounds sizes to some
// digits. Errors: Error("communication", ...) with the file and its line, row or field. Threads:
// pure, except for reading files.
#pragma once

#include <string>
#include <vector>

#include "trace/communication/collective_model.h"
#include "trace/communication/traffic.h"

namespace tandem::trace {

struct ImportOptions {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  double window_s = 0;  // where the file has times; 0: one window. A record has its own windows
  bool keep_events = false;
};

// A file in memory. `name` is for errors; SQLite files are opened by this name.
struct ImportFile {
  std::string name, text;
};

Traffic import_traffic(const std::vector<std::string>& paths, const ImportOptions& options);

// The parts of import_traffic(), for tests.
Traffic import_inspector(const std::vector<ImportFile>& files, const ImportOptions& options);
Traffic import_nvprof(const ImportFile& file, const ImportOptions& options);
Traffic import_nsight(const ImportFile& file, const ImportOptions& options);
Traffic import_snoopie(const std::vector<ImportFile>& files);
Traffic import_events(const std::vector<ImportFile>& files, const ImportOptions& options);

}  // namespace tandem::trace
