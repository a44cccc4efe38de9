// SPDX-License-Identifier: Apache-2.0
//
// The class hls::task. hls_task.h and hls_np_channel.h include it.
//
// A task keeps lvalue arguments by reference and temporaries by value. C++11.
#pragma once

#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tandem_task_thread.h"

#include "tandem_macros_begin.h"

namespace hls {

class task {
 public:
  task() = default;
  template <typename Function, typename... Args,
            typename = typename std::enable_if<
                !std::is_same<typename std::decay<Function>::type, task>::value>::type>
  explicit task(Function&& function, Args&&... args) {
    start(std::forward<Function>(function), std::forward<Args>(args)...);
  }
  // Starts a task that was made without a function, such as a task of an array.
  template <typename Function, typename... Args>
  void operator()(Function&& function, Args&&... args) {
    start(std::forward<Function>(function), std::forward<Args>(args)...);
  }
  task(const task&) = delete;
  task& operator=(const task&) = delete;
  ~task() {
    if (process_ != 0) tandem_task_drop(process_);
  }

 private:
  // The numbers 0, 1, ... count - 1.
  template <std::size_t... kIndex>
  struct Indices {};
  template <std::size_t kCount, std::size_t... kIndex>
  struct IndicesTo : IndicesTo<kCount - 1, kCount - 1, kIndex...> {};
  template <std::size_t... kIndex>
  struct IndicesTo<0, kIndex...> {
    using type = Indices<kIndex...>;
  };

  template <typename Function, typename Arguments, std::size_t... kIndex>
  static void call(Function& function, Arguments& arguments, Indices<kIndex...>) {
    function(std::get<kIndex>(arguments)...);
  }

  template <typename Function, typename... Args>
  void start(Function&& function, Args&&... args) {
    using Kept = std::tuple<Args...>;
    const auto kept = std::make_shared<Kept>(std::forward<Args>(args)...);
    typename std::decay<Function>::type own(std::forward<Function>(function));
    body_ = [own, kept]() mutable {
      while (true) call(own, *kept, typename IndicesTo<sizeof...(Args)>::type{});
    };
    if (tandem_task_start) {
      process_ = tandem_task_start(
          "task", [](void* body) { (*static_cast<std::function<void()>*>(body))(); }, &body_);
      return;
    }
    thread_.reset(new tandem_hls::TaskThread(body_));
  }

  std::function<void()> body_;
  std::uint64_t process_ = 0;
  std::unique_ptr<tandem_hls::TaskThread> thread_;  // in a plain program
};

}  // namespace hls

#include "tandem_macros_end.h"
