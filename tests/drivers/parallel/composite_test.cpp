// SPDX-License-Identifier: Apache-2.0
//
// What composites refuse, what the loss of a part does, and how much they copy.
#include <gmock/gmock.h>

#include <array>
#include <atomic>

#include "drivers/parallel/composite_fixture.h"
#include "drivers/parallel/queued_parts.h"
#include "parallel/device.h"
#include "parallel/layer_split_unit.h"
#include "parallel/tensor_split_attention.h"
#include "support/hooked_attention_unit.h"
#include "support/naive_attention_unit.h"
#include "support/recording_compute_unit.h"

namespace tandem::device::parallel {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Sums over the inputs of a product on a composite, often enough to lose a part meanwhile.
void multiply_often(ComputeUnit& unit, int times) {
  Bench bench(unit);
  const Slice x = bench.put(4 * 96, MemoryKind::kDevice),
              y = bench.put(4 * 96, MemoryKind::kDevice);
  std::vector<const Weight*> weights;
  for (int layer = 0; layer < 3; ++layer) {
    weights.push_back(bench.weight(DType::kF32, 96, 96, {layer, WeightSplit::kInputs}));
  }
  for (int i = 0; i < times; ++i) {
    const LinearTarget target{weights[static_cast<std::size_t>(i % 3)], nullptr, i % 2 ? x : y};
    unit.enqueue(LinearOp{4, i % 2 ? y : x, {&target, 1}});
    EXPECT_EQ(unit.wait(unit.record(), Deadline::never()), WaitResult::kDone);
  }
}

TEST(Composite, IsLostWithAnyOfItsParts) {
  for (const Split split : {Split::kLayers, Split::kTensor}) {
    for (const int lost : {0, 1, 2}) {
      SCOPED_TRACE(lost);
      ParallelDevice device(queued_devices(3, lost, 5), {split, 3, {}});
      const auto unit = device.make_compute_unit();
      EXPECT_THROW(multiply_often(*unit, 30), DeviceError);
      EXPECT_THAT(error_of([&] { unit->record(); }), HasSubstr("the group with it"));
      EXPECT_THROW(unit->allocate(16, MemoryKind::kDevice), DeviceError);
    }
  }
}

TEST(Composite, AttentionIsLostWithAnyOfItsParts) {
  const AttentionGeometry geometry{3, 6, 3, 16, 16, DType::kF16};
  for (const Split split : {Split::kLayers, Split::kTensor}) {
    SCOPED_TRACE(split == Split::kTensor);
    ParallelDevice device(queued_devices(3, 1, 0), {split, 3, {}});
    const auto compute = device.make_compute_unit();
    const auto unit = device.make_attention_unit({.geometry = geometry, .kv_bytes = 1 << 20});
    Bench bench(*compute);
    const Slice q = bench.put(96, MemoryKind::kDevice), k = bench.put(48, MemoryKind::kDevice),
                o = bench.room(96, MemoryKind::kDevice), lse = bench.room(6, MemoryKind::kDevice);
    // The device counts only compute operations: one of those loses it.
    const Slice big = bench.room(64, MemoryKind::kDevice);
    const Weight* weight = bench.weight(DType::kF32, 1, 64, {1});
    const auto lose = [&] {
      compute->enqueue(RmsNormOp{1, big, big, weight});
      compute->wait(compute->record(), Deadline::never());
    };
    EXPECT_THROW(lose(), DeviceError);
    const AttentionSequence sequence{0, 1, 0, 1, 0, 0, 1, 0, 1};
    const PageId page = 0;
    AttentionBatch batch;
    batch.layer = 1;
    batch.q = device_floats(q, 96);
    batch.k = batch.v = device_floats(k, 48);
    batch.sequences = {&sequence, 1};
    batch.pages = {&page, 1};
    const Ticket ticket = unit->submit(batch, {device_floats(o, 96), device_floats(lse, 6)});
    EXPECT_EQ(unit->wait(ticket, Deadline::never()), WaitResult::kLost);
  }
}

// Two parts with half of the heads each, and one token to append and to attend to.
class SplitHeads : public testing::Test {
 protected:
  using Hooks = std::array<test::UnitHooks, 2>;

