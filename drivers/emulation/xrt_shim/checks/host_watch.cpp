// SPDX-License-Identifier: Apache-2.0
//
// The handler of SIGSEGV takes no lock: copies are in a fixed table, recorded reads in another. It
// reports at once if the read is in the program's own code (or in a function of the C library that
// this code calls), because such a thread holds no lock of the allocator.
#include "emulation/xrt_shim/checks/host_watch.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "emulation/protocol/code_place.h"
#include "emulation/protocol/memory_states.h"

namespace tandem::emulation {

constexpr uint64_t kPageBytes = 4096;
constexpr size_t kMostWatched = 1024;
constexpr size_t kMostNoted = 64;

enum PageState : uint8_t { kPageOpen, kPageClosed, kPageLent };

class WatchedCopy {
 public:
  std::atomic<uint64_t> begin{0};  // 0: the place in the table is free
  uint64_t size_bytes = 0;         // size in whole pages
  uint64_t copy_bytes = 0;         // size of the buffer
  const void* owner = nullptr;
  uint64_t copy = 0;
  const MemoryStates* states = nullptr;
  std::unique_ptr<std::atomic<uint8_t>[]> pages;
  std::vector<bool> taken;  // by take_changeable(), closed pages
  std::atomic<uint32_t> num_closed{0};

