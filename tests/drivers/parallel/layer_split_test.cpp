// SPDX-License-Identifier: Apache-2.0
//
// A split by layers: where operations and weights go, and when buffers are copied.
#include "parallel/layer_split_unit.h"

#include <gmock/gmock.h>

#include <memory>

#include "common/error.h"
#include "parallel/layer_ranges.h"
#include "support/recording_compute_unit.h"

namespace tandem::device::parallel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CountingCopy final : public PeerCopy {
 public:
  explicit CountingCopy(int& copies) : copies_(copies) {}
  void copy(int, const Slice&, int, const Slice&, std::size_t) override { ++copies_; }
  void order(int, int) override {}

 private:
  int& copies_;
};

// Two units with a layer each.
class LayerSplit : public testing::Test {
 protected:
  LayerSplit() {
    std::vector<std::unique_ptr<ComputeUnit>> units;
    for (int unit = 0; unit < 2; ++unit) {
      units.push_back(std::make_unique<test::RecordingComputeUnit>());
    }
    const int counts[] = {1, 1};
    split_ = std::make_unique<LayerSplitUnit>(
        std::move(units), std::make_unique<CountingCopy>(copies_), LayerRanges(counts));
    for (std::unique_ptr<Buffer>* buffer : {&x_, &y_}) {
      *buffer = split_->allocate(2 * sizeof(float), MemoryKind::kDevice);
    }
  }

  std::unique_ptr<Weight> norm(int layer) {
    return split_->load({.out_features = 1, .in_features = 2, .layer = layer});
  }
  std::vector<std::string> names(int unit) const {
    return static_cast<test::RecordingComputeUnit&>(split_->unit(unit)).names();
  }
  void softcap(const Slice& at) { split_->enqueue(SoftcapOp{1, 2, at, 1.0f}); }

  int copies_ = 0;
  std::unique_ptr<LayerSplitUnit> split_;
  std::unique_ptr<Buffer> x_, y_;
};

TEST_F(LayerSplit, CopiesABufferOnceUntilItIsWrittenAgain) {
  const auto first = norm(0), second = norm(1);
  const Slice x{x_.get(), 0}, y{y_.get(), 0};
  split_->enqueue(RmsNormOp{1, y, x, first.get()});  // x is on unit 0
  for (int times = 0; times < 3; ++times) {
    split_->enqueue(RmsNormOp{1, x, y, second.get()});
    EXPECT_EQ(copies_, 1) << "to unit 1";
  }
  split_->enqueue(RmsNormOp{1, x, x, first.get()});
  EXPECT_EQ(copies_, 1) << "unit 0 has it too";
  split_->enqueue(RmsNormOp{1, x, y, second.get()});
  EXPECT_EQ(copies_, 2) << "it has changed";
}

TEST_F(LayerSplit, RunsWhatEveryUnitCanWhereTheInputIs) {
  const auto second = norm(1), everywhere = norm(-1);
  const Slice x{x_.get(), 0}, y{y_.get(), 0};
  split_->enqueue(RmsNormOp{1, x, y, second.get()});  // y is on unit 1
  const auto z = split_->allocate(2 * sizeof(float), MemoryKind::kDevice);
  const auto first = norm(0);
  split_->enqueue(RmsNormOp{1, x, {z.get(), 0}, first.get()});  // unit 0 comes last
  const int before = copies_;
  split_->enqueue(RmsNormOp{1, y, y, everywhere.get()});
  EXPECT_THAT(names(0), ElementsAre("norm"));
  EXPECT_THAT(names(1), ElementsAre("norm", "norm"));
  EXPECT_EQ(copies_, before);
}

TEST_F(LayerSplit, PutsTheTableOnTheFirstUnitAndTheOutputOnTheLast) {
  const auto output =
      split_->load({.out_features = 2, .in_features = 2, .role = WeightRole::kProduct});
  const Slice x{x_.get(), 0}, y{y_.get(), 0};
  const LinearTarget target{output.get(), nullptr, y};
  split_->enqueue(LinearOp{1, x, {&target, 1}});
  EXPECT_THAT(names(0), IsEmpty());
  EXPECT_THAT(names(1), ElementsAre("linear"));
  const auto table =
      split_->load({.out_features = 2, .in_features = 2, .role = WeightRole::kTable});
  const LinearTarget rows{table.get(), nullptr, y};
  split_->enqueue(LinearOp{1, x, {&rows, 1}});
  EXPECT_THAT(names(0), ElementsAre("linear"));
}

TEST_F(LayerSplit, RefusesAnOperandThatReachesBeyondItsBuffer) {
  softcap({x_.get(), 0});
  try {
    softcap({x_.get(), 4});
    FAIL() << "4 bytes are missing";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("8 bytes from offset 4 on; its buffer has 8"));
  }
}

TEST(LayerRangesEdges, GiveTheFirstUnitsALayerHoweverLittleTheyWeigh) {
  const double weights[] = {1, 1, 100};
  const auto ranges = LayerRanges::by_weight(4, weights);
  EXPECT_EQ(ranges.count(0), 1);
  EXPECT_EQ(ranges.count(1), 1);
  EXPECT_EQ(ranges.count(2), 2);
}

TEST(LayerRangesEdges, HaveNoUnitForALayerOutsideTheModel) {
  const int counts[] = {1, 2};
  const LayerRanges ranges(counts);
  EXPECT_EQ(ranges.unit_of(0), 0);
  EXPECT_EQ(ranges.unit_of(2), 1);
  EXPECT_THROW(ranges.unit_of(-1), Error);
  EXPECT_THROW(ranges.unit_of(3), Error);
}

}  // namespace
}  // namespace tandem::device::parallel
