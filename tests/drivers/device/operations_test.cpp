// SPDX-License-Identifier: Apache-2.0
//
// Operations as values: descriptions, operands, and copies that outlive the lists of the caller.
#include <gmock/gmock.h>

#include "common/error.h"
#include "device/extents.h"
#include "device/op_dispatch.h"
#include "device/op_operands.h"
#include "support/recording_compute_unit.h"

namespace tandem::device {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A slice of an operation, as a map sees it.
struct Use {
  std::size_t offset;
  std::size_t size_bytes;
  Access access;
  bool operator==(const Use&) const = default;
};

std::ostream& operator<<(std::ostream& to, const Use& use) {
  return to << "{" << use.offset << ", " << use.size_bytes << ", " << static_cast<int>(use.access)
            << "}";
}

constexpr std::size_t kShift = 1 << 20;

// Records the visits; shifts every slice by kShift and replaces every weight by `other`.
class Noting final : public OperandMap {
 public:
  explicit Noting(const Weight* other) : other_(other) {}
  Slice slice(const Slice& slice, std::size_t size_bytes, Access access) override {
    uses.push_back({slice.offset_bytes, size_bytes, access});
    return {slice.buffer, slice.offset_bytes + kShift};
  }
  const Weight* weight(const Weight* weight) override {
    weights.push_back(weight);
    return other_;
  }

  std::vector<Use> uses;
  std::vector<const Weight*> weights;

 private:
  const Weight* other_;
};

class Operations : public testing::Test {
 protected:
  Slice at(std::size_t offset) { return {memory_.get(), offset}; }
  std::unique_ptr<Weight> weight(std::int64_t out, std::int64_t in) {
    return unit_.load({.out_features = out, .in_features = in});
  }
  template <typename Operation>
  Operation mapped(const Operation& op) {
    return std::get<Operation>(map_operands(op, lists_, noting_));
  }

