// SPDX-License-Identifier: Apache-2.0
//
// A bug that an emulated card found in a kernel or a program: one JSON line of the file that
// TANDEM_CARD_REPORT names.
//
// {"kind", "severity", "kernel", "unit", "argument", "file", "line", "message", ...}: what is not
// known is null. Texts are UTF-8. Cards and applications append to one file; a line is one write.
// Threads: any.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tandem::emulation {

struct Finding {
  std::string kind;      // as README.md lists them
  std::string severity;  // "error": wrong in any case; "warning": it may pass here, not on hardware
  std::string kernel;
  std::string unit;
  std::string argument;
  std::string file;
  int line = 0;
  std::string message;
  std::string stream;  // that it is about, if any; no member of the line
  std::vector<std::pair<std::string, std::string>> more;  // further members, values as JSON
};

// `text` as a JSON string, with its quotes. Bytes that are no UTF-8 are replaced.
std::string json_string(const std::string& text);
// Whether findings are told on standard error too. TANDEM_CARD_FINDINGS=report: no, they are in the
// report, and whoever reads it tells them.
bool tells_findings();
// Without the end of the line.
std::string json_line(const Finding& finding);
// Adds `line` and an end of line to the file. False, with errno set, when it cannot be written.
bool append_line(const std::string& file, std::string line);
bool append_finding(const std::string& file, const Finding& finding);

}  // namespace tandem::emulation
