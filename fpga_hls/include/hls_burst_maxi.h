// SPDX-License-Identifier: Apache-2.0
//
// hls::burst_maxi<T>: an m_axi port whose bursts the kernel asks for itself.
//
// read_request(offset, count) asks for values (offset and count in T), read() delivers them in the
// order asked for. write_request(offset, count) opens a burst, write() fills the oldest open one,
// write_response() waits for the oldest burst without a response. Copies are the same port, so
// the port may be passed to functions and processes. A call that would hang the hardware throws
// hls::burst_error: reading or writing more than was asked for, a response before its burst is
// full, an empty burst. Requests read memory when read() does, as nothing overtakes it in software.
// Source: Vitis HLS user guide (UG1399), "Using Manual Burst". C++14.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>

namespace hls {

struct burst_error : std::logic_error {
  using std::logic_error::logic_error;
};

template <typename T>
class burst_maxi {
 public:
  typedef T value_type;

  burst_maxi(T* memory) : port_(std::make_shared<Port>(memory)) {}

  // The address of value 0; the port's register holds it.
  T* address() const { return port_->memory; }

  void read_request(std::size_t offset, std::size_t count) {
    require(count != 0, "read_request of 0 values");
    port_->reads.push_back(Burst{offset, count});
  }
  T read() {
    require(!port_->reads.empty(), "read() without a read_request() that has values left");
    Burst& burst = port_->reads.front();
    const T value = port_->memory[burst.offset++];
    if (--burst.left == 0) port_->reads.pop_front();
    return value;
  }

  void write_request(std::size_t offset, std::size_t count) {
    require(count != 0, "write_request of 0 values");
    port_->writes.push_back(Burst{offset, count});
  }
  void write(const T& value) {
    Burst& burst = open_burst();
    port_->memory[burst.offset] = value;
    advance(burst);
  }
  // Only the bytes whose bit of `byte_enable` is set are written, lowest first.
  template <typename Mask>
  void write(const T& value, const Mask& byte_enable) {
    Burst& burst = open_burst();
    unsigned char* to = reinterpret_cast<unsigned char*>(port_->memory + burst.offset);
    const unsigned char* from = reinterpret_cast<const unsigned char*>(&value);
    for (std::size_t byte = 0; byte < sizeof(T); ++byte) {
      if (bit_of(byte_enable, byte)) to[byte] = from[byte];
    }
    advance(burst);
  }
  void write_response() {
    if (port_->written == 0) {
      require(!port_->writes.empty(), "write_response() without a write_request()");
      require(false, "write_response() before its burst is full: " +
                         std::to_string(port_->writes.front().left) + " values are missing");
    }
    --port_->written;
  }

 private:
  struct Burst {
    std::size_t offset;
    std::size_t left;
  };
  struct Port {
    explicit Port(T* start) : memory(start) {}
    T* memory;
    std::deque<Burst> reads;
    std::deque<Burst> writes;
    std::size_t written = 0;  // full bursts without a response
  };

  static void require(bool good, const std::string& what) {
    if (!good) throw burst_error("hls::burst_maxi: " + what + "; the hardware would hang");
  }
  template <typename Mask>
  static auto bit_of(const Mask& mask, std::size_t at) -> decltype(mask.get_bit(0)) {
    return mask.get_bit(static_cast<int>(at));
  }
  static bool bit_of(std::uint64_t mask, std::size_t at) {
    return at < 64 && ((mask >> at) & 1) != 0;
  }
  Burst& open_burst() {
    require(!port_->writes.empty(), "write() without a write_request() that has room left");
    return port_->writes.front();
  }
  void advance(Burst& burst) {
    ++burst.offset;
    if (--burst.left == 0) {
      port_->writes.pop_front();
      ++port_->written;
    }
  }

  std::shared_ptr<Port> port_;
};

}  // namespace hls
