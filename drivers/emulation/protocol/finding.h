// SPDX-License-Identifier: Apache-2.0
//
// Finding: a bug that an emulated card found in a kernel or a program. It is one JSON line of the
// file that TANDEM_CARD_REPORT names.
//
// {"kind", "severity", "kernel", "unit", "argument", "file", "line", "message", ...}: unknown
// values are null. Texts are UTF-8. Cards and applications append to one file; each line is one
// write. Threads: any.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tandem::emulation {

struct Finding {
  std::string kind;      // one of those that README.md lists
  std::string severity;  // "error": always wrong; "warning": it may pass here, but fail on hardware
  std::string kernel;
  std::string unit;
  std::string argument;
  std::string file;
  int line = 0;
  std::string message;
  std::string stream;  // the stream that it is about, if any; not a member of the line
  std::vector<std::pair<std::string, std::string>> more;  // further members, values as JSON
};

// `text` as a JSON string with quotes. Invalid UTF-8 bytes are replaced.
std::string json_string(const std::string& text);
// Whether findings are also printed to standard error. Not with TANDEM_CARD_FINDINGS=report: the
// reader of the report then prints them.
bool tells_findings();
// The JSON line without a line end.
std::string json_line(const Finding& finding);
// Appends `line` and a line end to the file. Returns false, with errno set, if it cannot be
// written.
bool append_line(const std::string& file, std::string line);
bool append_finding(const std::string& file, const Finding& finding);

}  // namespace tandem::emulation
