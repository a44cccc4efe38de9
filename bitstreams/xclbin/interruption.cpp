// SPDX-License-Identifier: Apache-2.0
//
// A thread calls sigwait; unlike a signal handler it may walk folders and take locks. It never
// releases the lock once an interruption has begun, so nothing can be registered after that.
#include "bitstreams/xclbin/interruption.h"

#include <chrono>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>

namespace tandem::xclbin {
namespace {

namespace fs = std::filesystem;

struct Remains {
  std::mutex mutex;
  std::set<fs::path> paths;
  std::set<pid_t> groups;
};

// Never destroyed: the waiting thread ends only with the process.
Remains& remains() {
  static Remains& instance = *new Remains;
  return instance;
}

// SIGTERM first, so that compilers can remove their temporary files.
void end(pid_t group) {
  for (const int signal : {SIGTERM, SIGKILL}) {
    kill(-group, signal);
    for (int attempt = 0; attempt < 100; ++attempt) {
      if (kill(-group, 0) != 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

void wait_for(sigset_t signals) {
  int signal = 0;
  if (sigwait(&signals, &signal) != 0) return;
  Remains& left = remains();
  left.mutex.lock();
  for (const pid_t group : left.groups) end(group);
  std::error_code ignored;
  for (const fs::path& path : left.paths) fs::remove_all(path, ignored);
  std::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  raise(signal);
}

}  // namespace

void clean_up_on_interruption() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction known {};
    sigaction(signal, nullptr, &known);
    if (known.sa_handler != SIG_IGN) sigaddset(&signals, signal);
  }
  remains();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread(wait_for, signals).detach();
}

RemovedOnInterruption::RemovedOnInterruption(const std::function<fs::path()>& make) {
  const std::lock_guard lock(remains().mutex);
  path_ = fs::absolute(make());
  remains().paths.insert(path_);
}

RemovedOnInterruption::~RemovedOnInterruption() {
  const std::lock_guard lock(remains().mutex);
  remains().paths.erase(path_);
}

EndedOnInterruption::EndedOnInterruption(const std::function<pid_t()>& start) {
  const std::lock_guard lock(remains().mutex);
  group_ = start();
  if (group_ != 0) remains().groups.insert(group_);
}

EndedOnInterruption::~EndedOnInterruption() {
  const std::lock_guard lock(remains().mutex);
  remains().groups.erase(group_);
}

}  // namespace tandem::xclbin
