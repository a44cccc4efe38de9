// SPDX-License-Identifier: Apache-2.0
//
// Device memory at an AXI4 port, driven signal by signal: shapes of bursts, strobes, answers, and
// what breaks the protocol.
#include <gmock/gmock.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "bitstreams/compiler/glue/rtl/axi_memory.h"

namespace {

struct Told {
  std::vector<std::tuple<uint64_t, uint64_t, bool>> accesses;  // address, bytes, writes
  std::vector<std::string> broken;
  uint64_t stalls = 0;
} told;

constexpr uint64_t kMemoryBytes = 16384;

}  // namespace

extern "C" {
std::uint64_t tandem_rtl_memory_bytes() { return kMemoryBytes; }
void tandem_rtl_access(const char*, std::uint64_t address, std::uint64_t size_bytes, int writes) {
  told.accesses.emplace_back(address, size_bytes, writes != 0);
}
void tandem_rtl_protocol(const char*, const char*, const char* what) {
  told.broken.push_back(what);
}
std::uint64_t tandem_rtl_stalls() { return told.stalls; }
}

namespace tandem_rtl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

enum Kind : uint64_t { kFixed, kIncrement, kWrap, kReserved };

// A port of 8 bytes whose kernel side the tests play.
class Port : public testing::Test {
 protected:
  Port() {
    told = {};
    for (uint64_t at = 0; at < kMemoryBytes; ++at) memory_[at] = static_cast<unsigned char>(at * 7);
    make();
  }

  void make() {
    MemoryPins pins;
    Pin* const all[] = {&pins.awvalid, &pins.awready, &pins.awaddr,  &pins.awid,   &pins.awlen,
                        &pins.awsize,  &pins.awburst, &pins.wvalid,  &pins.wready, &pins.wdata,
                        &pins.wstrb,   &pins.wlast,   &pins.bvalid,  &pins.bready, &pins.bresp,
                        &pins.bid,     &pins.arvalid, &pins.arready, &pins.araddr, &pins.arid,
                        &pins.arlen,   &pins.arsize,  &pins.arburst, &pins.rvalid, &pins.rready,
                        &pins.rdata,   &pins.rlast,   &pins.rid,     &pins.rresp};
    for (size_t index = 0; index < std::size(all); ++index) {
      *all[index] = {&signals_[index], sizeof(uint64_t), 64};
    }
    pins_ = pins;
    port_ = std::make_unique<AxiMemory>("m_axi_gmem", pins);
    port_->connect(memory_.data());
  }

  void cycle() {
    port_->drive(now_);
    seen_read_ = pins_.rvalid.get() && pins_.rready.get();
    ready_ = pins_.awvalid.get()  ? pins_.awready.get()
             : pins_.wvalid.get() ? pins_.wready.get()
                                  : pins_.arready.get();
    port_->sample(now_++);
  }
  // Keeps a valid signal up until it is taken.
  void send(const Pin& valid) {
    valid.set(1);
    do cycle();
    while (!ready_);
    valid.set(0);
  }

  std::vector<uint64_t> read(uint64_t address, uint64_t beats, uint64_t log_bytes, Kind kind) {
    pins_.araddr.set(address);
    pins_.arlen.set(beats - 1);
    pins_.arsize.set(log_bytes);
    pins_.arburst.set(kind);
    pins_.arid.set(5);
    send(pins_.arvalid);
    pins_.rready.set(1);
    std::vector<uint64_t> data;
    for (int wait = 0; data.size() < beats && wait < 2000; ++wait) {
      cycle();
      if (!seen_read_) continue;
      data.push_back(pins_.rdata.get());
      EXPECT_EQ(pins_.rlast.get(), data.size() == beats);
      EXPECT_EQ(pins_.rid.get(), 5u);
      answer_ = pins_.rresp.get();
    }
    return data;
  }

  void write(uint64_t address, const std::vector<uint64_t>& beats, uint64_t log_bytes, Kind kind,
             const std::vector<uint64_t>& strobes) {
    pins_.awaddr.set(address);
    pins_.awlen.set(beats.size() - 1);
    pins_.awsize.set(log_bytes);
    pins_.awburst.set(kind);
    pins_.awid.set(9);
    send(pins_.awvalid);
    for (size_t beat = 0; beat < beats.size(); ++beat) {
      pins_.wdata.set(beats[beat]);
      pins_.wstrb.set(strobes[beat]);
      pins_.wlast.set(beat + 1 == beats.size() ? last_ : early_);
      send(pins_.wvalid);
    }
    pins_.bready.set(1);
    for (int wait = 0; pins_.bvalid.get() == 0 && wait < 1000; ++wait) cycle();
    EXPECT_EQ(pins_.bid.get(), 9u);
    answer_ = pins_.bresp.get();
    cycle();
    EXPECT_TRUE(port_->rests());
  }

  uint64_t word(uint64_t address) const {
    uint64_t value;
    std::memcpy(&value, &memory_[address], 8);
    return value;
  }

  std::vector<unsigned char> memory_ = std::vector<unsigned char>(kMemoryBytes);
  uint64_t signals_[29] = {};
  MemoryPins pins_;
  std::unique_ptr<AxiMemory> port_;
  uint64_t now_ = 0, ready_ = 0, answer_ = 7;
  bool seen_read_ = false;
  uint64_t last_ = 1, early_ = 0;
};

TEST_F(Port, ReadsBurstsInOrder) {
  EXPECT_THAT(read(64, 3, 3, kIncrement), ElementsAre(word(64), word(72), word(80)));
  EXPECT_THAT(read(96, 2, 3, kFixed), ElementsAre(word(96), word(96)));
  EXPECT_THAT(read(144, 4, 3, kWrap), ElementsAre(word(144), word(152), word(128), word(136)));
  EXPECT_THAT(told.accesses,
              ElementsAre(std::make_tuple(64, 24, false), std::make_tuple(96, 8, false),
                          std::make_tuple(128, 32, false)));
  EXPECT_THAT(told.broken, IsEmpty());
  EXPECT_EQ(answer_, 0u);
}

