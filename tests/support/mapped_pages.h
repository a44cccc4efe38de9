// SPDX-License-Identifier: Apache-2.0
//
// mapped_pages(): how many whole pages of a range this process has in memory, as the kernel's table
// of its pages says. Nothing where that table cannot be read.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tandem::test {

struct MappedPages {
  std::size_t present = 0, all = 0;
};

inline std::optional<MappedPages> mapped_pages(std::span<const std::byte> range) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(range.data());
  const std::uintptr_t first = (begin + page - 1) / page, last = (begin + range.size()) / page;
  std::vector<std::uint64_t> entries(last > first ? last - first : 0);
  const int file = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  const std::size_t bytes = entries.size() * sizeof entries[0];
  const auto offset = static_cast<off_t>(first * sizeof entries[0]);
  const ::ssize_t got = ::pread(file, entries.data(), bytes, offset);
  ::close(file);
  if (got != static_cast<::ssize_t>(bytes)) return std::nullopt;
  MappedPages pages{0, entries.size()};
  for (const std::uint64_t entry : entries) pages.present += entry >> 63;
  return pages;
}

}  // namespace tandem::test
