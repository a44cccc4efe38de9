// SPDX-License-Identifier: Apache-2.0
//
// The cases: every operation in device and host memory, and chains that change between whole rows
// and columns, and between layers.
#include "drivers/parallel/op_cases.h"

#include <numeric>

namespace tandem::device::parallel {
namespace {

using Place = Bench::Place;

constexpr std::int64_t kRows = 5, kWidth = 96, kFfn = 192, kDim = 16;
constexpr int kQHeads = 12, kKvHeads = 6;
constexpr std::int64_t kQ = kQHeads * kDim, kKv = kKvHeads * kDim;
constexpr auto kDevice = MemoryKind::kDevice;
constexpr auto kHost = MemoryKind::kHost;

Place by_outputs(int layer) { return {layer, WeightSplit::kOutputs}; }
Place by_inputs(int layer) { return {layer, WeightSplit::kInputs}; }
Place whole(int layer) { return {layer, WeightSplit::kNone}; }

std::vector<float> embed(Bench& b) {
  const Weight* table =
      b.weight(DType::kQ8_0, 40, kWidth, {-1, WeightSplit::kNone, WeightRole::kTable});
  const std::int32_t ids[] = {3, 39, 0, 3, 17};
  const Slice out = b.room(kRows * kWidth, kDevice);
  b.unit().enqueue(EmbedOp{table, ids, out, 1.5f});
  return b.get(out, kRows * kWidth);
}

// A table that is also the output projection: both uses.
std::vector<float> tied(Bench& b) {
  const Weight* table =
      b.weight(DType::kF16, 42, kWidth, {-1, WeightSplit::kOutputs, WeightRole::kBoth});
  const std::int32_t ids[] = {3, 41, 0, 3, 17};
  const Slice x = b.room(kRows * kWidth, kDevice), logits = b.room(kRows * 42, kHost);
  const Weight* norm = b.weight(DType::kF32, 1, kWidth, whole(-1));
  b.unit().enqueue(EmbedOp{table, ids, x, 1.0f});
  const LinearTarget target{table, nullptr, logits};
  b.unit().enqueue(LinearOp{kRows, x, {&target, 1}, norm, 1e-5f});
  b.unit().enqueue(SoftcapOp{kRows, 42, logits, 2.0f});
  return b.get(logits, kRows * 42);
}

std::vector<float> post_norm(Bench& b, MemoryKind kind, bool accumulate) {
  const Weight* weight = b.weight(DType::kF32, 1, kWidth, whole(1));
  const Slice x = b.put(kRows * kWidth, kind), out = b.put(kRows * kWidth, kind);
  b.unit().enqueue(RmsNormOp{kRows, x, out, weight, 1e-5f, accumulate});
  return b.get(out, kRows * kWidth);
}

std::vector<float> columns(Bench& b, DType dtype, MemoryKind kind, bool accumulate) {
  const Weight* norm = b.weight(DType::kF32, 1, kWidth, whole(1));
  const Weight* w = b.weight(dtype, kFfn, kWidth, by_outputs(1));
  const Weight* bias = b.weight(DType::kF32, 1, kFfn, by_outputs(1));
  const Weight* router = b.weight(DType::kF32, 7, kWidth, whole(1));
  const Slice x = b.put(kRows * kWidth, kDevice), out = b.put(kRows * kFfn, kind),
              logits = b.room(kRows * 7, kind);
  const LinearTarget targets[] = {{w, bias, out, accumulate}, {router, nullptr, logits}};
  b.unit().enqueue(LinearOp{kRows, x, targets, norm, 1e-5f});
  auto values = b.get(out, kRows * kFfn);
  const auto more = b.get(logits, kRows * 7);
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

std::vector<float> rows(Bench& b, DType dtype, MemoryKind kind, bool accumulate) {
  const Weight* w = b.weight(dtype, kWidth, kFfn, by_inputs(1));
  const Weight* bias = b.weight(DType::kF32, 1, kWidth, whole(1));
  const Slice gate = b.put(kRows * kFfn, kDevice), up = b.put(kRows * kFfn, kHost),
              out = b.put(kRows * kWidth, kind);
  const LinearTarget target{w, bias, out, accumulate};
  LinearOp op{kRows, gate, {&target, 1}};
  op.up = up;
  b.unit().enqueue(op);
  return b.get(out, kRows * kWidth);
}

struct Rotation {
  std::vector<std::int32_t> positions = {0, 9, 2, 40, 1};
  std::vector<float> frequencies = {1.0f, 0.3f, 0.1f, 0.01f};
};

void rotate(Bench& b, const Slice& q, const Slice& k, const Weight* norm) {
  const Rotation rotation;
  const RopeTarget targets[] = {{kQHeads, q, norm}, {kKvHeads, k, nullptr}};
  RopeOp op{kRows, kDim, targets, 1e-5f, rotation.positions, rotation.frequencies};
  op.interleaved = false;
  b.unit().enqueue(op);
}

std::vector<float> rotated(Bench& b, MemoryKind kind) {
  const Weight* norm = b.weight(DType::kF32, 1, kDim, whole(0));
  const Slice q = b.put(kRows * kQ, kind), k = b.put(kRows * kKv, kind);
  rotate(b, q, k, norm);
  auto values = b.get(q, kRows * kQ);
  const auto more = b.get(k, kRows * kKv);
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

// Projection, rotation, attention inside two chunks and a merge with another's partial, output
// projection onto the residual, as a layer has them. `look`: whether the host reads in between.
std::vector<float> attention(Bench& b, MemoryKind kind, bool look) {
  const Weight* norm = b.weight(DType::kF32, 1, kWidth, whole(0));
  const Weight* wq = b.weight(DType::kF32, kQ, kWidth, by_outputs(0));
  const Weight* wk = b.weight(DType::kF32, kKv, kWidth, by_outputs(0));
  const Weight* wv = b.weight(DType::kF32, kKv, kWidth, by_outputs(0));
  const Weight* wo = b.weight(DType::kF32, kWidth, kQ, by_inputs(0));
  const Slice x = b.put(kRows * kWidth, kDevice);
  const Slice q = b.room(kRows * kQ, kind), k = b.room(kRows * kKv, kind),
              v = b.room(kRows * kKv, kind), o = b.put(kRows * kQ, kind),
              lse = b.put(kRows * kQHeads, kind);
  const Slice far_o = b.put(kRows * kQ, kHost), far_lse = b.put(kRows * kQHeads, kHost);
  const LinearTarget targets[] = {{wq, nullptr, q}, {wk, nullptr, k}, {wv, nullptr, v}};
  b.unit().enqueue(LinearOp{kRows, x, targets, norm, 1e-5f});
  rotate(b, q, k, nullptr);
  if (look) b.get(q, kRows * kQ);
  const CausalChunk chunks[] = {{0, 2}, {3, 2}};  // row 2 belongs to no chunk
  b.unit().enqueue(
      CausalAttentionOp{chunks, kQHeads, kKvHeads, kDim, 1.0f, DType::kF16, q, k, v, o, lse});
  if (look) b.get(lse, kRows * kQHeads);
  const std::int32_t near_rows[] = {0, 1, 3, 4}, far_rows[] = {1, 2, 4};
  const MergePartial partials[] = {{o, lse, near_rows}, {far_o, far_lse, far_rows}};
  const Slice merged = b.room(kRows * kQ, kDevice);
  b.unit().enqueue(MergeOp{kRows, kQHeads, kDim, partials, merged});
  const LinearTarget out{wo, nullptr, x, true};
  b.unit().enqueue(LinearOp{kRows, merged, {&out, 1}});
  auto values = b.get(x, kRows * kWidth);
  for (const auto& [slice, count] : {std::pair(o, kRows * kQ), std::pair(lse, kRows * kQHeads),
                                     std::pair(merged, kRows * kQ), std::pair(v, kRows * kKv)}) {
    const auto more = b.get(slice, static_cast<std::size_t>(count));
    values.insert(values.end(), more.begin(), more.end());
  }
  return values;
}

// Three layers of feed-forward on a residual, two halves of the rows in turn, a layer apart.
std::vector<float> layers(Bench& b) {
  std::vector<const Weight*> norms, gates, ups, downs;
  for (int layer = 0; layer < 3; ++layer) {
    norms.push_back(b.weight(DType::kF32, 1, kWidth, whole(layer)));
    gates.push_back(b.weight(DType::kF32, kFfn, kWidth, by_outputs(layer)));
    ups.push_back(b.weight(DType::kF32, kFfn, kWidth, by_outputs(layer)));
    downs.push_back(b.weight(DType::kF32, kWidth, kFfn, by_inputs(layer)));
  }
  const Slice x = b.put(kRows * kWidth, kDevice), gate = b.room(kRows * kFfn, kDevice),
              up = b.room(kRows * kFfn, kDevice);
  const auto run = [&](std::size_t layer, std::int64_t begin, std::int64_t end) {
    const Slice part{x.buffer, static_cast<std::size_t>(begin * kWidth) * sizeof(float)};
    const LinearTarget widen[] = {{gates[layer], nullptr, gate}, {ups[layer], nullptr, up}};
    b.unit().enqueue(LinearOp{end - begin, part, widen, norms[layer], 1e-5f});
    const LinearTarget narrow{downs[layer], nullptr, part, true};
    LinearOp gated{end - begin, gate, {&narrow, 1}};
    gated.up = up;
    b.unit().enqueue(gated);
  };
  run(0, 0, 2);
  for (std::size_t layer = 1; layer < 3; ++layer) {
    run(layer - 1, 2, kRows);
    run(layer, 0, 2);
  }
  run(2, 2, kRows);
  return b.get(x, kRows * kWidth);
}

std::vector<float> experts(Bench& b, MemoryKind kind) {
  const Weight* router = b.weight(DType::kF32, 4, kWidth, whole(2));
  std::vector<Expert> all;
  for (int i = 0; i < 4; ++i) {
    const Weight* gate = b.weight(DType::kQ8_0, kFfn, kWidth, by_outputs(2));
    const Weight* up = b.weight(DType::kQ8_0, kFfn, kWidth, by_outputs(2));
    all.push_back({gate, up, b.weight(DType::kQ8_0, kWidth, kFfn, by_inputs(2))});
  }
  const Weight* shared_gate = b.weight(DType::kF32, 1, kWidth, whole(2));
  const Slice x = b.put(kRows * kWidth, kDevice), out = b.put(kRows * kWidth, kind),
              logits = b.room(kRows * 4, kDevice), shared = b.room(kRows, kDevice);
  const LinearTarget targets[] = {{router, nullptr, logits}, {shared_gate, nullptr, shared}};
  b.unit().enqueue(LinearOp{kRows, x, targets});
  b.unit().enqueue(ExpertsOp{kRows, x, logits, all, 2, true, Activation::kGeluTanh, out});
  b.unit().enqueue(GatedAddOp{kRows, kWidth, x, shared, out});
  return b.get(out, kRows * kWidth);
}

// Columns that are needed whole: rows picked from a product, and copies that cut rows in two.
std::vector<float> regathered(Bench& b, MemoryKind kind) {
  const Weight* w = b.weight(DType::kF32, kFfn, kWidth, by_outputs(0));
  const Weight* norm = b.weight(DType::kF32, 1, kFfn, whole(0));
  const Slice x = b.put(kRows * kWidth, kDevice), product = b.put(kRows * kFfn, kind),
              picked = b.room(3 * kFfn, kDevice), piece = b.put(kRows * kFfn, kind),
              copy = b.room(kRows * kFfn, kHost);
  const LinearTarget target{w, nullptr, product};
  b.unit().enqueue(LinearOp{kRows, x, {&target, 1}});
  b.unit().enqueue(CopyOp{kRows * kFfn * sizeof(float), product, copy});
  const std::int32_t picks[] = {4, 0, 4};
  b.unit().enqueue(GatherRowsOp{picks, kFfn, product, picked});
  b.unit().enqueue(LinearOp{kRows, x, {&target, 1}});
  b.unit().enqueue(CopyOp{kFfn * 6, piece, {product.buffer, kFfn * 2}});  // 1.5 rows from 0.5 on
  b.unit().enqueue(RmsNormOp{kRows, product, piece, norm, 1e-5f, true});
  auto values = b.get(picked, 3 * kFfn);
  for (const Slice& slice : {product, piece, copy}) {
    const auto more = b.get(slice, kRows * kFfn);
    values.insert(values.end(), more.begin(), more.end());
  }
  return values;
}

}  // namespace

std::vector<OpCase> op_cases() {
  std::vector<OpCase> cases = {{"Embed", embed}, {"Tied", tied}, {"Layers", layers, false}};
  for (const MemoryKind kind : {kDevice, kHost}) {
    const std::string where = kind == kHost ? "InHostMemory" : "OnDevices";
    const auto add = [&](const std::string& name, const OnBench& run, bool bitwise = true) {
      cases.push_back({name + where, run, bitwise});
    };
    add("Rotated", [=](Bench& b) { return rotated(b, kind); });
    add(
        "Experts", [=](Bench& b) { return experts(b, kind); }, false);
    add("Regathered", [=](Bench& b) { return regathered(b, kind); });
    add(
        "Attention", [=](Bench& b) { return attention(b, kind, false); }, false);
    add(
        "AttentionLookedAt", [=](Bench& b) { return attention(b, kind, true); }, false);
    for (const bool more : {false, true}) {
      const std::string adds = more ? "Added" : "";
      add("Norm" + adds, [=](Bench& b) { return post_norm(b, kind, more); });
      for (const DType dtype : {DType::kF32, DType::kQ8_0, DType::kF8E4M3}) {
        const std::string type = dtype == DType::kF32 ? "F32" : dtype == DType::kQ8_0 ? "Q8" : "F8";
        add("Columns" + type + adds, [=](Bench& b) { return columns(b, dtype, kind, more); });
        add(
            "Rows" + type + adds, [=](Bench& b) { return rows(b, dtype, kind, more); }, false);
      }
    }
  }
  return cases;
}

}  // namespace tandem::device::parallel
