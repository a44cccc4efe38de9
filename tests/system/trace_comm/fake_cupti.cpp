// SPDX-License-Identifier: Apache-2.0
//
// Stands in for libcupti: hands over records of copies of two GPUs when it is told to.
//
// It places fields by the byte, as CUPTI's documentation lays them out, and does not see the
// header of the library under test. FAKE_CUPTI_REFUSES: nothing can be recorded.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <set>
#include <vector>

namespace {

using Request = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Take = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);

constexpr std::size_t kRecordBytes = 128;
constexpr std::uint32_t kCopy = 1, kPeer = 22, kUnified = 25;

Request request = nullptr;
Take take = nullptr;
std::set<std::uint32_t> enabled;
std::vector<std::vector<std::uint8_t>> waiting;
bool counters_are_set = false;

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

template <typename Value>
void put(std::vector<std::uint8_t>& record, std::size_t at, Value value) {
  std::memcpy(record.data() + at, &value, sizeof value);
}

std::vector<std::uint8_t>& new_record(std::uint32_t kind, std::uint64_t bytes,
                                      std::uint64_t start_ns) {
  std::vector<std::uint8_t>& record = waiting.emplace_back(kRecordBytes);
  put(record, 0, kind);
  put(record, 8, bytes);
  put(record, 16, start_ns);
  put(record, 24, start_ns + 1000);
  return record;
}

void add_copy(std::uint8_t kind, std::uint32_t device, std::uint64_t bytes,
              std::uint64_t start_ns) {
  auto& record = new_record(kCopy, bytes, start_ns);
  put(record, 4, kind);
  put(record, 32, device);
}

void add_peer(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, std::uint64_t start_ns) {
  auto& record = new_record(kPeer, bytes, start_ns);
  put(record, 4, std::uint8_t{10});
  put(record, 44, from);
  put(record, 52, to);
}

void add_unified(std::uint32_t counter, std::uint32_t from, std::uint32_t to, std::uint64_t bytes,
                 std::uint64_t start_ns) {
  auto& record = new_record(kUnified, bytes, start_ns);
  put(record, 4, counter);
  put(record, 40, from);
  put(record, 44, to);
}

}  // namespace

extern "C" {

int cuptiActivityRegisterCallbacks(Request new_request, Take new_take) {
  request = new_request;
  take = new_take;
  return 0;
}
int cuptiActivityEnable(std::uint32_t kind) {
  if (std::getenv("FAKE_CUPTI_REFUSES") != nullptr) return 35;
  if (kind == kUnified && !counters_are_set) return 1;
  enabled.insert(kind);
  return 0;
}
int cuptiActivityConfigureUnifiedMemoryCounter(void* /*settings*/, std::uint32_t count) {
  counters_are_set = count == 3;
  return 0;
}
int cuptiActivityFlushPeriod(std::uint32_t) { return 0; }
int cuptiGetTimestamp(std::uint64_t* ns) {
  *ns = now_ns();
  return 0;
}

// A buffer holds a few records, so several are needed.
int cuptiActivityFlushAll(std::uint32_t) {
  constexpr std::size_t kPerBuffer = 3;
  for (std::size_t at = 0; at < waiting.size();) {
    std::uint8_t* buffer = nullptr;
    std::size_t bytes = 0, most = 0, used = 0;
    request(&buffer, &bytes, &most);
    if (buffer == nullptr) return 0;
    for (std::size_t i = 0; i < kPerBuffer && at < waiting.size(); ++i, ++at) {
      std::uint32_t kind = 0;
      std::memcpy(&kind, waiting[at].data(), sizeof kind);
      if (enabled.count(kind) == 0) continue;
      std::memcpy(buffer + used, waiting[at].data(), kRecordBytes);
      used += kRecordBytes;
    }
    take(nullptr, 0, buffer, bytes, used);
  }
  waiting.clear();
  return 0;
}

int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, void** record) {
  auto* const last = static_cast<std::uint8_t*>(*record);
  std::uint8_t* const next = last == nullptr ? buffer : last + kRecordBytes;
  if (next + kRecordBytes > buffer + valid) return 12;
  *record = next;
  return 0;
}

int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* dropped) {
  static bool is_told = false;
  *dropped = is_told ? 0 : 5;
  is_told = true;
  return 0;
}

// What the program under test does on its GPUs.
void fake_cupti_work() {
  const std::uint64_t at = now_ns();
  add_copy(1, 0, 4096, at);
  add_copy(2, 1, 100, at + 1'000);
  add_copy(8, 1, 30, at + 2'000);
  add_copy(77, 1, 9, at + 3'000);  // no kind that is known
  add_peer(0, 1, 7000, at + 1'500'000'000);
  add_unified(1, 0, 1, 65536, at + 4'000);
  add_unified(2, 0, 0, 512, at + 5'000);
  add_unified(8, 1, 0, 64, at + 6'000);
  add_unified(3, 1, 0, 1, at + 7'000);  // a fault of a page
}

}  // extern "C"
