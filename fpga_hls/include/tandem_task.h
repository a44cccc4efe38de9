// SPDX-License-Identifier: Apache-2.0
//
// hls::task itself; hls_task.h and hls_np_channel.h include it.
//
// Arguments: lvalues are kept by reference, temporaries by value. C++14.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tandem_channel.h"

#include "tandem_macros_begin.h"

namespace hls {

class task {
 public:
  task() = default;
  template <typename Function, typename... Args,
            typename = std::enable_if_t<!std::is_same<std::decay_t<Function>, task>::value>>
  explicit task(Function&& function, Args&&... args) {
    start(std::forward<Function>(function), std::forward<Args>(args)...);
  }
  // Starts a task that was made without a function, as those of an array are.
  template <typename Function, typename... Args>
  void operator()(Function&& function, Args&&... args) {
    start(std::forward<Function>(function), std::forward<Args>(args)...);
  }
  task(const task&) = delete;
  task& operator=(const task&) = delete;
  ~task() {
    if (process_ != 0) tandem_task_drop(process_);
    if (!thread_.joinable()) return;
    ended_.store(true);
    thread_.join();
  }

 private:
  template <typename Function, typename Arguments, std::size_t... kIndex>
  static void call(Function& function, Arguments& arguments, std::index_sequence<kIndex...>) {
    function(std::get<kIndex>(arguments)...);
  }

  template <typename Function, typename... Args>
  void start(Function&& function, Args&&... args) {
    using Kept = std::tuple<Args...>;
    const auto kept = std::make_shared<Kept>(std::forward<Args>(args)...);
    std::decay_t<Function> own(std::forward<Function>(function));
    body_ = [own, kept]() mutable {
      while (true) call(own, *kept, std::index_sequence_for<Args...>{});
    };
    if (tandem_task_start) {
      process_ = tandem_task_start(
          "task", [](void* body) { (*static_cast<std::function<void()>*>(body))(); }, &body_);
      return;
    }
    thread_ = std::thread([this] {
      tandem_hls::task_end_flag() = &ended_;
      try {
        body_();
      } catch (const tandem_hls::TaskEnded&) {
        // Its object is gone.
      }
    });
  }

  std::function<void()> body_;
  std::uint64_t process_ = 0;
  std::thread thread_;
  std::atomic<bool> ended_{false};
};

}  // namespace hls

#include "tandem_macros_end.h"
