// SPDX-License-Identifier: Apache-2.0
//
// hls::burst_maxi<T>: an m_axi port whose bursts the kernel requests itself.
//
// read_request(offset, count) requests values (offset and count in T); read() returns them in the
// order of the requests. write_request(offset, count) opens a burst, write() fills the oldest open
// one, write_response() waits for the oldest burst without a response. The _unaligned<A>(bytes,
// count) forms, read<A>() and write<A>() move values of another type A from any byte on. A call
// that would hang the hardware throws hls::burst_error: reading or writing more than was requested,
// a response before its burst is full, an empty burst. Source: Vitis HLS user guide (UG1399),
// "Using Manual Burst". C++11.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "tandem_macros_begin.h"

namespace hls {

struct burst_error : std::logic_error {
  using std::logic_error::logic_error;
};

// A copy is the same port, so functions and processes may take it.
template <typename T>
class burst_maxi {
 public:
  typedef T value_type;

  burst_maxi(T* memory) : port_(std::make_shared<Port>(memory)) {}

  // The address of value 0; the port's register holds it.
  T* address() const { return port_->memory; }

  // Memory is read in read(), because software executes requests in order.
  void read_request(std::size_t offset, std::size_t count) {
    require(count != 0, "read_request of 0 values");
    port_->reads.push_back(Burst{offset * sizeof(T), count, sizeof(T)});
  }
  // A request of 0 values is an empty burst, without an error.
  template <typename A>
  void read_request_unaligned(std::size_t byte_offset, std::size_t count) {
    if (count != 0) port_->reads.push_back(Burst{byte_offset, count, sizeof(A)});
  }
  T read() { return take<T>(); }
  template <typename A>
  A read() {
    return take<A>();
  }

  void write_request(std::size_t offset, std::size_t count) {
    require(count != 0, "write_request of 0 values");
    port_->writes.push_back(Burst{offset * sizeof(T), count, sizeof(T)});
  }
  template <typename A>
  void write_request_unaligned(std::size_t byte_offset, std::size_t count) {
    if (count == 0) {
      ++port_->written;
    } else {
      port_->writes.push_back(Burst{byte_offset, count, sizeof(A)});
    }
  }
  void write(const T& value) { put(value); }
  template <typename A>
  void write(const typename std::common_type<A>::type& value) {
    put(value);
  }
  // Only the bytes whose bit of `byte_enable` is set are written, lowest first.
  template <typename Mask>
  void write(const T& value, const Mask& byte_enable) {
    Burst& burst = open_burst(sizeof(T));
    unsigned char* to = at(burst);
    const unsigned char* from = reinterpret_cast<const unsigned char*>(&value);
    for (std::size_t byte = 0; byte < sizeof(T); ++byte) {
      if (bit_of(byte_enable, byte)) to[byte] = from[byte];
    }
    advance(burst);
  }
  void write_response() {
    if (port_->written == 0) {
      require(!port_->writes.empty(), "write_response() without a write_request()");
      fail("write_response() before its burst is full: " +
           std::to_string(port_->writes.front().left) + " values are missing");
    }
    --port_->written;
  }

 private:
  struct Burst {
    std::size_t byte_offset;
    std::size_t left;
    std::size_t value_bytes;
  };
  struct Port {
    explicit Port(T* start) : memory(start) {}
    T* memory;
    std::deque<Burst> reads;
    std::deque<Burst> writes;
    std::size_t written = 0;  // full bursts without a response
  };

  [[noreturn]] static void fail(const std::string& what) {
    throw burst_error("hls::burst_maxi: " + what + "; the hardware would hang");
  }
  // Takes no std::string: making one costs more than the access.
  static void require(bool good, const char* what) {
    if (!good) fail(what);
  }
  template <typename Mask>
  static auto bit_of(const Mask& mask, std::size_t at) -> decltype(mask.get_bit(0)) {
    return mask.get_bit(static_cast<int>(at));
  }
  static bool bit_of(std::uint64_t mask, std::size_t at) {
    return at < 64 && ((mask >> at) & 1) != 0;
  }
  unsigned char* at(const Burst& burst) const {
    return reinterpret_cast<unsigned char*>(port_->memory) + burst.byte_offset;
  }
  static void require_size(const Burst& burst, std::size_t bytes) {
    if (burst.value_bytes == bytes) return;
    fail("a value of " + std::to_string(bytes) + " bytes in a burst of values of " +
         std::to_string(burst.value_bytes) + " bytes");
  }
  template <typename A>
  A take() {
    require(!port_->reads.empty(), "read() without a read_request() that has values left");
    Burst& burst = port_->reads.front();
    require_size(burst, sizeof(A));
    A value;
    std::memcpy(static_cast<void*>(&value), at(burst), sizeof(A));
    burst.byte_offset += sizeof(A);
    if (--burst.left == 0) port_->reads.pop_front();
    return value;
  }
  template <typename A>
  void put(const A& value) {
    Burst& burst = open_burst(sizeof(A));
    std::memcpy(at(burst), static_cast<const void*>(&value), sizeof(A));
    advance(burst);
  }
  Burst& open_burst(std::size_t value_bytes) {
    require(!port_->writes.empty(), "write() without a write_request() that has room left");
    require_size(port_->writes.front(), value_bytes);
    return port_->writes.front();
  }
  void advance(Burst& burst) {
    burst.byte_offset += burst.value_bytes;
    if (--burst.left == 0) {
      port_->writes.pop_front();
      ++port_->written;
    }
  }

  std::shared_ptr<Port> port_;
};

}  // namespace hls

#include "tandem_macros_end.h"