  void make(const Hooks& hooks, const test::NaiveUnitOptions& second = {}) {
    AttentionGeometry half = geometry_;
    half.q_heads /= 2, half.kv_heads /= 2;
    std::vector<std::unique_ptr<AttentionUnit>> parts;
    for (std::size_t i = 0; i < 2; ++i) {
      parts.push_back(std::make_unique<test::HookedAttentionUnit>(
          std::make_unique<test::NaiveAttentionUnit>(half,
                                                     i == 1 ? second : test::NaiveUnitOptions{}),
          hooks[i]));
    }
    unit_ = std::make_unique<TensorSplitAttention>(geometry_, std::move(parts));
  }
  Ticket submit() {
    AttentionBatch batch;
    batch.q = q_;
    batch.k = batch.v = kv_;
    batch.sequences = {&sequence_, 1};
    batch.pages = {&page_, 1};
    return unit_->submit(batch, {o_, lse_});
  }
  // One token has all the weight, so that the answer is its v.
  void expect_answer() {
    std::ranges::fill(o_, 0.0f);
    EXPECT_EQ(unit_->wait(submit(), Deadline::never()), WaitResult::kDone);
    for (const float value : o_) EXPECT_NEAR(value, 0.25f, 1e-3f);
  }

  const AttentionGeometry geometry_{1, 4, 2, 16, 16, DType::kF16};
  const AttentionSequence sequence_{0, 1, 0, 1, 0, 0, 1, 0, 1};
  const PageId page_ = 0;
  const std::vector<float> q_ = std::vector<float>(64, 0.5f), kv_ = std::vector<float>(32, 0.25f);
  std::vector<float> o_ = std::vector<float>(64), lse_ = std::vector<float>(4);
  std::unique_ptr<AttentionUnit> unit_;
};

TEST_F(SplitHeads, WaitForThePartThatTookABatchThatAnotherDidNot) {
  bool refuses = true;
  int waits = 0;
  Hooks hooks;
  hooks[0].on_wait = [&] { ++waits; };
  hooks[1].on_submit = [&] {
    if (refuses) throw Error("second", "no batch for me");
  };
  make(hooks);
  EXPECT_THAT(error_of([&] { submit(); }), HasSubstr("no batch for me"));
  EXPECT_EQ(waits, 0) << "submit() waits for nothing";
  refuses = false;
  expect_answer();
  EXPECT_EQ(waits, 2) << "also for the batch whose error submit() has thrown";
  expect_answer();
}

TEST_F(SplitHeads, TellOfARefusalWhenNoPartIsAtTheBatchAnyMore) {
  std::atomic<bool> goes_on{false};
  bool refuses = true;
  Hooks hooks;
  hooks[0].on_wait = [&] {
    if (std::exchange(refuses, false)) throw Error("first", "not this one");
  };
  make(hooks, {.slow_batch = 1, .on_slow = [&] { goes_on.wait(false); }});
  const Ticket ticket = submit();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(unit_->wait(ticket, Deadline::after(std::chrono::milliseconds(20))),
              WaitResult::kTimeout);
  }
  EXPECT_FALSE(refuses) << "the first part threw";
  goes_on = true;
  goes_on.notify_all();
  EXPECT_THAT(error_of([&] { unit_->wait(ticket, Deadline::never()); }), HasSubstr("not this one"));
  EXPECT_EQ(unit_->wait(ticket, Deadline::never()), WaitResult::kDone) << "thrown once";
  expect_answer();
}

TEST_F(SplitHeads, TellOfTheFirstOfTwoRefusals) {
  int number = 0;
  Hooks hooks;
  hooks[0].on_wait = [&] {
    if (++number <= 2) throw Error("first", "refusal " + std::to_string(number));
  };
  make(hooks);
  submit();
  const Ticket second = submit();
  EXPECT_THAT(error_of([&] { unit_->wait(second, Deadline::never()); }), HasSubstr("refusal 1"));
  expect_answer();
}