  test::RecordingComputeUnit unit_;
  const std::unique_ptr<Buffer> memory_ = unit_.allocate(64, MemoryKind::kDevice);
  const std::unique_ptr<Weight> wide_ = weight(1, 8), narrow_ = weight(3, 8), moved_ = weight(1, 1);
  OpLists lists_{OpLists::Keep::kBorrowed};
  Noting noting_{moved_.get()};
  const std::vector<std::int32_t> rows_ = {4, 0};
};

constexpr auto kRead = Access::kRead, kWrite = Access::kWrite, kUpdate = Access::kUpdate;

TEST_F(Operations, AreDescribedByNameRowsAndBytesOfCopies) {
  const CopyOp copies[] = {{12, {}, {}}, {4, {}, {}}};
  const SampleRow rows[3] = {};
  const auto expect = [](const Op& op, std::string_view name, std::int64_t rows,
                         std::int64_t bytes = -1) {
    const OpSummary summary = describe(op);
    EXPECT_EQ(summary.name, name);
    EXPECT_EQ(summary.rows, rows) << name;
    EXPECT_EQ(summary.bytes, bytes) << name;
  };
  expect(EmbedOp{.ids = rows_}, "embed", 2);
  expect(RmsNormOp{.rows = 5}, "norm", 5);
  expect(LinearOp{.rows = 6}, "linear", 6);
  expect(RopeOp{.rows = 7}, "rope", 7);
  expect(SoftcapOp{.rows = 8}, "softcap", 8);
  expect(CausalAttentionOp{}, "causal attention", -1);
  expect(MergeOp{.rows = 9}, "merge", 9);
  expect(GatherRowsOp{.rows = rows_}, "gather", 2);
  expect(ExpertsOp{.rows = 10}, "experts", 10);
  expect(GatedAddOp{.rows = 11}, "gated add", 11);
  expect(CopyOp{.size_bytes = 12}, "copy", -1, 12);
  expect(PostOp{.copies = copies}, "post", -1, 16);
  expect(AwaitOp{.copies = copies}, "await", -1, 16);
  expect(SampleOp{.rows = rows}, "sample", 3);
}

TEST_F(Operations, OfRowsNameTheirOperands) {
  mapped(EmbedOp{wide_.get(), rows_, at(1)});
  EXPECT_THAT(noting_.uses, ElementsAre(Use{1, 2 * 8 * 4, kWrite}));
  noting_.uses.clear();
  mapped(RmsNormOp{2, at(1), at(2), wide_.get()});
  mapped(RmsNormOp{2, at(1), at(2), wide_.get(), 1e-5f, true});
  EXPECT_THAT(noting_.uses, ElementsAre(Use{1, 64, kRead}, Use{2, 64, kWrite}, Use{1, 64, kRead},
                                        Use{2, 64, kUpdate}));
  EXPECT_THAT(noting_.weights, ElementsAre(wide_.get(), wide_.get(), wide_.get()));
  noting_.uses.clear();
  mapped(SoftcapOp{2, 3, at(1), 1.0f});
  mapped(GatherRowsOp{rows_, 3, at(1), at(2)});
  mapped(GatedAddOp{2, 3, at(1), at(2), at(3)});
  EXPECT_THAT(noting_.uses,
              ElementsAre(Use{1, 24, kUpdate}, Use{1, 5 * 12, kRead}, Use{2, 24, kWrite},
                          Use{1, 24, kRead}, Use{2, 8, kRead}, Use{3, 24, kUpdate}));
}

TEST_F(Operations, OfProductsNameTheirOperands) {
  const LinearTarget targets[] = {{narrow_.get(), wide_.get(), at(3)},
                                  {narrow_.get(), nullptr, at(4), true}};
  const LinearOp linear =
      mapped(LinearOp{.rows = 2, .x = at(1), .targets = targets, .norm = wide_.get(), .up = at(2)});
  EXPECT_THAT(noting_.uses, ElementsAre(Use{1, 64, kRead}, Use{2, 64, kRead}, Use{3, 24, kWrite},
                                        Use{4, 24, kUpdate}));
  EXPECT_EQ(linear.targets[1].out.offset_bytes, 4 + kShift);
  EXPECT_EQ(linear.norm, moved_.get());
  EXPECT_EQ(linear.targets[0].bias, moved_.get());
  EXPECT_EQ(linear.targets[1].bias, nullptr);
  EXPECT_EQ(targets[1].out.offset_bytes, 4u) << "the caller's list";
  noting_ = Noting(moved_.get());
  mapped(LinearOp{.rows = 2, .x = at(1), .targets = {targets, 1}});
  EXPECT_THAT(noting_.uses, ElementsAre(Use{1, 64, kRead}, Use{3, 24, kWrite})) << "no gate";
  noting_ = Noting(moved_.get());
  const Expert experts[] = {{wide_.get(), wide_.get(), narrow_.get()},
                            {wide_.get(), wide_.get(), narrow_.get()}};
  const ExpertsOp moved =
      mapped(ExpertsOp{.rows = 2, .x = at(1), .router = at(2), .experts = experts, .out = at(3)});
  EXPECT_THAT(noting_.uses, ElementsAre(Use{1, 64, kRead}, Use{2, 16, kRead}, Use{3, 64, kUpdate}));
  EXPECT_EQ(noting_.weights.size(), 6u);
  EXPECT_EQ(moved.experts[1].down, moved_.get());
}

TEST_F(Operations, OfHeadsNameTheirOperands) {
  const RopeTarget targets[] = {{2, at(1), wide_.get()}, {1, at(2)}};
  const RopeOp rope = mapped(RopeOp{.rows = 2, .head_dim = 4, .targets = targets});
  EXPECT_THAT(noting_.uses, ElementsAre(Use{1, 64, kUpdate}, Use{2, 32, kUpdate}));
  EXPECT_EQ(rope.targets[0].norm, moved_.get());
  noting_.uses.clear();
  const CausalChunk chunks[] = {{0, 1}, {2, 1}};
  mapped(CausalAttentionOp{.chunks = chunks,
                           .q_heads = 2,
                           .kv_heads = 1,
                           .head_dim = 4,
                           .q = at(1),
                           .k = at(2),
                           .v = at(3),
                           .o = at(4),
                           .lse = at(5)});
  EXPECT_THAT(noting_.uses, ElementsAre(Use{1, 96, kRead}, Use{2, 48, kRead}, Use{3, 48, kRead},
                                        Use{4, 96, kUpdate}, Use{5, 24, kUpdate}));
  noting_.uses.clear();
  const MergePartial partials[] = {{at(1), at(2), rows_}};
  const MergeOp merge =
      mapped(MergeOp{.rows = 6, .heads = 2, .head_dim = 4, .partials = partials, .out = at(3)});
  EXPECT_THAT(noting_.uses,
              ElementsAre(Use{1, 5 * 32, kRead}, Use{2, 5 * 8, kRead}, Use{3, 6 * 32, kWrite}));
  EXPECT_EQ(merge.partials[0].lse.offset_bytes, 2 + kShift);
}

TEST_F(Operations, OfQueuesNameTheirOperands) {
  const CopyOp copies[] = {{12, at(1), at(2)}};
  const Ring ring{at(3), at(4)};
  mapped(copies[0]);
  const PostOp post = mapped(PostOp{copies, ring, 1});
  mapped(AwaitOp{ring, copies});
  const Use words{3, sizeof(RingWords), kUpdate}, count{4, sizeof(RingCount), kUpdate};
  const Use from{1, 12, kRead}, to{2, 12, kWrite};
  EXPECT_THAT(noting_.uses, ElementsAre(from, to, from, to, words, count, words, count, from, to));
  EXPECT_EQ(post.copies[0].to.offset_bytes, 2 + kShift);
  EXPECT_EQ(post.ring.count.offset_bytes, 4 + kShift);
  noting_.uses.clear();
  const SampleRow rows[3] = {};
  mapped(SampleOp{rows, 5, at(1), at(2)});
  EXPECT_THAT(noting_.uses, ElementsAre(Use{1, 60, kRead}, Use{2, 12, kWrite}));
}

TEST_F(Operations, WithoutAWeightHaveNoSizes) {
  const LinearTarget target;
  const Expert expert{wide_.get(), nullptr, wide_.get()};
  for (const Op& op : {Op(EmbedOp{}), Op(RmsNormOp{}), Op(LinearOp{.targets = {&target, 1}}),
                       Op(ExpertsOp{}), Op(ExpertsOp{.experts = {&expert, 1}})}) {
    EXPECT_THROW(map_operands(op, lists_, noting_), Error) << describe(op).name;
  }
  EXPECT_THROW(map_operands(SoftcapOp{.rows = -1, .width = 2}, lists_, noting_), Error);
  const std::int32_t below[] = {-1};
  EXPECT_THROW(map_operands(GatherRowsOp{.rows = below}, lists_, noting_), Error);
}

TEST_F(Operations, KeptByADoubleHaveListsOfTheirOwn) {
  {
    std::vector<std::int32_t> rows = {4, 0};
    const std::vector<MergePartial> partials = {{at(1), at(2), rows}};
    unit_.enqueue(EmbedOp{wide_.get(), rows, at(0)});
    unit_.enqueue(
        MergeOp{.rows = 6, .heads = 1, .head_dim = 1, .partials = partials, .out = at(3)});
    rows = {7, 7};
  }
  EXPECT_THAT(unit_.names(), ElementsAre("embed", "merge"));
  EXPECT_THAT(std::get<EmbedOp>(unit_.ops()[0].op()).ids, ElementsAre(4, 0));
  const auto& merge = std::get<MergeOp>(unit_.ops()[1].op());
  EXPECT_THAT(merge.partials[0].rows, ElementsAre(4, 0));
  EXPECT_EQ(merge.partials[0].o.offset_bytes, 1u);
  EXPECT_EQ(unit_.stats().ops, 2u);
}

TEST_F(Operations, KeptByADoubleCopyEveryListOfPlainValues) {
  std::vector<std::int32_t> rows = {4, 0};
  std::vector<float> frequencies = {0.5f};
  std::vector<CausalChunk> chunks = {{0, 1}};
  std::vector<SampleRow> samples = {{.top_k = 3}};
  unit_.enqueue(RopeOp{.rows = 2, .positions = rows, .inverse_frequencies = frequencies});
  unit_.enqueue(CausalAttentionOp{.chunks = chunks});
  unit_.enqueue(GatherRowsOp{.rows = rows});
  unit_.enqueue(SampleOp{.rows = samples});
  rows = {7, 7};
  frequencies = {7.0f};
  chunks = {{7, 7}};
  samples = {{.top_k = 7}};
  const auto& rope = std::get<RopeOp>(unit_.ops()[0].op());
  EXPECT_THAT(rope.positions, ElementsAre(4, 0));
  EXPECT_THAT(rope.inverse_frequencies, ElementsAre(0.5f));
  EXPECT_EQ(std::get<CausalAttentionOp>(unit_.ops()[1].op()).chunks[0].num_rows, 1);
  EXPECT_THAT(std::get<GatherRowsOp>(unit_.ops()[2].op()).rows, ElementsAre(4, 0));
  EXPECT_EQ(std::get<SampleOp>(unit_.ops()[3].op()).rows[0].top_k, 3);
}

// Lists without operands are not copied on the way through a group.
TEST_F(Operations, BorrowListsWithoutOperands) {
  EXPECT_EQ(mapped(EmbedOp{wide_.get(), rows_, at(0)}).ids.data(), rows_.data());
  EXPECT_EQ(mapped(GatherRowsOp{rows_, 3, at(1), at(2)}).rows.data(), rows_.data());
}

class FewOperations {
 public:
  int copies = 0;

 private:
  friend class OpDispatch<FewOperations>;
  void handle(const CopyOp&) { ++copies; }
};

TEST(Dispatch, CallsTheHandlerOfAnOperationAndRefusesTheRest) {
  using Dispatch = OpDispatch<FewOperations>;
  FewOperations unit;
  EXPECT_TRUE(Dispatch::supports(op_kind<CopyOp>));
  EXPECT_FALSE(Dispatch::supports(op_kind<SampleOp>));
  Dispatch::enqueue(unit, CopyOp{});
  EXPECT_EQ(unit.copies, 1);
  try {
    Dispatch::enqueue(unit, SampleOp{});
    FAIL() << "it has no handler";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'sample'; ask supports() first"));
  }
}

}  // namespace
}  // namespace tandem::device
