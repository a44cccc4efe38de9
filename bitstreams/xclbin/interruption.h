// SPDX-License-Identifier: Apache-2.0
//
// What a program cleans up when SIGINT, SIGTERM or SIGHUP ends it: temporary files and folders, and
// the compilers it has started.
//
// A thread waits for the signals, which are blocked everywhere else; it ends the children, removes
// the paths, and ends the process with the signal. What is registered afterwards waits for that
// end. In a program that does not call clean_up_on_interruption() the objects here do nothing.
// Threads: any.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>

namespace tandem::xclbin {

// To be called by main() before any other thread starts. A signal that the program was started to
// ignore (nohup) stays ignored.
void clean_up_on_interruption();

// While it lives, an interruption removes the file or folder that `make` made and returned.
class RemovedOnInterruption {
 public:
  explicit RemovedOnInterruption(const std::function<std::filesystem::path()>& make);
  ~RemovedOnInterruption();
  RemovedOnInterruption(const RemovedOnInterruption&) = delete;
  RemovedOnInterruption& operator=(const RemovedOnInterruption&) = delete;

 private:
  std::filesystem::path path_;
};

// While it lives, an interruption ends the process group that `start` returned the leader of.
// `start` returns 0 when there is none.
class EndedOnInterruption {
 public:
  explicit EndedOnInterruption(const std::function<pid_t()>& start);
  ~EndedOnInterruption();
  EndedOnInterruption(const EndedOnInterruption&) = delete;
  EndedOnInterruption& operator=(const EndedOnInterruption&) = delete;

 private:
  pid_t group_ = 0;
};

}  // namespace tandem::xclbin
