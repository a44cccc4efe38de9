// SPDX-License-Identifier: Apache-2.0
//
// The part of CUPTI's activity API in use: functions, loaded at first use, and the first fields of
// its records.
//
// Later versions append fields to records and keep the first ones. They are declared here, so a
// build needs no CUPTI header and runs with the CUPTI of any CUDA 12 or 13. Source: the CUPTI API's
// documentation, "CUPTI Activity API". Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tandem::cuda {

enum class CuptiKind : std::uint32_t { kMemcpy = 1, kMemset = 2, kKernel = 10, kMemcpyPeer = 22 };

struct CuptiRecord {
  CuptiKind kind;
};

struct CuptiKernel {  // start .. name of CUpti_ActivityKernel4 and later
  CuptiKind kind;
  std::uint8_t configuration[12];
  std::uint64_t start, end, completed;  // ns
  std::uint32_t device, context, stream;
  std::int32_t grid[3], block[3], shared[2];
  std::uint32_t local[2], correlation;
  std::int64_t grid_id;
  const char* name;
};

struct CuptiMemcpy {  // of CUpti_ActivityMemcpy and later
  CuptiKind kind;
  std::uint8_t copy_kind, from_kind, to_kind, flags;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream;
};

struct CuptiMemset {
  CuptiKind kind;
  std::uint32_t value;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream;
};

// Functions return 0 on success.
struct Cupti {
  using RequestBuffer = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records);
  using TakeBuffer = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer,
                              std::size_t bytes, std::size_t valid_bytes);
  int (*register_callbacks)(RequestBuffer, TakeBuffer) = nullptr;
  int (*enable)(CuptiKind) = nullptr;
  int (*disable)(CuptiKind) = nullptr;
  int (*flush_all)(std::uint32_t flags) = nullptr;
  int (*flush_period)(std::uint32_t ms) = nullptr;  // null if the library is too old
  int (*next_record)(std::uint8_t* buffer, std::size_t valid_bytes, CuptiRecord** record) = nullptr;
  int (*dropped_records)(void* context, std::uint32_t stream, std::size_t* dropped) = nullptr;
  int (*timestamp)(std::uint64_t* ns) = nullptr;
};

// Loads CUPTI. Returns null and sets `reason` if the library cannot be loaded.
const Cupti* load_cupti(std::string& reason);

}  // namespace tandem::cuda
