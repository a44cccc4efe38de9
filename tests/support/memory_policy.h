// SPDX-License-Identifier: Apache-2.0
//
// Which policy decides the NUMA node of memory, as Linux tells: what a binding leaves behind.
//
// Asked of the system itself, so that it also judges what a library says it did. Containers often
// refuse both calls; refusal_of_binding() says so. Threads: any.
#pragma once

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

namespace tandem::test {

// The policy of the system page at `address`, MPOL_BIND and so on; -1 where the system refuses.
inline int policy_of(const void* address) {
  int policy = -1;
  std::array<unsigned long, 16> nodes{};
  const long failed = ::syscall(SYS_get_mempolicy, &policy, nodes.data(), nodes.size() * 64,
                                address, static_cast<unsigned long>(MPOL_F_ADDR));
  return failed != 0 ? -1 : policy;
}

// Whether memory there comes from nodes that somebody named, as long as they have any.
inline bool is_bound(const void* address) {
  constexpr int kPreferredMany = 5;  // newer than some headers
  const int policy = policy_of(address);
  return policy == MPOL_BIND || policy == MPOL_PREFERRED || policy == kPreferredMany;
}

// Why this process may not bind memory to the nodes that it may use; empty where it may.
inline std::string refusal_of_binding() {
  constexpr std::size_t kBytes = 1 << 16;
  std::array<unsigned long, 16> nodes{};
  int unused = 0;
  if (::syscall(SYS_get_mempolicy, &unused, nodes.data(), nodes.size() * 64, nullptr,
                static_cast<unsigned long>(MPOL_F_MEMS_ALLOWED)) != 0) {
    return std::string("get_mempolicy: ") + std::strerror(errno);
  }
  void* page = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return "no memory";
  const long failed =
      ::syscall(SYS_mbind, page, kBytes, MPOL_BIND, nodes.data(), nodes.size() * 64, 0UL);
  std::string reason = failed == 0 ? "" : std::string("mbind: ") + std::strerror(errno);
  if (failed == 0 && policy_of(page) != MPOL_BIND) reason = "get_mempolicy of an address";
  ::munmap(page, kBytes);
  return reason;
}

}  // namespace tandem::test
