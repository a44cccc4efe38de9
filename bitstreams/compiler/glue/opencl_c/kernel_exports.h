// SPDX-License-Identifier: Apache-2.0
//
// Exports OpenCL C kernels to the emulated card: the C++ half of a kernel object.
//
// clang compiles the other half. For each kernel that half has tandem_cl_invoke_<name>, which reads
// the arguments from the register map and calls the kernel once, and tandem_cl_sizes_<name>. The
// generated translation unit includes this file once and lists the kernels. An argument is a
// scalar, a global pointer or a local pointer. If the kernel calls work-item functions, the values
// of Group except local_id follow as hidden arguments, one register each. The pipes come last.
// C++14.
#pragma once

#include <algorithm>

#include "../kernel_entry.h"
#include "device_printf.h"
#include "work_group.h"
#ifdef TANDEM_CL_CHECKED
#include "checked_group.h"
#define TANDEM_CL_LOCALS(kernel) tandem_cl_locals_##kernel
#else
#include "plain_group.h"
#define TANDEM_CL_LOCALS(kernel) nullptr
#endif

namespace tandem_opencl {

using tandem_glue::ArgumentEntry;
using tandem_glue::Invocation;
using tandem_glue::kFirstArgumentOffset;

constexpr std::uint32_t kLocal = 3;
// The bytes that XRT allows for one __local argument.
constexpr std::size_t kLocalBytes = 16384;
constexpr std::uint32_t kHiddenArguments = 13;

// A pipe of the program, by its number: its class, and the object it is bound to in this call.
struct Pipe {
  std::uint32_t bytes;
  void* (*make)(const char* name, std::uint32_t depth);
  void (*drop)(void* stream);
  void* (*channel)(void* stream);
  bool (*read)(void* stream, void* to, bool wait);
  bool (*write)(void* stream, const void* from, bool wait);
  void* stream = nullptr;
};

// An entry of the generated table of kernels.
struct KernelTable {
  const char* name;
  std::uint32_t num_arguments;  // arguments in the source
  const std::uint32_t* kinds;
  const std::uint32_t* sizes;
  const char* const* types;
  bool uses_work_items;  // whether the kernel has the hidden arguments
  std::uint32_t num_pipes;
  const std::uint32_t* pipes;  // the numbers of its pipes
  void (*invoke)(std::uint64_t registers, std::uint64_t memory, std::uint64_t locals);
  const std::uint64_t* locals;  // address and bytes of its __local variables; null: not known
};

class Kernel {
 public:
  Kernel(const KernelTable& table, Pipe* pipes, void (*call)(const Invocation&))
      : table_(table), pipes_(pipes) {
    std::uint32_t offset = kFirstArgumentOffset;
    for (std::uint32_t index = 0; index < table.num_arguments; ++index) {
      const std::uint32_t size = table.sizes[index];
      append(table.kinds[index], size, (size + 3) / 4 * 4, table.types[index], offset);
      if (table.kinds[index] == kLocal) ++num_locals_;
    }
    place_offset_ = offset;
    if (table.uses_work_items) {
      for (std::uint32_t index = 0; index < kHiddenArguments; ++index) {
        append(tandem_glue::kScalar, 8, 8, "size_t", offset);
      }
    }
    first_pipe_ = static_cast<std::uint32_t>(arguments_.size());
    for (std::uint32_t index = 0; index < table.num_pipes; ++index) {
      const Pipe& pipe = pipes[table.pipes[index]];
      append(tandem_glue::kStream, 0, 8, "pipe", offset);
      arguments_.back().element_bytes = pipe.bytes;
      arguments_.back().make_stream = pipe.make;
      arguments_.back().drop_stream = pipe.drop;
      arguments_.back().channel = pipe.channel;
    }
    local_.reset(new unsigned char[num_locals_ * kLocalBytes + 128]);
    entry_ = tandem_glue::KernelEntry{
        tandem_glue::kEntryVersion, table.name, static_cast<std::uint32_t>(arguments_.size()),
        arguments_.data(),          call,       offset};
  }

