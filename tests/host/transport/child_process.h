// SPDX-License-Identifier: Apache-2.0
//
// ChildProcess: a program that a test starts, reads lines from, signals and reaps.
//
// Ends with the object: what still runs is killed, by its process id. Threads: one.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/deadline.h"

namespace tandem::test {

class ChildProcess {
 public:
  explicit ChildProcess(const std::vector<std::string>& command) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("no process");
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ends[0];
  }
  ~ChildProcess() {
    if (running_) {
      signal(SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(output_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void signal(int number) const { ::kill(pid_, number); }

  // The next line of its standard output; nothing at its end, or when the deadline passes.
  std::optional<std::string> line(Deadline deadline = Deadline::after(std::chrono::seconds(240))) {
    for (;;) {
      if (const auto end = unread_.find('\n'); end != std::string::npos) {
        std::string text = unread_.substr(0, end);
        unread_.erase(0, end + 1);
        return text;
      }
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline.remaining()).count();
      pollfd waiting{output_, POLLIN, 0};
      if (::poll(&waiting, 1, static_cast<int>(left)) <= 0) return std::nullopt;
      char buffer[4096];
      const auto bytes = ::read(output_, buffer, sizeof(buffer));
      if (bytes <= 0) return std::nullopt;
      unread_.append(buffer, static_cast<std::size_t>(bytes));
    }
  }

  // Its exit status, negative for the signal that ended it.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    running_ = false;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  bool running_ = true;
  std::string unread_;
};

}  // namespace tandem::test