  uint64_t num_pages() const { return size_bytes / kPageBytes; }
  bool protect(uint64_t page, uint64_t count, int rights) const {
    auto* const at = reinterpret_cast<void*>(begin.load() + page * kPageBytes);
    return mprotect(at, count * kPageBytes, rights) == 0;
  }
  bool is_unseen(uint64_t page) const {
    const uint64_t count = std::min(kPageBytes, copy_bytes - page * kPageBytes);
    return states->any_unseen(copy + page * kPageBytes, count);
  }
};

namespace {

struct NotedRead {
  std::atomic<uint32_t> state{0};  // 0 free, 1 being written, 2 noted, 3 being read
  EarlyRead read;
};

std::array<WatchedCopy, kMostWatched> watched_copies;
std::array<NotedRead, kMostNoted> noted_reads;
std::atomic<ReadReporter> read_reporter{nullptr};
std::mutex watch_mutex;  // guards the table and the members below; the handler does not use it
bool is_installed = false;
struct sigaction first_before {};   // at the first installation
struct sigaction action_before {};  // at the last one
// In this thread, between a call of an earlier handler and its return. In the library's own part of
// the thread: a handler must not allocate.
__attribute__((tls_model("initial-exec"))) thread_local bool handing_on = false;

constexpr int kOpenRights = PROT_READ | PROT_WRITE;

WatchedCopy* copy_at(uint64_t address) {
  for (WatchedCopy& watched : watched_copies) {
    const uint64_t begin = watched.begin.load();
    if (begin != 0 && address >= begin && address - begin < watched.size_bytes) return &watched;
  }
  return nullptr;
}

// Opens pages. If the system cannot split the mapping, opens the whole copy.
bool open_pages(WatchedCopy& watched, uint64_t page, uint64_t count) {
  for (uint64_t each = page; each < page + count; ++each) {
    if (watched.pages[each].exchange(kPageOpen) != kPageOpen) watched.num_closed.fetch_sub(1);
  }
  if (watched.protect(page, count, kOpenRights)) return true;
  return count < watched.num_pages() && open_pages(watched, 0, watched.num_pages());
}

bool is_write(const void* context) {
#if defined(__x86_64__)
  constexpr greg_t kWriteFault = 2;
  const auto* const user = static_cast<const ucontext_t*>(context);
  return (user->uc_mcontext.gregs[REG_ERR] & kWriteFault) != 0;
#else
  (void)context;
  return true;  // so nothing is reported
#endif
}

const void* instruction_of(const void* context) {
#if defined(__x86_64__)
  const auto* const user = static_cast<const ucontext_t*>(context);
  return reinterpret_cast<const void*>(user->uc_mcontext.gregs[REG_RIP]);
#else
  (void)context;
  return nullptr;
#endif
}

// The stack of the read. Its first address is one after the instruction, as for return addresses.
void fill_frames(EarlyRead& read, const void* context) {
  void* all[kMostReadFrames + 8];
  const int count = backtrace(all, static_cast<int>(std::size(all)));
  const void* const instruction = instruction_of(context);
  int index = 0;
  while (index < count && all[index] != instruction) ++index;
  read.frames[0] = static_cast<const char*>(instruction) + 1;
  for (int to = 1; to < kMostReadFrames && ++index < count; ++to) read.frames[to] = all[index];
}

// The first frame of the program; how far it is from the read.
int depth_of_program(const EarlyRead& read) {
  for (int index = 0; index < kMostReadFrames && read.frames[index] != nullptr; ++index) {
    if (!is_runtime_code(read.frames[index])) return index;
  }
  return kMostReadFrames;
}

// Whether the reading library is this one: its own copies are not reads of the program.
bool is_own_read(const EarlyRead& read) {
  Dl_info own{}, other{};
  dladdr(reinterpret_cast<const void*>(&is_own_read), &own);
  for (int index = 0; index < 3 && read.frames[index] != nullptr; ++index) {
    if (dladdr(read.frames[index], &other) != 0 && other.dli_fbase == own.dli_fbase) return true;
  }
  return false;
}

void note_read(const WatchedCopy& watched, uint64_t offset, const void* context) {
  EarlyRead read;
  read.owner = watched.owner;
  read.copy = watched.copy;
  read.offset = offset;
  fill_frames(read, context);
  if (is_own_read(read)) return;
  const ReadReporter report = read_reporter.load();
  if (depth_of_program(read) <= 1 && report != nullptr) return report(read);
  for (NotedRead& noted : noted_reads) {
    uint32_t expected = 0;
    if (!noted.state.compare_exchange_strong(expected, 1)) continue;
    noted.read = read;
    noted.state.store(2);
    return;
  }
}

// The page belongs to the program again: later reads there are correct.
void forget_unseen(WatchedCopy& watched, uint64_t page) {
  const uint64_t first = page * kPageBytes;
  const uint64_t end = std::min(first + kPageBytes, watched.copy_bytes);
  uint8_t* const states = watched.states->states() + watched.copy;
  for (uint64_t byte = first; byte < end; ++byte) {
    std::atomic_ref<uint8_t> state(states[byte]);
    if ((state.load() & kStateUnseen) != 0) state.fetch_and(static_cast<uint8_t>(~kStateUnseen));
  }
  watched.states->note_change(watched.copy + first, end - first);
}

// False if the access is not to a watched copy.
bool handle_access(uint64_t address, const void* context) {
  WatchedCopy* const watched = copy_at(address);
  if (watched == nullptr) return false;
  const uint64_t offset = address - watched->begin.load();
  const uint64_t page = offset / kPageBytes;
  const bool writes = is_write(context);
  const bool unseen =
      offset < watched->copy_bytes && watched->states->any(watched->copy + offset, 1, kStateUnseen);
  const bool is_finding = !writes && unseen;
  // One early read of a copy is enough for a finding.
  const bool opened =
      is_finding ? open_pages(*watched, 0, watched->num_pages()) : open_pages(*watched, page, 1);
  if (!opened) return false;
  if (writes) forget_unseen(*watched, page);
  if (is_finding) note_read(*watched, offset, context);
  return true;
}

// As if this handler were not there. A handler that was set after ours, and calls ours in turn, is
// not called twice.
void act_as_before(int signal, siginfo_t* info, void* context) {
  const struct sigaction before = handing_on ? first_before : action_before;
  const bool has_handler = (before.sa_flags & SA_SIGINFO) != 0 ||
                           (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN);
  if (!has_handler || (before.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    struct sigaction usual {};
    usual.sa_handler = has_handler ? SIG_DFL : before.sa_handler;
    sigaction(signal, &usual, nullptr);
  }
  if (!has_handler) {  // an access is made again and ends the program, a signal is sent again
    if (info->si_code <= 0) raise(signal);
    return;
  }
  const bool outer = std::exchange(handing_on, true);
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else {
    before.sa_handler(signal);
  }
  handing_on = outer;
}

void on_access(int signal, siginfo_t* info, void* context) {
  const int code = errno;
  const bool is_access = info->si_code > 0;  // else kill() or raise() sent it
  const bool ours = is_access && handle_access(reinterpret_cast<uint64_t>(info->si_addr), context);
  errno = code;
  if (!ours) act_as_before(signal, info, context);
}

// Installs the handler again if the program has put its own in front.
void install_handler() {
  const std::lock_guard<std::mutex> lock(watch_mutex);
  struct sigaction now {};
  sigaction(SIGSEGV, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_access) return;
  void* frame = nullptr;
  backtrace(&frame, 1);  // loads the libraries that backtrace() needs
  if (!std::exchange(is_installed, true)) first_before = now;
  action_before = now;
  struct sigaction ours {};
  ours.sa_sigaction = on_access;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | (now.sa_flags & SA_ONSTACK);
  sigaction(SIGSEGV, &ours, nullptr);
}

// Closes the pages of [first, end) that are `from` and hold bytes that the host has not seen.
void close_pages(WatchedCopy& watched, uint64_t first, uint64_t end, PageState from) {
  for (uint64_t page = first; page < end;) {
    uint64_t next = page;
    for (; next < end && watched.pages[next].load() == from && watched.is_unseen(next); ++next) {
      watched.pages[next].store(kPageClosed);
      if (from != kPageOpen) continue;
      watched.num_closed.fetch_add(1);
      watched.taken[next] = false;
    }
    if (next > page && !watched.protect(page, next - page, PROT_NONE)) {
      open_pages(watched, page, next - page);
    }
    page = std::max(next, page + 1);
  }
}

uint64_t first_page(uint64_t offset) { return offset / kPageBytes; }
uint64_t end_page(const WatchedCopy& watched, uint64_t end) {
  return std::min((end + kPageBytes - 1) / kPageBytes, watched.num_pages());
}

}  // namespace

WatchedCopy* watch_copy(const void* owner, uint64_t copy, std::byte* host, uint64_t size_bytes,
                        bool owns_pages, const MemoryStates& states) {
  const uint64_t whole = owns_pages ? size_bytes + kPageBytes - 1 : size_bytes;
  const uint64_t num_pages = whole / kPageBytes;
  if (num_pages == 0) return nullptr;
  const std::lock_guard<std::mutex> lock(watch_mutex);
  for (WatchedCopy& watched : watched_copies) {
    if (watched.begin.load() != 0) continue;
    watched.size_bytes = num_pages * kPageBytes;
    watched.copy_bytes = size_bytes;
    watched.owner = owner;
    watched.copy = copy;
    watched.states = &states;
    watched.pages = std::make_unique<std::atomic<uint8_t>[]>(num_pages);
    watched.taken.assign(num_pages, false);
    watched.num_closed.store(0);
    watched.begin.store(reinterpret_cast<uint64_t>(host));
    return &watched;
  }
  return nullptr;
}

void unwatch_copy(WatchedCopy* watched) {
  if (watched == nullptr) return;
  const std::lock_guard<std::mutex> lock(watch_mutex);
  if (watched->num_closed.load() != 0) open_pages(*watched, 0, watched->num_pages());
  watched->begin.store(0);
}

void close_unseen(WatchedCopy* watched) {
  if (watched == nullptr) return;
  install_handler();
  close_pages(*watched, 0, watched->num_pages(), kPageOpen);
}

void begin_use(WatchedCopy* watched, uint64_t offset, uint64_t size_bytes) {
  if (watched == nullptr || watched->num_closed.load() == 0) return;
  const uint64_t end = end_page(*watched, offset + size_bytes);
  for (uint64_t page = first_page(offset); page < end; ++page) {
    uint8_t closed = kPageClosed;
    watched->pages[page].compare_exchange_strong(closed, kPageLent);
  }
  const uint64_t first = first_page(offset);
  if (first < end && !watched->protect(first, end - first, kOpenRights)) {
    open_pages(*watched, first, end - first);
  }
}

void end_use(WatchedCopy* watched, uint64_t offset, uint64_t size_bytes) {
  if (watched == nullptr || watched->num_closed.load() == 0) return;
  const uint64_t first = first_page(offset);
  const uint64_t end = end_page(*watched, offset + size_bytes);
  close_pages(*watched, first, end, kPageLent);
  for (uint64_t page = first; page < end; ++page) {
    uint8_t lent = kPageLent;
    if (watched->pages[page].compare_exchange_strong(lent, kPageOpen)) {
      watched->num_closed.fetch_sub(1);
    }
  }
}

std::vector<CopyPart> take_changeable(WatchedCopy& watched) {
  std::vector<CopyPart> parts;
  for (uint64_t page = 0; page < watched.num_pages(); ++page) {
    const bool is_closed = watched.pages[page].load() != kPageOpen;
    if (is_closed && watched.taken[page]) continue;
    watched.taken[page] = is_closed;
    const uint64_t offset = page * kPageBytes;
    const uint64_t size_bytes = std::min(kPageBytes, watched.copy_bytes - offset);
    const bool goes_on = !parts.empty() && parts.back().is_closed == is_closed &&
                         parts.back().offset + parts.back().size_bytes == offset;
    if (goes_on) {
      parts.back().size_bytes += size_bytes;
    } else {
      parts.push_back({offset, size_bytes, is_closed});
    }
  }
  // What follows the last whole page is never closed.
  const uint64_t end = std::min(watched.size_bytes, watched.copy_bytes);
  if (end < watched.copy_bytes) parts.push_back({end, watched.copy_bytes - end, false});
  return parts;
}

void set_read_reporter(ReadReporter reporter) { read_reporter.store(reporter); }

void report_reads() {
  const ReadReporter report = read_reporter.load();
  for (NotedRead& noted : noted_reads) {
    uint32_t expected = 2;
    if (!noted.state.compare_exchange_strong(expected, 3)) continue;
    const EarlyRead read = noted.read;
    noted.state.store(0);
    if (report != nullptr) report(read);
  }
}

}  // namespace tandem::emulation