TEST_F(Port, NarrowAndUnalignedBeatsUseTheirLanes) {
  const std::vector<uint64_t> narrow = read(68, 2, 2, kIncrement);
  EXPECT_THAT(narrow, ElementsAre(word(64) >> 32 << 32, word(72) & 0xffffffff));
  const std::vector<uint64_t> unaligned = read(67, 2, 3, kIncrement);
  EXPECT_THAT(unaligned, ElementsAre(word(64) >> 24 << 24, word(72)));
  EXPECT_THAT(told.accesses,
              ElementsAre(std::make_tuple(68, 8, false), std::make_tuple(67, 13, false)));
}

TEST_F(Port, WritesOnlyStrobedBytes) {
  const uint64_t before = word(208);
  write(200, {~0ull, 0x1122334455667788}, 3, kIncrement, {0xff, 0x0f});
  EXPECT_EQ(word(200), ~0ull);
  EXPECT_EQ(word(208), (before >> 32 << 32) | 0x55667788);
  EXPECT_THAT(told.accesses, ElementsAre(std::make_tuple(200, 12, true)));
  write(300, {~0ull}, 2, kIncrement, {0xf0});
  EXPECT_EQ(word(296) >> 32, 0xffffffffu);
  EXPECT_THAT(told.broken, IsEmpty());
  EXPECT_EQ(answer_, 0u);
}

TEST_F(Port, AnswersAddressesOutsideOfMemoryWithAnError) {
  EXPECT_THAT(read(kMemoryBytes, 1, 3, kIncrement), ElementsAre(0u));
  EXPECT_EQ(answer_, 3u);
  write(~uint64_t{7}, {1}, 3, kIncrement, {0xff});
  EXPECT_EQ(answer_, 3u);
  EXPECT_THAT(told.accesses, ElementsAre(std::make_tuple(kMemoryBytes, 8, false),
                                         std::make_tuple(~uint64_t{7}, 8, true)));
  EXPECT_EQ(read(kMemoryBytes - 8, 1, 3, kIncrement).size(), 1u);
  EXPECT_EQ(answer_, 0u);
}

TEST_F(Port, TellsBurstsThatTheProtocolDoesNotHave) {
  read(4088, 2, 3, kIncrement);
  EXPECT_THAT(told.broken, ElementsAre(HasSubstr("0xff8 crosses a boundary of 4 KB")));
  read(4080, 2, 3, kIncrement);
  read(8184, 2, 3, kIncrement);  // the same rule, once per run
  EXPECT_EQ(told.broken.size(), 1u);
  port_->connect(memory_.data());
  read(8184, 2, 3, kIncrement);
  EXPECT_EQ(told.broken.size(), 2u);
  told.broken.clear();
  read(0, 1, 4, kIncrement);
  read(0, 17, 3, kFixed);
  read(0, 3, 3, kWrap);
  read(0, 1, 3, kReserved);
  EXPECT_THAT(told.broken,
              ElementsAre(HasSubstr("beats of 16 bytes on a port of 8 bytes"),
                          HasSubstr("a FIXED burst has 17 beats"),
                          HasSubstr("a WRAP burst of 3 beats"), HasSubstr("ARBURST is 3")));
}

TEST_F(Port, TellsWrongLastBeatsAndStrobes) {
  last_ = 0;
  write(64, {1, 2}, 3, kIncrement, {0xff, 0xff});
  EXPECT_THAT(
      told.broken,
      ElementsAre(HasSubstr("WLAST is missing at beat 2 of a burst whose AWLEN asks for 2")));
  last_ = early_ = 1;
  write(64, {1, 2}, 3, kIncrement, {0xff, 0xff});
  EXPECT_THAT(told.broken.back(), HasSubstr("WLAST is early, at beat 1"));
  early_ = 0;
  const uint64_t before = word(72);
  write(64, {~0ull}, 2, kIncrement, {0xff});
  EXPECT_THAT(told.broken.back(), HasSubstr("WSTRB has lane 4 set"));
  EXPECT_EQ(told.broken.size(), 3u);
  EXPECT_EQ(word(64) >> 32, 0u);  // the lanes outside of the beat are not written
  EXPECT_EQ(word(72), before);
}

TEST_F(Port, TellsTransfersThatAreTakenBack) {
  told.stalls = 3;
  make();
  for (int turn = 0; turn < 64 && told.broken.size() < 2; ++turn) {
    pins_.arlen.set(0);
    pins_.arsize.set(3);
    pins_.arburst.set(kIncrement);
    pins_.araddr.set(64);
    pins_.arvalid.set(1);
    cycle();
    pins_.araddr.set(72);
    cycle();
    pins_.arvalid.set(0);
    cycle();
  }
  EXPECT_THAT(told.broken, testing::UnorderedElementsAre(HasSubstr("ARVALID falls before ARREADY"),
                                                         HasSubstr("but the transfer changes")));
}

TEST_F(Port, StallsChangeNoData) {
  told.stalls = 11;
  make();
  EXPECT_THAT(read(64, 4, 3, kIncrement), ElementsAre(word(64), word(72), word(80), word(88)));
  write(400, {1, 2, 3}, 3, kIncrement, {0xff, 0xff, 0xff});
  EXPECT_EQ(word(416), 3u);
  EXPECT_THAT(told.broken, IsEmpty());
}

}  // namespace
}  // namespace tandem_rtl
