// SPDX-License-Identifier: Apache-2.0
//
// The part of CUPTI's activity API in use: functions, and the first fields of its records.
//
// Later versions append fields and keep the first ones, so a build needs no header of CUPTI and
// runs with that of any CUDA 12 or 13. Source: CUPTI's documentation, "CUPTI Activity API".
// Functions return 0 for success.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::cupti {

enum class RecordKind : std::uint32_t {
  kCopy = 1,
  kSet = 2,
  kKernel = 10,
  kPeerCopy = 22,
  kUnifiedMemory = 25
};

struct Record {
  RecordKind kind;
};

struct KernelRecord {  // start to name of CUpti_ActivityKernel4 and later
  RecordKind kind;
  std::uint8_t configuration[12];
  std::uint64_t start_ns, end_ns, completed_ns;
  std::uint32_t device, context, stream;
  std::int32_t grid[3], block[3], shared[2];
  std::uint32_t local[2], correlation;
  std::int64_t grid_id;
  const char* name;
};

struct CopyRecord {
  RecordKind kind;
  std::uint8_t copy_kind, from_memory, to_memory, flags;
  std::uint64_t bytes, start_ns, end_ns;
  std::uint32_t device, context, stream;
};

struct PeerCopyRecord {
  RecordKind kind;
  std::uint8_t copy_kind, from_memory, to_memory, flags;
  std::uint64_t bytes, start_ns, end_ns;
  std::uint32_t device, context, stream;
  std::uint32_t source_device, source_context, destination_device, destination_context;
};

struct SetRecord {
  RecordKind kind;
  std::uint32_t value;
  std::uint64_t bytes, start_ns, end_ns;
  std::uint32_t device, context, stream;
};

// Counters of the unified memory of a process.
enum class UnifiedCounter : std::uint32_t { kToDevice = 1, kToHost = 2, kBetweenDevices = 8 };

struct UnifiedMemoryRecord {
  RecordKind kind;
  UnifiedCounter counter;
  std::uint64_t bytes, start_ns, end_ns, address;
  std::uint32_t source, destination, stream, process;
};

struct UnifiedCounterSetting {
  std::uint32_t scope;  // 1: the process and one device, 2: the process and all devices
  UnifiedCounter counter;
  std::uint32_t device, is_enabled;
};

struct Functions {
  using RequestBuffer = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records);
  using TakeBuffer = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer,
                              std::size_t bytes, std::size_t valid_bytes);
  int (*register_callbacks)(RequestBuffer, TakeBuffer) = nullptr;
  int (*enable)(RecordKind) = nullptr;
  int (*disable)(RecordKind) = nullptr;
  int (*set_unified_counters)(UnifiedCounterSetting*, std::uint32_t count) = nullptr;
  int (*flush_all)(std::uint32_t flags) = nullptr;
  int (*flush_period)(std::uint32_t ms) = nullptr;  // null: the library is too old
  int (*next_record)(std::uint8_t* buffer, std::size_t valid_bytes, Record** record) = nullptr;
  int (*dropped_records)(void* context, std::uint32_t stream, std::size_t* dropped) = nullptr;
  int (*timestamp_ns)(std::uint64_t* ns) = nullptr;
};

}  // namespace tandem::cupti
