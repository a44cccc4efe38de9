// SPDX-License-Identifier: Apache-2.0
//
// ErrorLines: logs whatever libraries write to std::cerr, line by line.
//
// The Xilinx Runtime (XRT) prints a message in pieces, which would mix with log lines on standard
// error. While an object exists, only whole lines are logged. The level is the severity in a line
// of XRT ("[XRT] ERROR: ..."), debug for its version lines, otherwise warning. A flush does not end
// a line, because std::cerr is flushed after each piece. The destructor logs unfinished lines. File
// descriptors do not change, so output of C code and other processes is not captured. Threads: any;
// each has its own line. Construct and destroy while no other thread prints.
#pragma once

#include <map>
#include <mutex>
#include <ostream>
#include <streambuf>
#include <string>
#include <thread>

namespace tandem::apps {

class ErrorLines {
 public:
  ErrorLines();
  ~ErrorLines();
  ErrorLines(const ErrorLines&) = delete;
  ErrorLines& operator=(const ErrorLines&) = delete;

  // The original standard error.
  std::ostream& raw() { return raw_; }

 private:
  class Lines final : public std::streambuf {
   public:
    void log_rests();

   protected:
    int_type overflow(int_type c) override;
    std::streamsize xsputn(const char* text, std::streamsize count) override;

   private:
    struct Line {
      std::string text;
      int introduction = 0;  // number of XRT's introduction lines that may still follow
    };

    static void log_line(Line& line, std::string text);
    void take(const char* text, std::size_t count);

    std::mutex mutex_;  // guards the map, not the line of a thread
    std::map<std::thread::id, Line> lines_;
  };

  Lines lines_;
  std::streambuf* const before_;
  std::ostream raw_;
};

}  // namespace tandem::apps
