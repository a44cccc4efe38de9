// SPDX-License-Identifier: Apache-2.0
//
// fork() takes the lock in the parent and releases it in parent and child; the child closes the
// listed descriptors.
#include "emulation/xrt_shim/process/fork_pause.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

namespace tandem::emulation {
namespace {

struct Listed {
  std::mutex mutex;
  std::vector<int> descriptors;
  std::optional<ForkPause> of_fork;  // guarded by the lock it holds
};

// Never destroyed: a program may fork while it ends.
Listed& listed() {
  static auto& listed = *new Listed;
  return listed;
}

[[maybe_unused]] const int registered =
    pthread_atfork([] { listed().of_fork.emplace(); }, [] { listed().of_fork.reset(); },
                   [] {
                     for (int descriptor : listed().descriptors) close(descriptor);
                     listed().descriptors.clear();
                     listed().of_fork.reset();
                   });

}  // namespace

ForkPause::ForkPause() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &signals_before_);
  listed().mutex.lock();
}

ForkPause::~ForkPause() {
  const sigset_t before = signals_before_;
  listed().mutex.unlock();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ForkPause::keep_from_children(int descriptor) { listed().descriptors.push_back(descriptor); }

void ForkPause::close_listed(int descriptor) {
  auto& descriptors = listed().descriptors;
  descriptors.erase(std::remove(descriptors.begin(), descriptors.end(), descriptor),
                    descriptors.end());
  close(descriptor);
}

}  // namespace tandem::emulation
