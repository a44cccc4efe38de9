// SPDX-License-Identifier: Apache-2.0
//
// States from /proc: a thread that ends meanwhile has no file any more, and counts as asleep.
#include "emulation/opencl_layer/thread_states.h"

#include <ctime>
#include <fstream>
#include <string>

namespace tandem::emulation {
namespace {

bool is_asleep(const std::filesystem::path& task) {
  std::ifstream file(task / "stat");
  std::string text;
  if (!std::getline(file, text)) return true;  // the thread has ended
  const size_t name_end = text.rfind(')');     // a name may contain brackets itself
  return name_end == std::string::npos || text.compare(name_end, 3, ") S") == 0;
}

}  // namespace

bool others_asleep(const std::filesystem::path& tasks, pid_t self) {
  const std::string own = std::to_string(self);
  std::error_code gone;
  std::filesystem::directory_iterator task(tasks, gone), end;
  while (!gone && task != end) {
    if (task->path().filename() != own && !is_asleep(task->path())) return false;
    task.increment(gone);
  }
  return true;
}

bool wait_until_asleep(const SleepWait& wait, const SleepCalls& calls) {
  const auto before = calls.used();
  int in_a_row = 0;
  for (int poll = 0; poll < wait.max_polls && calls.used() - before < wait.max_used; ++poll) {
    in_a_row = calls.asleep() ? in_a_row + 1 : 0;
    calls.pause();
    if (in_a_row >= wait.confirmations) return true;
  }
  return false;
}

std::chrono::nanoseconds used_by_others() {
  timespec all{}, own{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
  return std::chrono::seconds(all.tv_sec - own.tv_sec) +
         std::chrono::nanoseconds(all.tv_nsec - own.tv_nsec);
}

}  // namespace tandem::emulation