TEST(Composite, RefusesWhatDoesNotDivideAndNamesTheNumbers) {
  ParallelDevice device(cpu_devices(3), {Split::kTensor, 4, {}});
  const auto unit = device.make_compute_unit();
  Bench bench(*unit);
  EXPECT_THAT(error_of([&] {
                bench.weight(DType::kF32, 64, 32, {2, WeightSplit::kOutputs});
              }),
              AllOf(HasSubstr("[64, 32]"), HasSubstr("in layer 2"), HasSubstr("64 cannot be"),
                    HasSubstr("3 devices")));
  EXPECT_NO_THROW(bench.weight(DType::kQ8_0, 32, 192, {2, WeightSplit::kInputs}));
  ParallelDevice two(cpu_devices(2), {Split::kTensor, 4, {}});
  const auto pair = two.make_compute_unit();
  Bench other(*pair);
  EXPECT_THAT(error_of([&] {
                other.weight(DType::kQ8_0, 32, 96, {1, WeightSplit::kInputs});
              }),
              AllOf(HasSubstr("a share of 48 values"), HasSubstr("cuts blocks of 32")));
  EXPECT_THAT(error_of([&] {
                other.weight(DType::kF8E4M3, 32, 96, {1, WeightSplit::kInputs});
              }),
              AllOf(HasSubstr("a share of 48 values"), HasSubstr("cuts blocks of 32")));
  AttentionUnitOptions options;
  options.geometry = {4, 8, 4, 16, 16, DType::kF16};
  EXPECT_THAT(error_of([&] { device.make_attention_unit(options); }),
              AllOf(HasSubstr("4 key and value heads"), HasSubstr("3 devices")));
}

TEST(Composite, KeepsWholeWhatStandsBehindTheLayersAndDoesNotDivide) {
  const OnBench project = [](Bench& b) {
    const Weight* output = b.weight(DType::kF32, 64, 32, {-1, WeightSplit::kOutputs});
    const Slice x = b.put(2 * 32, MemoryKind::kDevice), y = b.room(2 * 64, MemoryKind::kHost);
    const LinearTarget target{output, nullptr, y};
    b.unit().enqueue(LinearOp{2, x, {&target, 1}});
    return b.get(y, 2 * 64);
  };
  EXPECT_EQ(on_parts(3, {Split::kTensor, 1, {}}, project), on_one_unit(project));
}

TEST(Composite, BorrowsTheSourcesThatItsPartsBorrow) {
  using Role = WeightRole;
  for (const Split split : {Split::kLayers, Split::kTensor}) {
    SCOPED_TRACE(split == Split::kTensor);
    ParallelDevice device(cpu_devices(2), {split, 2, {}});
    const auto unit = device.make_compute_unit();
    Bench bench(*unit);
    const auto borrows = [&](DType dtype, const Bench::Place& place) {
      return bench.weight(dtype, 64, 64, place)->borrows_source();
    };
    for (const DType packed : {DType::kBF16, DType::kQ8_0}) {
      EXPECT_FALSE(borrows(packed, {1, WeightSplit::kNone}));
      EXPECT_FALSE(borrows(packed, {1, WeightSplit::kOutputs}));
      EXPECT_FALSE(borrows(packed, {1, WeightSplit::kInputs}));
      EXPECT_TRUE(borrows(packed, {-1, WeightSplit::kNone, Role::kTable}));
      EXPECT_TRUE(borrows(packed, {-1, WeightSplit::kOutputs, Role::kBoth}));
    }
    const Bench::Place bias{1, WeightSplit::kOutputs, Role::kVector};
    EXPECT_FALSE(bench.weight(DType::kF16, 1, 64, bias)->borrows_source());
    EXPECT_TRUE(borrows(DType::kF16, {1, WeightSplit::kOutputs}));  // used where it is
  }
}

TEST(Composite, HidesDeviceMemoryWhateverItsPartsDo) {  // of which there is one on every part
  for (const Split split : {Split::kLayers, Split::kTensor}) {
    ParallelDevice device(cpu_devices(2), {split, 2, {}});
    const auto unit = device.make_compute_unit();
    EXPECT_TRUE(unit->allocate(64, MemoryKind::kDevice)->host().empty());
    EXPECT_FALSE(unit->device_memory_is_host());
  }
}

// wait() waits for the first unit first. So its reads of the second unit's results are right only
// if the units are ordered.
TEST(Composite, PutsUsesOfHostMemoryInOrder) {
  const OnBench use = [](Bench& b) {
    const Weight* first = b.weight(DType::kF32, 1, 32, {0});
    const Weight* second = b.weight(DType::kF32, 1, 32, {1});
    const Slice x = b.put(32, MemoryKind::kHost), y = b.put(32, MemoryKind::kHost),
                z = b.put(32, MemoryKind::kHost);
    b.unit().enqueue(RmsNormOp{1, x, y, second});
    b.unit().enqueue(RmsNormOp{1, y, z, first});   // reads what the other writes
    b.unit().enqueue(RmsNormOp{1, z, x, second});  // and the other way
    b.unit().enqueue(RmsNormOp{1, z, y, first});   // overwrites what the other wrote
    auto values = b.get(z, 32);
    for (const Slice& slice : {x, y}) {
      const auto more = b.get(slice, 32);
      values.insert(values.end(), more.begin(), more.end());
    }
    return values;
  };
  ParallelDevice device(queued_devices(2), {Split::kLayers, 2, {}});
  const auto unit = device.make_compute_unit();
  Bench bench(*unit);
  EXPECT_EQ(use(bench), on_one_unit(use));
}