  const tandem_glue::KernelEntry* entry() const { return &entry_; }

  void call(const Invocation& invocation) {
    WorkGroup& group = work_group();
    group.group = place(invocation.registers);
    for (std::uint32_t index = 0; index < table_.num_pipes; ++index) {
      pipes_[table_.pipes[index]].stream = invocation.streams[first_pipe_ + index];
    }
    const auto memory = reinterpret_cast<std::uint64_t>(local_.get());
    Call one = {&table_, reinterpret_cast<std::uint64_t>(invocation.registers),
                reinterpret_cast<std::uint64_t>(invocation.memory), (memory + 127) / 128 * 128};
    begin_group(group, table_.locals, one.locals, num_locals_ * kLocalBytes);
    group.run(
        [](void* argument) {
          const Call& item = *static_cast<const Call*>(argument);
          item.table->invoke(item.registers, item.memory, item.locals);
        },
        &one);
    std::fflush(stdout);
  }

 private:
  struct Call {
    const KernelTable* table;
    std::uint64_t registers;
    std::uint64_t memory;
    std::uint64_t locals;
  };

  void append(std::uint32_t kind, std::uint32_t host_bytes, std::uint32_t register_bytes,
              const char* type, std::uint32_t& offset) {
    arguments_.push_back(ArgumentEntry{kind, host_bytes, register_bytes, offset, type, 0, nullptr,
                                       nullptr, nullptr});
    offset += register_bytes + 4;
  }

  // The work-group and its offsets. A native launch passes none; it has one work-item.
  Group place(const unsigned char* registers) const {
    Group group = {};
    if (table_.uses_work_items) {
      std::uint64_t values[kHiddenArguments];
      for (std::uint32_t index = 0; index < kHiddenArguments; ++index) {
        std::memcpy(&values[index], registers + place_offset_ + index * 12, 8);
      }
      std::memcpy(&group, values, sizeof(values));
    }
    group.work_dim = std::max<std::uint64_t>(group.work_dim, 1);
    for (int dimension = 0; dimension < 3; ++dimension) {
      group.local_size[dimension] = std::max<std::uint64_t>(group.local_size[dimension], 1);
      group.global_size[dimension] =
          std::max(group.global_size[dimension], group.local_size[dimension]);
    }
    return group;
  }

  const KernelTable& table_;
  Pipe* pipes_;
  std::vector<ArgumentEntry> arguments_;
  std::uint32_t place_offset_ = 0;
  std::uint32_t first_pipe_ = 0;
  std::size_t num_locals_ = 0;
  std::unique_ptr<unsigned char[]> local_;
  tandem_glue::KernelEntry entry_;
};

}  // namespace tandem_opencl

// The functions that kernels call (work_item.h).
extern "C" {
const tandem_opencl::Group* tandem_cl_current() { return &tandem_opencl::work_group().group; }

void tandem_cl_barrier() { tandem_opencl::work_group().barrier(__builtin_return_address(0)); }

// Done by the first item, which comes before all others between two barriers.
void tandem_cl_copy(std::uint64_t to, std::uint64_t from, std::uint64_t count, std::uint64_t bytes,
                    std::uint64_t to_step, std::uint64_t from_step) {
  const std::uint64_t* const id = tandem_opencl::work_group().group.local_id;
  if ((id[0] | id[1] | id[2]) != 0) return;
  tandem_opencl::begin_copy();
  for (std::uint64_t element = 0; element < count; ++element) {
    tandem_opencl::copy_values(reinterpret_cast<void*>(to + element * to_step),
                               reinterpret_cast<void*>(from + element * from_step), bytes,
                               __builtin_return_address(0));
  }
  tandem_opencl::end_copy();
}

int tandem_cl_printf(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const std::string text = tandem_opencl::Printer(format, arguments).run();
  va_end(arguments);
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : -1;
}
}
