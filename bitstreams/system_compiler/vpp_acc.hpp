// SPDX-License-Identifier: Apache-2.0
//
// VPP_ACC<Derived, units>: accelerators of the system-compiler flow, computed in the host program.
//
// A job is one call of the function given to send_while(): its buffers, its handle and its calls of
// compute(), which run when they are called. Jobs reach receive_all_in_order() in their order, and
// their buffers live until that call ends. send_while() and receive_all_in_order() start a thread
// each; join() waits for both and throws what a thread has thrown. Host and device have one copy of
// each buffer: sizes of DATA_COPY and positions of SYS_PORT have no effect. C++17.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

#include "vpp_acc_core.hpp"

#define ZERO_COPY(...) static_assert(true, "")
#define DATA_COPY(...) static_assert(true, "")
#define ACCESS_PATTERN(...) static_assert(true, "")
#define SYS_PORT(...) static_assert(true, "")
#define SYS_PORT_PFM(...) static_assert(true, "")
#define PROFILE_KERNEL(...) static_assert(true, "")
#define PROFILE_PORT(...) static_assert(true, "")
#define PROFILE_OFFLOAD(...) static_assert(true, "")
// vpp_processes.py reads this name: the function is a process that never ends.
#define FREE_RUNNING(function) \
  struct vpp_free_##function { \
    enum { value = 1 };        \
  }

#define VPP_QUOTED(text) #text
#define VPP_CONFIG_NAME(platform) VPP_QUOTED(platform##_config.hpp)
#define PFM_CONFIG_H(platform) VPP_CONFIG_NAME(platform)

// The cards that jobs of one sender go to.
struct VPP_CC {
  std::vector<int> cards;
};

template <typename Derived, int units>
class VPP_ACC {
 public:
  static_assert(units >= 1, "VPP_ACC: at least one compute unit");

  static vpp::BufferPool create_bufpool(vpp::direction direction, vpp::transfer = vpp::h2c) {
    static std::atomic<int> next{0};
    return {next++, direction};
  }
  static void add_card(VPP_CC& cluster, int card) { cluster.cards.push_back(card); }

  static void* alloc_buf(const vpp::BufferPool& pool, std::size_t bytes) {
    return job().buffer(pool, bytes);
  }
  template <typename T>
  static T* alloc_buf(const vpp::BufferPool& pool, std::size_t count) {
    return static_cast<T*>(alloc_buf(pool, count * sizeof(T)));
  }
  static void* get_buf(const vpp::BufferPool& pool) { return job().buffer(pool, 0); }
  template <typename T>
  static T* get_buf(const vpp::BufferPool& pool) {
    return static_cast<T*>(get_buf(pool));
  }
  // The buffer outlives its job, until join().
  template <typename T>
  static T* transfer_buf(const vpp::BufferPool& pool) {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().transferred.push_back(job().shared(pool));
    return get_buf<T>(pool);
  }

  // Buffers without a pool.
  static void* alloc_buf(std::size_t bytes, vpp::direction) { return std::calloc(bytes, 1); }
  static void free_buf(void* buffer) { std::free(buffer); }

  // `count` elements of a file, at an element of the file and of the buffer. Buffers of an output
  // pool are written there when the job has been computed; with file 0 they have no file.
  template <typename T>
  static T* file_buf(const vpp::BufferPool& pool, int file, std::size_t count,
                     std::size_t file_offset = 0, std::size_t offset = 0) {
    char* buffer = static_cast<char*>(job().buffer(pool, (offset + count) * sizeof(T)));
    char* at = buffer + offset * sizeof(T);
    if (file > 0 && pool.direction == vpp::output) {
      job().finally.push_back(
          [=] { vpp::write_all(file, at, count * sizeof(T), file_offset * sizeof(T)); });
    } else if (file > 0) {
      vpp::read_all(file, at, count * sizeof(T), file_offset * sizeof(T));
    }
    return reinterpret_cast<T*>(buffer);
  }
  template <typename T>
  static std::future<void> sync_output(T*, std::size_t, std::size_t = 0) {
    return vpp::done();
  }
  template <typename T>
  static std::future<void> sync_output_to_file(T* buffer, int file, std::size_t count,
                                               std::size_t file_offset = 0,
                                               std::size_t offset = 0) {
    vpp::write_all(file, buffer + offset, count * sizeof(T), file_offset * sizeof(T));
    return vpp::done();
  }
  static void custom_sync_outputs(std::function<void()> sync) {
    job().finally.push_back(std::move(sync));
  }

