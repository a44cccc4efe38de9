// SPDX-License-Identifier: Apache-2.0
//
// ActivityTrace with a double of CUPTI, which also sends unusual records.
#include "cuda/trace/activity_trace.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <thread>

#include "common/error.h"

namespace tandem::cuda {
namespace {

using namespace std::chrono_literals;
using Clock = ClockMap::Clock;

// The double: one buffer at a time, records as the library writes them, with more at their ends.
struct Fed {
  static constexpr std::size_t kRecordBytes = 208;
  Cupti::RequestBuffer request = nullptr;
  Cupti::TakeBuffer take = nullptr;
  int status_of_enable = 0;
  std::vector<CuptiKind> enabled;
  std::size_t dropped = 0;
  std::uint64_t offset_ns = 1'000'000'000'000;  // CUPTI's clock before the steady clock's
  std::deque<std::vector<std::uint8_t>> records;

  std::uint64_t now() const { return ns_of(Clock::now()); }
  std::uint64_t ns_of(Clock::time_point at) const {
    return static_cast<std::uint64_t>(
               std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch())
                   .count()) +
           offset_ns;
  }
  template <typename Record>
  void add(const Record& record) {
    auto& bytes = records.emplace_back(kRecordBytes);
    std::memcpy(bytes.data(), &record, sizeof(record));
  }
  void kernel(const char* name, std::uint64_t begin, std::uint64_t end, std::uint32_t stream = 7) {
    CuptiKernel record{};
    record.kind = CuptiKind::kKernel;
    record.start_ns = begin;
    record.end_ns = end;
    record.device = 1;
    record.stream = stream;
    record.name = name;
    add(record);
  }
  // False when there was no buffer.
  bool send() {
    std::uint8_t* buffer = nullptr;
    std::size_t bytes = 0, most = 1;
    request(&buffer, &bytes, &most);
    if (buffer == nullptr) return false;
    std::size_t at = 0;
    for (const auto& record : records) {
      std::memcpy(buffer + at, record.data(), record.size());
      at += record.size();
    }
    records.clear();
    take(nullptr, 0, buffer, bytes, at);
    return true;
  }
};
Fed* fed = nullptr;

Cupti double_of_cupti() {
  Cupti cupti;
  cupti.register_callbacks = [](Cupti::RequestBuffer request, Cupti::TakeBuffer take) {
    fed->request = request;
    fed->take = take;
    return 0;
  };
  cupti.enable = [](CuptiKind kind) {
    fed->enabled.push_back(kind);
    return fed->status_of_enable;
  };
  cupti.disable = [](CuptiKind kind) {
    std::erase(fed->enabled, kind);
    return 0;
  };
  cupti.flush_all = [](std::uint32_t) {
    if (!fed->records.empty()) fed->send();
    return 0;
  };
  cupti.next_record = [](std::uint8_t* buffer, std::size_t valid, CuptiRecord** record) {
    auto* last = reinterpret_cast<std::uint8_t*>(*record);
    std::uint8_t* next = last == nullptr ? buffer : last + Fed::kRecordBytes;
    if (next + Fed::kRecordBytes > buffer + valid) return 13;
    *record = reinterpret_cast<CuptiRecord*>(next);
    return 0;
  };
  cupti.dropped_records = [](void*, std::uint32_t, std::size_t* dropped) {
    *dropped = std::exchange(fed->dropped, 0);
    return 0;
  };
  cupti.timestamp_ns = [](std::uint64_t* ns) {
    *ns = fed->now();
    return 0;
  };
  return cupti;
}

class ActivityTraceTest : public testing::Test {
 protected:
  void SetUp() override { fed = &fed_; }
  void TearDown() override { fed = nullptr; }

  std::unique_ptr<ActivityTrace> trace() {
    return std::make_unique<ActivityTrace>(
        cupti_, [this](const device::DeviceActivity& activity) { heard_.push_back(activity); },
        [this](const std::string& line) { warnings_.push_back(line); });
  }

