// SPDX-License-Identifier: Apache-2.0
//
// The emulated cards of this process, as the system lists them.
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace tandem::emulation_test {

// Processes called tandem-card whose parent is this one.
inline std::vector<pid_t> card_processes() {
  std::vector<pid_t> found;
  DIR* processes = opendir("/proc");
  while (const dirent* entry = readdir(processes)) {
    const pid_t process = std::atoi(entry->d_name);
    if (process <= 0) continue;
    std::ifstream in("/proc/" + std::string(entry->d_name) + "/stat");
    std::string id, name, state;
    pid_t parent = 0;
    in >> id >> name >> state >> parent;
    if (name == "(tandem-card)" && parent == getpid() && state != "Z") found.push_back(process);
  }
  closedir(processes);
  return found;
}

}  // namespace tandem::emulation_test
