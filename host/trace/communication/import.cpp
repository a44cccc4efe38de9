// SPDX-License-Identifier: Apache-2.0
//
// Tells the kind of each file from its first bytes.
#include "trace/communication/import.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "common/error.h"
#include "trace/communication/event_file.h"
#include "trace/communication/record_file.h"

namespace tandem::trace {
namespace {

enum class ImportKind { kInspector, kNsight, kNvprof, kSnoopie, kRecord, kEvents };

constexpr std::string_view kSqliteStart = "SQLite format 3";

ImportFile read_import_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    throw Error("communication", "cannot read '" + path + "': " + std::strerror(errno));
  }
  std::string head(kSqliteStart.size(), '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(stream.gcount()));
  if (head == kSqliteStart) return {path, head};  // SQLite reads the rest
  stream.clear();
  stream.seekg(0);
  ImportFile file{path, {std::istreambuf_iterator<char>(stream), {}}};
  if (stream.bad() || head.empty()) {
    throw Error("communication", "'" + path + "' is empty or cannot be read");
  }
  return file;
}

ImportKind kind_of_file(const ImportFile& file) {
  if (file.text.starts_with(kSqliteStart)) return ImportKind::kNsight;
  if (file.text.starts_with(kRecordFileStart)) return ImportKind::kRecord;
  if (file.text.starts_with(kEventFileStart)) return ImportKind::kEvents;
  const std::size_t first = file.text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && file.text[first] == '{') return ImportKind::kInspector;
  if (file.text.starts_with("==") || file.text.find("\"Start\"") != std::string::npos ||
      file.text.starts_with("Start,")) {
    return ImportKind::kNvprof;
  }
  if (file.text.starts_with("op_code")) return ImportKind::kSnoopie;
  throw Error(
      "communication",
      "'" + file.name +
          "' is none of: JSON of NCCL Inspector, an SQLite export of Nsight Systems, CSV of "
          "nvprof --print-gpu-trace, a log of Snoopie (unpacked), a record or the events of tandem "
          "trace-comm");
}

}  // namespace

Traffic import_traffic(const std::vector<std::string>& paths, const ImportOptions& options) {
  std::vector<ImportFile> files;
  for (const std::string& path : paths) files.push_back(read_import_file(path));
  if (files.empty()) throw Error("communication", "there is no file to import");
  const ImportKind kind = kind_of_file(files.front());
  for (const ImportFile& file : files) {
    if (kind_of_file(file) != kind) {
      throw Error("communication", "'" + file.name + "' and '" + files.front().name +
                                       "' are of different kinds; import them one after the other");
    }
  }
  if (kind == ImportKind::kInspector) return import_inspector(files, options);
  if (kind == ImportKind::kSnoopie) return import_snoopie(files);
  if (kind == ImportKind::kEvents) return import_events(files, options);
  if (kind == ImportKind::kRecord) {
    Traffic traffic;
    traffic.set_keeps_events(options.keep_events);
    for (const ImportFile& file : files) read_record(file.text, file.name, traffic);
    return traffic;
  }
  if (files.size() > 1) {
    throw Error("communication", "give one file of this kind: '" + files.front().name +
                                     "' holds all devices of its run");
  }
  return kind == ImportKind::kNsight ? import_nsight(files.front(), options)
                                     : import_nvprof(files.front(), options);
}

}  // namespace tandem::trace