  template <typename T = long>
  static void set_handle(const T& handle) {
    static_assert(sizeof(T) <= sizeof(vpp::Job::handle), "VPP_ACC: a handle has at most 8 bytes");
    std::memcpy(job().handle, &handle, sizeof(T));
  }
  template <typename T = long>
  static T get_handle() {
    T handle;
    std::memcpy(&handle, job().handle, sizeof(T));
    return handle;
  }

  // Calls `send` again until it returns false; every call is a job.
  template <typename Send>
  static void send_while(Send send) {
    send_while(std::move(send), state().only);
  }
  template <typename Send>
  static void send_while(Send send, VPP_CC& cluster) {
    vpp::JobQueue& queue = queue_of(cluster);
    queue.open();
    threads_of(cluster).start([send, &queue]() mutable {
      const vpp::Ending ending{queue};
      bool more = true;
      while (more) {
        auto sent = std::make_shared<vpp::Job>();
        const vpp::Current<Derived> current(sent.get());
        more = send();
        if (sent->is_empty()) continue;  // it had nothing to send
        for (const auto& step : sent->finally) step();
        queue.put(sent);
      }
    });
  }
  template <typename Receive>
  static void receive_all_in_order(Receive receive) {
    receive_all_in_order(std::move(receive), state().only);
  }
  template <typename Receive>
  static void receive_all_in_order(Receive receive, VPP_CC& cluster) {
    vpp::JobQueue& queue = queue_of(cluster);
    queue.receiving();
    threads_of(cluster).start([receive, &queue]() mutable {
      try {
        while (const std::shared_ptr<vpp::Job> received = queue.get()) {
          const vpp::Current<Derived> current(received.get());
          receive();
        }
      } catch (...) {
        queue.drop();  // or the sender waits for room, and join() for the sender
        throw;
      }
    });
  }
  // Waits for one job; false if there is none any more.
  template <typename Receive>
  static bool receive_one_in_order(Receive receive) {
    const std::shared_ptr<vpp::Job> received = queue_of(state().only).get();
    if (!received) return false;
    const vpp::Current<Derived> current(received.get());
    receive();
    return true;
  }
  static void join() { join(state().only); }
  static void join(VPP_CC& cluster) {
    const vpp::Joining joining{queue_of(cluster)};
    threads_of(cluster).join();
  }

  template <typename... Args>
  static std::future<void> compute_async(Args... args) {
    return std::async(std::launch::async, [=] {
      const std::lock_guard<std::mutex> lock(state().unit);
      Derived::compute(args...);
    });
  }

 private:
  struct State {
    std::mutex mutex;
    VPP_CC only;
    std::map<VPP_CC*, vpp::Threads> threads;
    std::map<VPP_CC*, vpp::JobQueue> queues;
    std::vector<std::shared_ptr<vpp::Buffer>> transferred;
    std::mutex unit;  // of compute_async()
  };
  static State& state() {
    static State state;
    return state;
  }
  static vpp::JobQueue& queue_of(VPP_CC& cluster) {
    const std::lock_guard<std::mutex> lock(state().mutex);
    return state().queues[&cluster];
  }
  static vpp::Threads& threads_of(VPP_CC& cluster) {
    const std::lock_guard<std::mutex> lock(state().mutex);
    return state().threads[&cluster];
  }
  static vpp::Job& job() { return vpp::Current<Derived>::job(typeid(Derived).name()); }
};