  Fed fed_;
  const Cupti cupti_ = double_of_cupti();
  std::vector<device::DeviceActivity> heard_;
  std::vector<std::string> warnings_;
};

TEST_F(ActivityTraceTest, TellsKernelsCopiesAndMemsetsInTheHostsTime) {
  const auto trace = this->trace();
  EXPECT_EQ(fed_.enabled.size(), 4u);
  const auto at = Clock::now() + 1ms;
  CuptiMemcpy copy{};
  copy.kind = CuptiKind::kCopy;
  copy.copy_kind = 1;
  copy.bytes = 4096;
  copy.start_ns = fed_.ns_of(at + 5us);
  copy.end_ns = fed_.ns_of(at + 9us);
  copy.stream = 3;
  fed_.kernel("_ZN6tandem11gpu_kernels12_GLOBAL__N_115rms_norm_kernelILi8EEEvPKfi", fed_.ns_of(at),
              fed_.ns_of(at + 4us));
  fed_.add(copy);
  CuptiMemset set{};
  set.kind = CuptiKind::kSet;
  set.bytes = 16;
  set.start_ns = set.end_ns = fed_.ns_of(at + 2us);
  fed_.add(set);
  fed_.send();
  ASSERT_EQ(heard_.size(), 3u);
  EXPECT_EQ(heard_[0].device, "cuda:1");
  EXPECT_EQ(heard_[0].track, "stream 7");
  EXPECT_EQ(heard_[0].name, "rms_norm_kernel<8>");
  EXPECT_EQ(heard_[0].bytes, -1);
  EXPECT_EQ(heard_[1].name, "memset");
  EXPECT_EQ(heard_[2].name, "copy to the device");
  EXPECT_EQ(heard_[2].track, "stream 3");
  EXPECT_EQ(heard_[2].bytes, 4096);
  // Between the two clocks lies what the calls that pair them take, on a loaded machine too.
  EXPECT_LT(std::chrono::abs(heard_[0].begin - at), 1s);
}

TEST_F(ActivityTraceTest, LeavesOutOddRecordsAndCountsDroppedOnes) {
  const std::uint64_t before = fed_.now();
  auto trace = this->trace();
  const std::uint64_t later = fed_.now() + 1'000'000;
  fed_.kernel("early", before - 1000, before - 500);
  fed_.kernel("endless", later, 0);
  fed_.kernel("never", 0, 0);
  fed_.kernel(nullptr, later, later + 10);
  CuptiKernel unknown{};
  unknown.kind = static_cast<CuptiKind>(9999);
  unknown.start_ns = later;
  unknown.end_ns = later + 5;
  fed_.add(unknown);
  fed_.dropped = 17;
  fed_.send();
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_EQ(heard_[0].name, "kernel");
  EXPECT_EQ(trace->dropped(), 17u);
  fed_.send();  // an empty buffer
  EXPECT_EQ(heard_.size(), 1u);
  trace.reset();
  EXPECT_THAT(warnings_, testing::ElementsAre(testing::HasSubstr("lacks 17 kernels and copies")));
}

TEST_F(ActivityTraceTest, SpansOfATrackLieApart) {
  const auto trace = this->trace();
  const std::uint64_t at = fed_.now() + 1'000'000;
  for (int i = 9; i >= 0; --i) fed_.kernel("chained", at + 100 * i, at + 100 * i + 350);
  fed_.kernel("elsewhere", at, at + 2000, 8);
  fed_.send();
  ASSERT_EQ(heard_.size(), 11u);
  std::map<std::string, Clock::time_point> ended;
  for (const auto& span : heard_) {
    EXPECT_LE(span.begin, span.end);
    EXPECT_GE(span.begin, ended[span.track]) << span.track;
    ended[span.track] = span.end;
  }
  EXPECT_EQ(ended.size(), 5u) << "four of stream 7, one of stream 8";
}

TEST_F(ActivityTraceTest, LendsABoundedNumberOfBuffersAndTakesWhatComesInTheEnd) {
  {
    const auto trace = this->trace();
    std::vector<std::uint8_t*> lent;
    std::size_t bytes = 0, records = 0;
    for (std::size_t i = 0; i <= ActivityTrace::kMostBuffers; ++i) {
      fed_.request(&lent.emplace_back(), &bytes, &records);
    }
    EXPECT_EQ(lent.back(), nullptr);
    EXPECT_EQ(bytes, 0u);
    fed_.take(nullptr, 0, lent.front(), ActivityTrace::kBufferBytes, 0);
    fed_.kernel("last", fed_.now() + 1000, fed_.now() + 2000);
  }
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_EQ(heard_[0].name, "last");
  EXPECT_TRUE(fed_.enabled.empty());
  EXPECT_FALSE(fed_.send()) << "nobody lends any more";
}

TEST_F(ActivityTraceTest, SaysWhyThereIsNothingToRecord) {
  fed_.status_of_enable = 35;
  try {
    trace();
    FAIL() << "made";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("status 35"));
    EXPECT_THAT(error.what(), testing::HasSubstr("administrators only"));
  }
  fed_.status_of_enable = 0;
  EXPECT_NO_THROW(trace()) << "another may be tried";
}

