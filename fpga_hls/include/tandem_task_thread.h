// SPDX-License-Identifier: Apache-2.0
//
// Tasks of a plain C++ program. Each task has a thread; it runs only while another thread waits for
// a stream, or finds one not ready.
//
// So the program's own statements keep their order, a stream may be destroyed before the tasks that
// use it, and the end of a task does not race with other code. If a task throws, the exception
// leaves the wait during which the task ran. Threads are used, not fibers, so that thread_local
// variables belong to a task. Cost: some ten microseconds per turn. C++11.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tandem_turns.h"

#include "tandem_macros_begin.h"

namespace tandem_hls {

// Ends a task whose object is destroyed, at its wait.
struct TaskEnded {};

// The thread of a task. wait(), yield() and run() are called by this thread, all other functions by
// the thread that gives turns.
class TaskThread {
 public:
  // Starts the thread and returns when it first waits.
  explicit TaskThread(std::function<void()> body);
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;
  ~TaskThread();

  // Null on threads that are no tasks.
  static TaskThread*& self() {
    static thread_local TaskThread* task = nullptr;
    return task;
  }

  void wait(Channel* const* channels, const int* sides, std::size_t count) {
    channels_ = channels;
    sides_ = sides;
    count_ = count;
    while (!can_go_on()) pause();
    count_ = 0;
  }
  void yield() { pause(); }

  bool only_tested() const { return count_ == 0; }
  bool over() const { return over_; }
  bool can_go_on() const {
    for (std::size_t i = 0; i < count_; ++i) {
      if (destroyed_ != channels_[i] && is_ready(*channels_[i], sides_[i])) return true;
    }
    return false;
  }
  void give_turn() {
    resume();
    if (failure_ != nullptr) {
      const std::exception_ptr failure = failure_;
      failure_ = nullptr;
      std::rethrow_exception(failure);
    }
  }
  // Enlarges a full channel to which the task writes.
  bool grow() {
    for (std::size_t i = 0; i < count_; ++i) {
      Channel& channel = *channels_[i];
      if (sides_[i] != kWriter || destroyed_ == &channel) continue;
      const std::uint64_t extra = channel.extra.load();
      if (extra * channel.element_bytes >= kMostBytes) continue;
      channel.extra.store(2 * extra + room_ahead(channel));
      return true;
    }
    return false;
  }
  // The task may wait for a channel that is destroyed; another one may then be made at its address.
  // The task counts the channel as not ready between the two calls.
  void channel_destroyed(const Channel& channel) {
    for (std::size_t i = 0; i < count_; ++i) {
      if (channels_[i] == &channel) destroyed_ = &channel;
    }
  }
  void channel_made(const Channel& channel) {
    if (destroyed_ == &channel) destroyed_ = nullptr;
  }

 private:
  void run() {
    self() = this;
    try {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        await_turn(lock);
      }
      body_();
    } catch (const TaskEnded&) {
      // The task's object is destroyed.
    } catch (...) {
      failure_ = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
    running_ = false;
    changed_.notify_all();
  }
  void resume() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (over_) return;
    running_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !running_; });
  }
  void pause() {
    std::unique_lock<std::mutex> lock(mutex_);
    running_ = false;
    changed_.notify_all();
    await_turn(lock);
  }
  void await_turn(std::unique_lock<std::mutex>& lock) {
    changed_.wait(lock, [this] { return running_; });
    if (ended_) throw TaskEnded();
  }

  std::function<void()> body_;
  // Written by the running side: the task, or the thread that gives the turn.
  Channel* const* channels_ = nullptr;
  const int* sides_ = nullptr;
  std::size_t count_ = 0;  // 0: the task only tested a stream
  const Channel* destroyed_ = nullptr;
  std::exception_ptr failure_;
  bool ended_ = false;
  bool over_ = false;
  bool running_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

// All tasks of the program. The thread that gives turns holds the mutex. A task starts, ends or
// drops another one within its own turn.
class AllTasks final : public TaskTurns {
 public:
  // Never destroyed: tasks of static storage may outlive later objects.
  static AllTasks& get() {
    static AllTasks* const tasks = new AllTasks;
    return *tasks;
  }
  std::unique_lock<std::mutex> lock() {
    return in_task() ? std::unique_lock<std::mutex>() : std::unique_lock<std::mutex>(mutex_);
  }
  void add(TaskThread* task) {
    tasks_.push_back(task);
    task_turns().store(this, std::memory_order_release);
  }
  void remove(TaskThread* task) { tasks_.erase(std::find(tasks_.begin(), tasks_.end(), task)); }

  bool in_task() const override { return TaskThread::self() != nullptr; }
  void wait(Channel* const* channels, const int* sides, std::size_t count) override {
    TaskThread::self()->wait(channels, sides, count);
  }
  void yield() override { TaskThread::self()->yield(); }
  bool run_tasks() override {
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    return !lock.owns_lock() || run_tasks_locked();
  }
  void run_tasks_until_room(const Channel& channel) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (!is_ready(channel, kWriter) && run_tasks_locked()) continue;
  }
  bool grow() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::any_of(tasks_.begin(), tasks_.end(), [](TaskThread* task) { return task->grow(); });
  }
  void channel_destroyed(const Channel& channel) override {
    const std::unique_lock<std::mutex> held = lock();
    for (TaskThread* task : tasks_) task->channel_destroyed(channel);
  }
  void channel_made(const Channel& channel) override {
    const std::unique_lock<std::mutex> held = lock();
    for (TaskThread* task : tasks_) task->channel_made(channel);
  }

 private:
  bool run_tasks_locked() {
    bool any = false;
    // By index: a task may start and drop others.
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      TaskThread& task = *tasks_[i];
      if (task.over()) continue;
      const bool ready = task.can_go_on();
      if (ready || task.only_tested()) task.give_turn();
      any = any || ready;
    }
    return any;
  }

  std::mutex mutex_;
  std::vector<TaskThread*> tasks_;
};

inline TaskThread::TaskThread(std::function<void()> body)
    : body_(std::move(body)), thread_([this] { run(); }) {
  AllTasks& tasks = AllTasks::get();
  const std::unique_lock<std::mutex> held = tasks.lock();
  tasks.add(this);
  resume();
  if (failure_ == nullptr) return;
  tasks.remove(this);
  thread_.join();
  std::rethrow_exception(failure_);
}

inline TaskThread::~TaskThread() {
  AllTasks& tasks = AllTasks::get();
  const std::unique_lock<std::mutex> held = tasks.lock();
  tasks.remove(this);
  ended_ = true;
  while (!over_) resume();
  thread_.join();
}

}  // namespace tandem_hls

#include "tandem_macros_end.h"
