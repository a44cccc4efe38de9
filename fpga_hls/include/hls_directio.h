// SPDX-License-Identifier: Apache-2.0
//
// Direct I/O: hls::ap_hs, ap_vld, ap_ack, ap_ovld and ap_none. Single wires, with or without a
// handshake, between the processes of a kernel and its test bench.
//
// A wire with a handshake delivers every value once and in order: read() waits for a value, valid()
// says whether there is one, ready() says whether all written values have been read. Without a
// clock ap_vld loses nothing; in hardware its sender would not wait. ap_none never waits: read()
// returns the next written value, or the last one again; before the first write, zeros. The card
// does not support them as arguments of a kernel's top function. Source: Vitis HLS user guide
// (UG1399), "Using Direct I/O Streams". C++11.
#pragma once

#include "hls_stream.h"

#include "tandem_macros_begin.h"

namespace hls {
namespace directio_detail {

template <typename T>
class Handshake {
 public:
  typedef T value_type;

  Handshake() = default;
  explicit Handshake(const char* name) : wire_(name) {}
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;

  T read() { return wire_.read(); }
  void read(T& value) { value = wire_.read(); }
  bool read_nb(T& value) { return wire_.read_nb(value); }
  void write(const T& value) { wire_.write(value); }
  bool write_nb(const T& value) { return wire_.write_nb(value); }
  void operator>>(T& value) { read(value); }
  void operator<<(const T& value) { write(value); }
  bool valid() { return !wire_.empty(); }
  bool ready() {
    if (wire_.tandem_channel().held() != 0) {
      tandem_hls::idle(wire_.tandem_channel(), tandem_hls::kWriter);
    }
    return wire_.tandem_channel().held() == 0;
  }

 private:
  hls::stream<T> wire_;
};

}  // namespace directio_detail

template <typename T>
class ap_hs : public directio_detail::Handshake<T> {
  using directio_detail::Handshake<T>::Handshake;
};
template <typename T>
class ap_vld : public directio_detail::Handshake<T> {
  using directio_detail::Handshake<T>::Handshake;
};
template <typename T>
class ap_ovld : public directio_detail::Handshake<T> {
  using directio_detail::Handshake<T>::Handshake;
};
template <typename T>
class ap_ack : public directio_detail::Handshake<T> {
  using directio_detail::Handshake<T>::Handshake;
};

template <typename T>
class ap_none {
 public:
  typedef T value_type;

  ap_none() : value_() {}
  explicit ap_none(const char* name) : wire_(name), value_() {}
  ap_none(const ap_none&) = delete;
  ap_none& operator=(const ap_none&) = delete;

  T read() const {
    if (!wire_.empty()) value_ = wire_.read();
    return value_;
  }
  void read(T& value) const { value = read(); }
  void write(const T& value) { wire_.write(value); }
  void operator>>(T& value) const { read(value); }
  void operator<<(const T& value) { write(value); }

 private:
  // Samples that have not been read, and the last one that was read.
  mutable hls::stream<T> wire_;
  mutable T value_;
};

}  // namespace hls

#include "tandem_macros_end.h"
