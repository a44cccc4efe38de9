// SPDX-License-Identifier: Apache-2.0
//
// ErrorLines: what libraries print to std::cerr, as lines of the log.
//
// The Xilinx Runtime prints its messages piece by piece, so on standard error itself they and the
// log's lines tear each other. As long as the object lives whole lines are logged: with the
// severity that a line of XRT states ("[XRT] ERROR: ..."), as debugging where XRT introduces
// itself, and as warnings otherwise. No descriptor is touched: what other processes and C code
// print stays where it is. Threads: any, each with a line of its own; made and destroyed where no
// other thread prints.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>

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
   protected:
    int_type overflow(int_type c) override;
    std::streamsize xsputn(const char* text, std::streamsize count) override;
  };

  Lines lines_;
  std::streambuf* const before_;
  std::ostream raw_;
};

}  // namespace tandem::apps
