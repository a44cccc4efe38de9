// SPDX-License-Identifier: Apache-2.0
//
// ErrorLines: what libraries print to std::cerr, as lines of the log.
//
// The Xilinx Runtime prints its messages piece by piece, so on standard error itself they and the
// log's lines tear each other. As long as the object lives whole lines are logged: with the
// severity that a line of XRT states ("[XRT] ERROR: ..."), as debugging where XRT introduces
// itself, and as warnings otherwise. What has no end of line by the object's end is logged then; a
// flush is none, as std::cerr is flushed after each piece. No descriptor is touched: what other
// processes and C code print stays where it is. Threads: any, each with a line of its own; made and
// destroyed where no other thread prints.
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

  // Standard error as it was before.
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
      int introduction = 0;  // lines of XRT's that may still come
    };

    static void log_line(Line& line, std::string text);
    void take(const char* text, std::size_t count);

    std::mutex mutex_;  // guards the map, not a thread's line
    std::map<std::thread::id, Line> lines_;
  };

  Lines lines_;
  std::streambuf* const before_;
  std::ostream raw_;
};

}  // namespace tandem::apps
