// SPDX-License-Identifier: Apache-2.0
//
// The files that v++ writes beside its output: the log v++_<name>.log, and a summary of the run as
// JSON (<output>.compile_summary, .link_summary, .package_summary). An output such as /dev/null has
// no summary.
//
// The destructor writes the log, so that it includes an error. A log that cannot be written is no
// error. Threads: one per object.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/vpp/options.h"
#include "bitstreams/compiler/vpp/stages.h"

namespace tandem::vpp {

class RunLog {
 public:
  explicit RunLog(const std::vector<std::string>& arguments);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  // Sets the log's folder and name from the options. Without open(), no log is written.
  void open(const Options& options);

  // Each message is also printed: information to stdout, warnings and errors to stderr.
  void info(const std::string& line);
  void warning(const std::string& line);
  void error(const std::string& line);
  void compiler_output(const std::string& text);

 private:
  std::string path_;
  std::string text_;
};

void write_summary(const Options& options, const StageResult& result,
                   const std::vector<std::string>& arguments);

}  // namespace tandem::vpp
