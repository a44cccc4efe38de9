// SPDX-License-Identifier: Apache-2.0
//
// A thread that reads a signalfd.
#include "apps/serve/signal_watch.h"

#include <poll.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "common/error.h"

namespace tandem::apps {
namespace {

constexpr int kMercyMs = 2000;  // between a second signal and the end of the process

sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

}  // namespace

StopCount::Wish StopCount::add(Time now) {
  if (last_ && now - *last_ < kSameWithin) return Wish::kSame;
  last_ = now;
  ++wishes_;
  if (wishes_ == 1) return Wish::kStop;
  return wishes_ == 2 ? Wish::kStopNow : Wish::kKill;
}

SignalWatch::SignalWatch() {
  const sigset_t signals = watched_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  end_ = eventfd(0, EFD_CLOEXEC);
  if (signals_ < 0 || end_ < 0) {
    throw Error("serve", std::string("cannot watch signals: ") + std::strerror(errno));
  }
  thread_ = std::thread([this] { watch(); });
}

SignalWatch::~SignalWatch() {
  eventfd_write(end_, 1);
  thread_.join();
  close(signals_);
  close(end_);
}

void SignalWatch::begin_to_serve() {
  const std::scoped_lock lock(mutex_);
  serves_ = true;
}

int SignalWatch::wait_for_stop(const std::function<void()>& reload) {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ != 0 || reloads_; });
    if (stop_ != 0) return stop_;
    reloads_ = false;
    lock.unlock();
    reload();
    lock.lock();
  }
}

bool SignalWatch::stops_now() const {
  const std::scoped_lock lock(mutex_);
  return stops_now_;
}

void SignalWatch::watch() {
  pollfd ready[] = {{signals_, POLLIN, 0}, {end_, POLLIN, 0}};
  for (;;) {
    const int count = poll(ready, 2, stops_now() ? kMercyMs : -1);
    if (count < 0 && errno == EINTR) continue;
    if (ready[1].revents != 0) return;
    if (count == 0) end_process(SIGTERM);
    signalfd_siginfo info;
    while (read(signals_, &info, sizeof info) == sizeof info) {
      take(static_cast<int>(info.ssi_signo));
    }
  }
}

void SignalWatch::take(int signal) {
  if (signal != SIGHUP) return take_stop(signal);
  const std::scoped_lock lock(mutex_);
  reloads_ = true;
  changed_.notify_all();
}

void SignalWatch::take_stop(int signal) {
  std::unique_lock lock(mutex_);
  if (!serves_) {
    spdlog::info("{}: ended before the model was loaded", strsignal(signal));
    end_process(signal);
  }
  switch (stops_.add(std::chrono::steady_clock::now())) {
    case StopCount::Wish::kStop:
      stop_ = signal;
      break;
    case StopCount::Wish::kSame:
      break;
    case StopCount::Wish::kStopNow:
      spdlog::warn("{} again: stopping at once", strsignal(signal));
      stops_now_ = true;
      break;
    case StopCount::Wish::kKill:
      end_process(signal);
  }
  changed_.notify_all();
}

// As a process without handlers ends, so that its parent sees the signal.
void SignalWatch::end_process(int signal) {
  spdlog::default_logger()->flush();
  std::signal(signal, SIG_DFL);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, signal);
  raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  _exit(128 + signal);
}

}  // namespace tandem::apps
