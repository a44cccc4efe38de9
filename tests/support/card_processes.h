// SPDX-License-Identifier: Apache-2.0
//
// The processes that play this program's emulated cards: finding them, and stopping one so that its
// next command hangs. Threads: one.
#pragma once

#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace tandem::test {

// The processes of cards that the process `application` has for itself.
inline std::vector<pid_t> card_processes(pid_t application = getpid()) {
  const std::string wanted("tandem-card\0--application\0", 26);
  std::vector<pid_t> found;
  DIR* processes = opendir("/proc");
  while (const dirent* entry = readdir(processes)) {
    const pid_t process = std::atoi(entry->d_name);
    if (process <= 0) continue;
    std::ifstream in("/proc/" + std::string(entry->d_name) + "/cmdline");
    std::string line;
    std::getline(in, line);  // which reads nothing of a process that is just ending
    if (line == wanted + std::to_string(application) + '\0') found.push_back(process);
  }
  closedir(processes);
  return found;
}

inline bool all_threads_stopped(pid_t process) {
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    std::ifstream in(task.path() / "stat");
    std::string id, name, state;
    in >> id >> name >> state;
    if (state != "T") return false;
  }
  return true;
}

// Returns once no thread of the card runs: the signal alone leaves it a moment to finish a command.
inline void stop(pid_t process) {
  ASSERT_EQ(kill(process, SIGSTOP), 0);
  for (int i = 0; i < 5000 && !all_threads_stopped(process); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace tandem::test
