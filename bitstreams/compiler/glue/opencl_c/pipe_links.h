// SPDX-License-Identifier: Apache-2.0
//
// Pipes of OpenCL C programs as stream links of a card.
//
// The generated translation unit of a program with pipes includes this file before their table. A
// packet is a row of bytes; the kernels at both ends agree on its type. C++14.
#pragma once

#include "hls_stream.h"
#include "kernel_exports.h"

namespace tandem_opencl {

// A packet of a pipe.
template <std::size_t kBytes>
struct Packet {
  unsigned char bytes[kBytes];
};

template <std::size_t kBytes, std::uint32_t kDepth>
struct PipeClass {
  using Stream = hls::stream<Packet<kBytes>>;

  static void* make(const char* name, std::uint32_t depth) {
    Stream* const stream = new Stream(std::string(name));
    stream->set_depth(depth != 0 ? depth : kDepth);
    return stream;
  }
  static void drop(void* stream) { delete static_cast<Stream*>(stream); }
  static void* channel(void* stream) { return &static_cast<Stream*>(stream)->tandem_channel(); }
  static bool read(void* stream, void* to, bool wait) {
    Packet<kBytes> packet;
    if (wait) {
      static_cast<Stream*>(stream)->read(packet);
    } else if (!static_cast<Stream*>(stream)->read_nb(packet)) {
      return false;
    }
    std::memcpy(to, packet.bytes, kBytes);
    packet_arrives(to, kBytes);
    return true;
  }
  static bool write(void* stream, const void* from, bool wait) {
    Packet<kBytes> packet;
    packet_leaves(const_cast<void*>(from), kBytes);
    std::memcpy(packet.bytes, from, kBytes);
    if (!wait) return static_cast<Stream*>(stream)->write_nb(packet);
    static_cast<Stream*>(stream)->write(packet);
    return true;
  }
  static Pipe entry() { return Pipe{kBytes, &make, &drop, &channel, &read, &write}; }
};

}  // namespace tandem_opencl
