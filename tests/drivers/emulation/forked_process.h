// SPDX-License-Identifier: Apache-2.0
//
// Several processes in one test: children forked before any card is open, messages and descriptors
// between them, and the card processes of a scope.
//
// A child's body returns whether it succeeded; an exception of it is printed. Threads: one.
#pragma once

#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "emulation/protocol/control_channel.h"

namespace tandem::emulation_test {

// The thread sanitizer takes a thread of a forked child for the parent's one at the same address,
// and delivers a signal to a loop at its next library call.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

// One end of a channel between two processes.
class Line {
 public:
  explicit Line(int socket) : socket_(socket) {}

  void say(const std::string& text, const std::vector<int>& descriptors = {}) {
    if (!emulation::send_message(socket_, text, descriptors)) throw std::runtime_error("no peer");
  }
  emulation::Message hear(std::chrono::seconds patience = std::chrono::seconds(50)) {
    emulation::Message message;
    if (!emulation::wait_for_message(socket_, patience) ||
        !emulation::receive_message(socket_, message)) {
      throw std::runtime_error("nothing heard");
    }
    return message;
  }

 private:
  int socket_;
};

class ForkedProcess {
 public:
  explicit ForkedProcess(const std::function<bool(Line&)>& body) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    id_ = fork();
    if (id_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(ends[0]);
      Line line(ends[1]);
      bool content = false;
      try {
        content = body(line);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "process %d: %s\n", getpid(), error.what());
      }
      std::fflush(nullptr);
      _exit(content ? 0 : 1);
    }
    close(ends[1]);
    socket_ = ends[0];
  }
  ~ForkedProcess() {
    kill();
    close(socket_);
  }
  ForkedProcess(const ForkedProcess&) = delete;
  ForkedProcess& operator=(const ForkedProcess&) = delete;

  Line line() const { return Line(socket_); }
  pid_t id() const { return id_; }
  void kill() {
    if (id_ <= 0) return;
    ::kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
    id_ = -1;
  }
  // True when the body succeeded.
  bool ended_well() {
    int status = -1;
    waitpid(id_, &status, 0);
    id_ = -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  pid_t id_ = -1;
  int socket_ = -1;
};

// A scope that no other test uses; set before the first card is opened.
inline std::string use_own_scope() {
  const std::string scope = "test-" + std::to_string(getpid());
  setenv("TANDEM_CARD_SCOPE", scope.c_str(), 1);
  return scope;
}

// Running processes that play a card of `scope`.
inline std::vector<pid_t> shared_card_processes(const std::string& scope) {
  const std::string wanted = "/" + scope + "/";
  std::vector<pid_t> found;
  DIR* processes = opendir("/proc");
  while (const dirent* entry = readdir(processes)) {
    std::ifstream in("/proc/" + std::string(entry->d_name) + "/cmdline");
    std::string program, option, name;
    std::getline(in, program, '\0');
    std::getline(in, option, '\0');
    std::getline(in, name, '\0');
    if (program == "tandem-card" && option == "--shared" && name.find(wanted) != name.npos) {
      found.push_back(std::atoi(entry->d_name));
    }
  }
  closedir(processes);
  return found;
}

// Waits for `condition`; false when the time is up.
inline bool eventually(const std::function<bool()>& condition) {
  for (int attempt = 0; attempt < 3000; ++attempt) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// The card's process. Of clients that start at once each starts one; all but one of them end.
inline pid_t shared_card_process(const std::string& scope) {
  std::vector<pid_t> found;
  eventually([&] {
    found = shared_card_processes(scope);
    return found.size() == 1;
  });
  return found.at(0);
}

inline bool all_gone(const std::string& scope) {
  return eventually([&] { return shared_card_processes(scope).empty(); });
}

}  // namespace tandem::emulation_test
