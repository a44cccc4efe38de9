// SPDX-License-Identifier: Apache-2.0
//
// The data structures of NCCL's profiler plugin interface, versions 4 to 6. They contain only what
// this plugin reads, at the offsets that NCCL uses.
//
// Written from NCCL's documentation (plugins/profiler/README.md, NCCL 2.26 to 2.29). A descriptor
// begins with type, parent and rank. At byte 24 follows a union; the type selects its member. The
// type has one byte in version 4, eight in later ones. NCCL looks for the symbols ncclProfiler_v6,
// _v5, _v4, in this order. Functions return 0 on success. Threads: NCCL calls from the program's
// threads and from its proxy threads.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace tandem::nccl_profiler {

// Bits of the activation mask, and types of events.
constexpr std::uint64_t kCollective = 1u << 1, kPointToPoint = 1u << 2, kProxyOperation = 1u << 3,
                        kProxyStep = 1u << 4, kCopyEngineCollective = 1u << 12;

// States of a proxy step: the transport has this many bytes to send.
constexpr int kStepSendsNow = 9;

struct CollectiveFields {
  std::uint64_t sequence;
  const char* function;  // "AllReduce"
  const void* send_buffer;
  void* receive_buffer;
  std::size_t count;  // elements that a rank passes to the call
  int root;
  const char* datatype;  // "ncclFloat32"
  std::uint8_t channels, warps;
  const char* algorithm;  // "RING"
  const char* protocol;
};

struct PointToPointFields {
  const char* function;  // "Send" or "Recv"
  void* buffer;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t channels;
};

struct ProxyOperationFields {
  pid_t process;  // the process that started the operation
  std::uint8_t channel;
  int peer, steps, chunk_bytes, is_send;
};

// A collective that runs on copy engines, from version 6 on. It has the first fields of
// CollectiveFields.
struct CopyEngineFields {
  std::uint64_t sequence;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  std::size_t count;
  int root;
  const char* datatype;
};

template <typename Type>
struct Descriptor {
  Type type;
  void* parent;
  int rank;  // in the communicator
  union {
    CollectiveFields collective;
    PointToPointFields point_to_point;
    ProxyOperationFields proxy_operation;
    CopyEngineFields copy_engine;
    unsigned char others[96];
  };
};
using DescriptorV4 = Descriptor<std::uint8_t>;
using DescriptorV5 = Descriptor<std::uint64_t>;  // and version 6

static_assert(offsetof(DescriptorV4, parent) == 8 && offsetof(DescriptorV5, parent) == 8);
static_assert(offsetof(DescriptorV4, collective) == 24 && offsetof(DescriptorV5, collective) == 24);

union StateArguments {
  std::size_t step_bytes;
  int appended;
  void* data;
  std::uint64_t gpu_time;
};

using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

struct PluginV4 {
  const char* name;
  int (*init)(void** context, int* mask, const char* name, std::uint64_t communicator, int nodes,
              int ranks, int rank, Logger logger);
  int (*start_event)(void* context, void** event, DescriptorV4* descriptor);
  int (*stop_event)(void* event);
  int (*record_event_state)(void* event, int state, StateArguments* arguments);
  int (*finalize)(void* context);
};

struct PluginV5 {
  const char* name;
  int (*init)(void** context, std::uint64_t communicator, int* mask, const char* name, int nodes,
              int ranks, int rank, Logger logger);
  int (*start_event)(void* context, void** event, DescriptorV5* descriptor);
  int (*stop_event)(void* event);
  int (*record_event_state)(void* event, int state, StateArguments* arguments);
  int (*finalize)(void* context);
};

}  // namespace tandem::nccl_profiler
