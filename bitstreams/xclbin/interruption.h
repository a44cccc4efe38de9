// SPDX-License-Identifier: Apache-2.0
//
// Cleans up when SIGINT, SIGTERM or SIGHUP ends a program: removes temporary files and folders, and
// ends the compilers that it started.
//
// The signals are blocked in all threads; one thread waits for them. It ends the children, removes
// the paths, and ends the process with the signal. A registration after that blocks until the
// process ends. In a program that does not call clean_up_on_interruption() the objects here have no
// effect. Threads: any.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>

namespace tandem::xclbin {

// main() calls this before any other thread starts. A signal that was ignored at the start of the
// program (nohup) stays ignored.
void clean_up_on_interruption();

// During its lifetime an interruption removes the file or folder that `make` created and returned.
class RemovedOnInterruption {
 public:
  explicit RemovedOnInterruption(const std::function<std::filesystem::path()>& make);
  ~RemovedOnInterruption();
  RemovedOnInterruption(const RemovedOnInterruption&) = delete;
  RemovedOnInterruption& operator=(const RemovedOnInterruption&) = delete;

 private:
  std::filesystem::path path_;
};

// During its lifetime an interruption ends the process group whose leader `start` returned.
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
