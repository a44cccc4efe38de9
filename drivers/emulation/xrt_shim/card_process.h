// SPDX-License-Identifier: Apache-2.0
//
// The tandem-card process of one emulated card: started on construction, watched, ended on
// destruction.
//
// A thread of its own starts the process (so that the parent-death signal is bound to the whole
// application) and waits for its end; `on_death` then runs on that thread, once, unless the object
// is being destroyed. The process is in a process group of its own: Ctrl-C in the terminal reaches
// the application only. Errors: the constructor throws std::runtime_error saying what to do.
// Threads: call() is serialised; the rest is for the owner.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tandem::emulation {

class CardProcess {
 public:
  CardProcess(const std::string& executable, std::function<void()> on_death);
  ~CardProcess();
  CardProcess(const CardProcess&) = delete;
  CardProcess& operator=(const CardProcess&) = delete;

  // Sends a request and waits for the answer: empty when it was "ok", else what went wrong. A
  // process that gives none within `timeout` (stopped, or code of a kernel library that never
  // returns) is killed.
  std::string call(const std::string& request, const std::vector<int>& descriptors,
                   std::chrono::milliseconds timeout);
  // False in a child forked from the process that made the object.
  bool owned_here() const;

 private:
  void run(const std::string& executable, int card_socket, std::promise<int>& started);
  void watch();
  void reap();
  void kill_process();

  std::function<void()> on_death_;
  std::mutex call_mutex_;
  int socket_ = -1;
  int stop_event_ = -1;
  std::mutex process_mutex_;  // a reaped process' id may be another's
  pid_t process_id_ = -1;     // -1 once reaped
  const pid_t owner_;
  std::thread watcher_;
};

}  // namespace tandem::emulation