TEST(Composite, RefusesOperandsOfOthers) {
  for (const Split split : {Split::kLayers, Split::kTensor}) {
    ParallelDevice device(cpu_devices(2), {split, 2, {}});
    const auto unit = device.make_compute_unit(), stranger = device.make_compute_unit();
    Bench mine(*unit), other(*stranger);
    const Slice x = mine.put(8, MemoryKind::kDevice), foreign = other.put(8, MemoryKind::kDevice);
    const Weight* weight = mine.weight(DType::kF32, 1, 8, {0});
    const Weight* second = mine.weight(DType::kF32, 8, 8, {1});
    EXPECT_THROW(unit->enqueue(RmsNormOp{1, foreign, x, weight}), Error);
    EXPECT_THROW(unit->enqueue(RmsNormOp{1, x, {}, weight}), Error);
    EXPECT_THROW(unit->enqueue(RmsNormOp{2, x, x, weight}), Error) << "too short";
    EXPECT_THROW(unit->enqueue(RmsNormOp{-1, x, x, weight}), Error);
    EXPECT_THROW(stranger->enqueue(RmsNormOp{1, foreign, foreign, weight}), Error);
    if (split != Split::kLayers) continue;
    const LinearTarget target{second, nullptr, x};
    EXPECT_THAT(error_of([&] {
                  unit->enqueue(LinearOp{1, x, {&target, 1}, weight});
                }),
                HasSubstr("different units"));
  }
}

// A double without sampling.
class UnitWithoutSampling final : public test::RecordingComputeUnit {
 public:
  bool supports(OpKind kind) const override { return kind != op_kind<SampleOp>; }
};

template <typename Second>
std::unique_ptr<LayerSplitUnit> split_of_two() {
  std::vector<std::unique_ptr<ComputeUnit>> units;
  units.push_back(std::make_unique<test::RecordingComputeUnit>());
  units.push_back(std::make_unique<Second>());
  const int counts[] = {1, 1};
  return std::make_unique<LayerSplitUnit>(std::move(units), nullptr, LayerRanges(counts));
}

TEST(Composite, OfLayersSupportsWhatAllItsPartsDoExceptRings) {
  const auto all = split_of_two<test::RecordingComputeUnit>();
  const auto some = split_of_two<UnitWithoutSampling>();
  EXPECT_TRUE((supports<LinearOp, SampleOp>(*all)));
  EXPECT_FALSE(supports<PostOp>(*all));
  EXPECT_FALSE(supports<AwaitOp>(*all));
  EXPECT_THROW(all->enqueue(AwaitOp{}), Error);
  EXPECT_TRUE(supports<LinearOp>(*some));
  EXPECT_FALSE(supports<SampleOp>(*some));
  EXPECT_THROW(some->enqueue(SampleOp{}), Error);
}

TEST(Composite, OfLayersRunsAnOperationWhereItsWeightsOrElseItsInputIs) {
  const auto unit = split_of_two<test::RecordingComputeUnit>();
  const auto names = [&](int index) {
    return static_cast<test::RecordingComputeUnit&>(unit->unit(index)).names();
  };
  const auto norm = unit->load({.out_features = 1, .in_features = 2, .layer = 1});
  const auto x = unit->allocate(16, MemoryKind::kDevice),
             y = unit->allocate(16, MemoryKind::kDevice);
  const Slice in{x.get(), 0}, out{y.get(), 0};
  unit->enqueue(SoftcapOp{1, 2, in, 1.0f});
  EXPECT_THAT(names(0), testing::ElementsAre("softcap"));
  unit->enqueue(RmsNormOp{1, in, out, norm.get()});
  unit->enqueue(SoftcapOp{1, 2, out, 1.0f});
  EXPECT_THAT(names(0), testing::Contains("softcap").Times(1));
  EXPECT_THAT(names(1), testing::IsSupersetOf({"norm", "softcap"}));
  unit->enqueue(LinearOp{});  // of no rows
  EXPECT_THROW(unit->enqueue(SoftcapOp{1, 2, {}, 1.0f}), Error);
}

}  // namespace
}  // namespace tandem::device::parallel
