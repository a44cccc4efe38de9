// SPDX-License-Identifier: Apache-2.0
//
// The checks of operands.
#include "cuda/gpu/buffer.h"

#include <string>
#include <typeinfo>

#include "common/error.h"

namespace tandem::cuda {

std::byte* bytes_of(const Gpu& gpu, const device::Slice& slice, std::size_t bytes,
                    const char* what) {
  if (!slice) throw Error("cuda", std::string(what) + " is missing");
  // Of a final class; cheaper than a dynamic_cast. Pinned memory is every GPU's.
  if (typeid(*slice.buffer) != typeid(CudaBuffer) ||
      (&static_cast<CudaBuffer*>(slice.buffer)->gpu() != &gpu &&
       !static_cast<CudaBuffer*>(slice.buffer)->is_host())) {
    throw Error("cuda", std::string(what) + " is not in a buffer of this unit");
  }
  const std::size_t size = slice.buffer->size_bytes();
  if (slice.offset_bytes > size || size - slice.offset_bytes < bytes) {
    throw Error("cuda", std::string(what) + " needs " + std::to_string(bytes) +
                            " bytes from offset " + std::to_string(slice.offset_bytes) +
                            " on; its buffer has " + std::to_string(size));
  }
  if (slice.offset_bytes % alignof(float) != 0) {
    throw Error("cuda", std::string(what) + " is not aligned to 4 bytes");
  }
  return slice.buffer->address() + slice.offset_bytes;
}

std::size_t count_of(std::int64_t count, const char* what) {
  if (count < 0) throw Error("cuda", std::string(what) + " is negative");
  return static_cast<std::size_t>(count);
}

}  // namespace tandem::cuda