// A double that several threads call: a library that gives a buffer back whenever it likes.
struct Busy {
  std::atomic<Cupti::RequestBuffer> request = nullptr;
  std::atomic<Cupti::TakeBuffer> take = nullptr;
};
Busy busy;

Cupti busy_cupti() {
  Cupti cupti = double_of_cupti();
  cupti.register_callbacks = [](Cupti::RequestBuffer request, Cupti::TakeBuffer take) {
    busy.request = request;
    busy.take = take;
    return 0;
  };
  cupti.enable = cupti.disable = [](CuptiKind) { return 0; };
  cupti.flush_all = [](std::uint32_t) {
    std::this_thread::yield();
    return 0;
  };
  cupti.next_record = [](std::uint8_t*, std::size_t, CuptiRecord**) {
    std::this_thread::yield();
    return 13;
  };
  cupti.dropped_records = [](void*, std::uint32_t, std::size_t*) { return 13; };
  cupti.timestamp_ns = [](std::uint64_t* ns) {
    *ns = 1;
    return 0;
  };
  return cupti;
}

TEST(SharedTrace, EndsAndBeginsAgainWhileBuffersComeBack) {
  SharedTrace shared([](std::string&) {
    static const Cupti cupti = busy_cupti();
    return &cupti;
  });
  std::atomic<bool> is_over = false;
  std::thread library([&] {
    while (!is_over) {
      std::uint8_t* buffer = nullptr;
      std::size_t bytes = 0, most = 0;
      if (const auto request = busy.request.load()) request(&buffer, &bytes, &most);
      if (buffer != nullptr) busy.take.load()(nullptr, 0, buffer, bytes, 1);
    }
  });
  std::vector<std::thread> users;
  for (int i = 0; i < 4; ++i) {
    users.emplace_back([&] {
      for (int time = 0; time < 200; ++time) {
        EXPECT_NE(shared.get([](const auto&) {}, {}), nullptr);
      }
    });
  }
  for (std::thread& user : users) user.join();
  is_over = true;
  library.join();
}

TEST(SharedTrace, SaysOnceWhyThereIsNone) {
  SharedTrace shared([](std::string& reason) -> const Cupti* {
    reason = "no library";
    return nullptr;
  });
  std::vector<std::string> warnings;
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(shared.get({}, [&](const std::string& line) { warnings.push_back(line); }), nullptr);
  }
  EXPECT_THAT(warnings, testing::ElementsAre(testing::HasSubstr("no library")));
}

TEST(ClockMapTest, FollowsAClockThatDrifts) {
  ClockMap map;
  const auto start = Clock::now();
  map.add(5'000'000, start);
  EXPECT_EQ(map.map(5'000'100), start + 100ns) << "one pair: as fast as ours";
  map.add(5'000'000 + 1'001'000, start + 1ms);  // a thousandth faster
  EXPECT_EQ(map.map(5'000'000), start);
  EXPECT_EQ(map.map(5'000'000 + 1'001'000), start + 1ms);
  EXPECT_NEAR(static_cast<double>((map.map(5'000'000 + 2'002'000) - start).count()), 2e6, 1.0);
  EXPECT_NEAR(static_cast<double>((map.map(5'000'000 - 1'001'000) - start).count()), -1e6, 1.0);
  map.add(4'000'000, start);  // a clock that went back is not believed
  EXPECT_EQ(map.map(5'000'000 + 1'001'000), start + 1ms);
}

TEST(KernelName, IsReadable) {
  EXPECT_EQ(readable_kernel_name("_Z9transposePfi"), "transpose");
  EXPECT_EQ(readable_kernel_name("void a::b::(anonymous namespace)::f<2, g::T>(int, x)"),
            "f<2, g::T>");
  EXPECT_EQ(readable_kernel_name("sm90_xmma_gemm_f16"), "sm90_xmma_gemm_f16");
  EXPECT_EQ(readable_kernel_name(""), "kernel");
  EXPECT_EQ(readable_kernel_name(")><("), ")><") << "whatever it is";
}

}  // namespace
}  // namespace tandem::cuda
