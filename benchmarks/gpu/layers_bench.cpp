// SPDX-License-Identifier: Apache-2.0
//
// Element-wise and row kernels on a GPU in shapes of an 8B model (a prefill chunk of 4,096 rows, a
// decode batch of 64), each against a device copy in the same run.
//
// Some values of each kind of kernel are verified first; the kernels' tests check all. ratio: the
// time of a copy of the necessary bytes at the measured copy bandwidth, over the measured time.
// Launches take their inputs and outputs in turn from arenas of 1.5 GiB, so no launch finds its
// input in the cache. One JSON line per figure.
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>

#include "activation/activation.h"
#include "device_vector.h"
#include "embedding/embedding.h"
#include "experts/experts.h"
#include "norm/rms_norm.h"
#include "rope/angles.h"
#include "rope/rope_append.h"
#include "sampling/sample_rows.h"
#include "timing.h"

namespace tandem::bench {
namespace {

using namespace tandem::gpu_kernels;

constexpr std::size_t kArenaFloats = std::size_t{3} << 27;  // 1.5 GiB
constexpr int kWidth = 4096, kFfn = 14336, kHeadDim = 128, kQHeads = 32, kKvHeads = 8;
constexpr int kVocab = 128256, kExperts = 128, kUsed = 8;
constexpr std::int64_t kPrefillRows = 4096, kDecodeRows = 64;

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("wrong result: ") + what);
}

// Random values in device memory, handed out in turns.
class Arena {
 public:
  explicit Arena(unsigned seed) : values_(kArenaFloats), period_(std::size_t{1} << 20) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < kPeriod; ++i) period_[i] = normal(random);
    for (std::size_t at = 0; at < kArenaFloats; at += kPeriod) {
      check_cuda(cudaMemcpy(values_.data() + at, period_.data(), kPeriod * sizeof(float),
                            cudaMemcpyHostToDevice));
    }
  }

  // The turn-th piece of `floats`, at a multiple of 64; the host's copy is at(piece).
  float* piece(int turn, std::size_t floats) const {
    const std::size_t size = (floats + 63) / 64 * 64;
    return values_.data() + static_cast<std::size_t>(turn) % (kArenaFloats / size) * size;
  }
  // What was in the arena before anything wrote there.
  float at(const float* address) const {
    return period_[static_cast<std::size_t>(address - values_.data()) % kPeriod];
  }

 private:
  static constexpr std::size_t kPeriod = std::size_t{1} << 20;
  DeviceVector<float> values_;
  std::vector<float> period_;
};

template <typename T>
T read_value(const T* address) {
  T value;
  check_cuda(cudaMemcpy(&value, address, sizeof(T), cudaMemcpyDeviceToHost));
  return value;
}

bool is_near(double got, double expected, double tolerance) {
  return std::fabs(got - expected) <= tolerance * (1 + std::fabs(expected));
}

class Bench {
 public:
  Bench() : in_(1), more_(2), out_(3), small_(4) {}

  void run() {
    copy_ = report_copy("gpu_layers/copy_1GiB");
    for (const std::int64_t rows : {kPrefillRows, kDecodeRows}) {
      norms(rows);
      gates(rows);
      rotation(rows);
      tables(rows);
      experts(rows);
    }
    sampling();
  }

 private:
  using Work = std::function<void(int, cudaStream_t)>;

  void figure(const std::string& name, std::int64_t rows, double bytes, const Work& work) {
    const int launches = rows == kDecodeRows ? 64 : 8;
    const std::string full = "gpu_layers/" + name + "/rows_" + std::to_string(rows);
    report(full, time_launches(launches, work), bytes, copy_);
  }

  RowPreparation preparation(int turn, std::int64_t rows, int width, RowFunction function) {
    const std::size_t count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(width);
    RowPreparation job;
    job.rows = rows;
    job.width = width;
    job.x = in_.piece(turn, count);
    job.function = function;
    if (function == RowFunction::kRmsNorm) {
      job.weight = small_.piece(0, static_cast<std::size_t>(width));
    } else {
      job.up = more_.piece(turn, count);
    }
    return job;
  }

  void norms(std::int64_t rows) {
    const double count = static_cast<double>(rows) * kWidth;
    const auto piece = static_cast<std::size_t>(count);
    const auto with = [&](int turn) {
      return preparation(turn, rows, kWidth, RowFunction::kRmsNorm);
    };
    const Work to_bf16 = [&](int turn, cudaStream_t stream) {
      RowPreparation job = with(turn);
      job.to.bf16 = reinterpret_cast<BF16*>(out_.piece(turn, piece));
      check_cuda(prepare_rows(job, stream));
    };
    check_norm(rows, to_bf16);
    figure("rms_norm_to_bf16", rows, count * 6, to_bf16);
    figure("rms_norm_to_q8", rows, count * 5.5, [&](int turn, cudaStream_t stream) {
      RowPreparation job = with(turn);
      float* to = out_.piece(turn, piece);
      job.to.q8 = reinterpret_cast<std::int8_t*>(to);
      job.to.q8_notes = reinterpret_cast<Q8Note*>(to + piece / 4);
      check_cuda(prepare_rows(job, stream));
    });
    figure("residual_and_rms_norm_to_bf16", rows, count * 14, [&](int turn, cudaStream_t stream) {
      RowPreparation job = with(turn);
      job.addend = more_.piece(turn, piece);
      job.sum = out_.piece(2 * turn, piece);
      job.to.bf16 = reinterpret_cast<BF16*>(out_.piece(2 * turn + 1, piece));
      check_cuda(prepare_rows(job, stream));
    });
  }

  void check_norm(std::int64_t rows, const Work& to_bf16) {
    to_bf16(0, nullptr);
    const std::int64_t last = (rows - 1) * kWidth;
    const float* x = in_.piece(0, static_cast<std::size_t>(rows) * kWidth) + last;
    double squares = 0;
    for (int i = 0; i < kWidth; ++i) squares += static_cast<double>(in_.at(x + i)) * in_.at(x + i);
    const double factor = 1 / std::sqrt(squares / kWidth + 1e-5);
    const auto* out =
        reinterpret_cast<BF16*>(out_.piece(0, static_cast<std::size_t>(rows) * kWidth));
    for (int i = 0; i < kWidth; i += 171) {
      const double expected = in_.at(x + i) * factor * small_.at(small_.piece(0, kWidth) + i);
      expect(is_near(widen(read_value(out + last + i)), expected, 1.0 / 256), "norm");
    }
  }

  void gates(std::int64_t rows) {
    const double count = static_cast<double>(rows) * kFfn;
    const auto piece = static_cast<std::size_t>(count);
    const Work to_bf16 = [&](int turn, cudaStream_t stream) {
      RowPreparation job = preparation(turn, rows, kFfn, RowFunction::kSiluUp);
      job.to.bf16 = reinterpret_cast<BF16*>(out_.piece(turn, piece));
      check_cuda(prepare_rows(job, stream));
    };
    to_bf16(0, nullptr);
    for (std::size_t i = 0; i < piece; i += piece / 97) {
      const double x = in_.at(in_.piece(0, piece) + i), up = more_.at(more_.piece(0, piece) + i);
      const auto* out = reinterpret_cast<BF16*>(out_.piece(0, piece));
      expect(is_near(widen(read_value(out + i)), x / (1 + std::exp(-x)) * up, 1.0 / 256), "gate");
    }
    figure("silu_up_to_bf16", rows, count * 10, to_bf16);
    figure("silu_up_to_e4m3", rows, count * 9, [&](int turn, cudaStream_t stream) {
      RowPreparation job = preparation(turn, rows, kFfn, RowFunction::kSiluUp);
      float* to = out_.piece(turn, piece);
      job.to.e4m3 = reinterpret_cast<E4M3*>(to);
      job.to.e4m3_scales = to + piece / 2;
      check_cuda(prepare_rows(job, stream));
    });
    figure("gated_activation", rows, count * 12, [&](int turn, cudaStream_t stream) {
      check_cuda(gated_activation({rows * kFfn, in_.piece(turn, piece), more_.piece(turn, piece),
                                   out_.piece(turn, piece), GateFunction::kGeluTanh},
                                  stream));
    });
  }

  // Writes the table of rotation().
  void angles(std::int64_t rows, const DeviceVector<float>& cos_sin) {
    const auto count = static_cast<std::size_t>(rows);
    std::vector<std::int32_t> positions(count);
    std::vector<float> inverse(kHeadDim / 2);
    for (std::size_t i = 0; i < count; ++i) positions[i] = static_cast<std::int32_t>(i * 31);
    for (std::size_t i = 0; i < inverse.size(); ++i) {
      inverse[i] = static_cast<float>(std::pow(5e5, -static_cast<double>(i) / 64));
    }
    DeviceVector<std::int32_t> device_positions(positions);
    DeviceVector<float> device_inverse(inverse);
    const RopeAngles job{rows, kHeadDim / 2,  device_positions.data(), device_inverse.data(),
                         1.0f, cos_sin.data()};
    check_cuda(rope_angles(job, nullptr));
    const float sine = read_value(cos_sin.data() + (count - 1) * kHeadDim + kHeadDim / 2);
    expect(is_near(sine, std::sin(static_cast<double>(positions.back())), 1e-7), "sine");
    figure("rope_angles", rows, static_cast<double>(count) * kHeadDim * 4,
           [&](int, cudaStream_t stream) { check_cuda(rope_angles(job, stream)); });
  }

  void rotation(std::int64_t rows) {
    const auto count = static_cast<std::size_t>(rows);
    const DeviceVector<float> cos_sin(count * kHeadDim);
    angles(rows, cos_sin);
    RopeAppend job;
    job.rope.rows = rows;
    job.rope.head_dim = kHeadDim;
    job.rope.pairs = kHeadDim / 2;
    job.rope.interleaved = false;
    job.rope.cos_sin = cos_sin.data();
    job.k_target = 1;
    job.v_target = 2;
    job.pool = {KvType::kBF16, 1,  kKvHeads,
                kHeadDim,      16, static_cast<std::uint32_t>(rows + 15) / 16};
    DeviceVector<unsigned char> pool(kv_values_bytes(job.pool));
    job.pool.values = pool.data();
    std::vector<KvPlace> places(count);
    for (std::size_t i = 0; i < count; ++i) {
      places[i] = {static_cast<std::uint32_t>(i / 16), static_cast<std::int32_t>(i % 16), 0};
    }
    DeviceVector<KvPlace> device_places(places);
    job.places = device_places.data();
    const std::size_t q = count * kQHeads * kHeadDim, kv = count * kKvHeads * kHeadDim;
    const auto targets = [&](int turn, int num) {
      job.rope.num_targets = num;
      job.rope.targets[0] = {out_.piece(2 * turn, q), kQHeads};
      job.rope.targets[1] = {out_.piece(2 * turn + 1, q), kKvHeads};
      job.rope.targets[2] = {in_.piece(turn, kv), kKvHeads, 0, nullptr, nullptr, false};
    };
    targets(0, 2);
    check_rotation(job.rope, cos_sin.data());
    const double rotated = static_cast<double>(q + kv) * 8 + static_cast<double>(count) * 512;
    figure("rope_q_k", rows, rotated, [&](int turn, cudaStream_t stream) {
      targets(turn, 2);
      check_cuda(rope(job.rope, stream));
    });
    figure("rope_q_k_and_append", rows, rotated + static_cast<double>(kv) * 8,
           [&](int turn, cudaStream_t stream) {
             targets(turn, 3);
             check_cuda(rope_append(job, stream));
           });
  }

  // The last head of k, as random before as `in_` is.
  void check_rotation(const Rope& job, const float* cos_sin) {
    const std::int64_t last = (job.rows * kKvHeads - 1) * kHeadDim;
    float* head = job.targets[1].x + last;
    check_cuda(
        cudaMemcpy(head, in_.piece(0, 1), kHeadDim * sizeof(float), cudaMemcpyDeviceToDevice));
    check_cuda(rope(job, nullptr));
    const float* angles = cos_sin + (job.rows - 1) * kHeadDim;
    for (int i = 0; i < kHeadDim / 2; i += 9) {
      const double a = in_.at(in_.piece(0, 1) + i), b = in_.at(in_.piece(0, 1) + i + kHeadDim / 2);
      const double c = read_value(angles + i), s = read_value(angles + i + kHeadDim / 2);
      expect(is_near(read_value(head + i), a * c - b * s, 1e-6), "rotation");
      expect(is_near(read_value(head + i + kHeadDim / 2), a * s + b * c, 1e-6), "rotation");
    }
  }

  void tables(std::int64_t rows) {
    const auto count = static_cast<std::size_t>(rows);
    const std::size_t piece = count * kWidth;
    constexpr std::int64_t kTableRows = 65536;
    std::mt19937 random(5);
    std::vector<std::int32_t> ids(count);
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % kTableRows);
    DeviceVector<std::int32_t> device_ids(ids);
    for (const auto& [type, name] : {std::pair(StoredType::kBF16, "embed_bf16"),
                                     {StoredType::kQ4_K, "embed_q4_K"},
                                     {StoredType::kQ6_K, "embed_q6_K"}}) {
      const double bytes = static_cast<double>(row_bytes(type, kWidth)) + kWidth * 4.0;
      figure(name, rows, static_cast<double>(rows) * bytes, [&](int turn, cudaStream_t stream) {
        check_cuda(embed_rows({more_.piece(0, 1), type, kTableRows, kWidth, rows, device_ids.data(),
                               1.0f, out_.piece(turn, piece)},
                              stream));
      });
    }
    const Work gather = [&](int turn, cudaStream_t stream) {
      check_cuda(gather_rows({kTableRows, small_.piece(0, 1), kWidth, rows, device_ids.data(),
                              out_.piece(turn, piece)},
                             stream));
    };
    gather(0, nullptr);
    const float* from = small_.piece(0, 1) + static_cast<std::int64_t>(ids.back()) * kWidth;
    expect(read_value(out_.piece(0, piece) + piece - 1) == small_.at(from + kWidth - 1), "gather");
    figure("gather_rows", rows, static_cast<double>(piece) * 8, gather);
  }

  void experts(std::int64_t rows) {
    const auto count = static_cast<std::size_t>(rows);
    DeviceVector<std::int32_t> chosen(count * kUsed), slots(count * kUsed),
        slot_rows(count * kUsed);
    DeviceVector<std::int32_t> begins(kExperts + 1);
    DeviceVector<float> shares(count * kUsed);
    const auto choose = [&](int turn, cudaStream_t stream) {
      check_cuda(choose_experts({rows, kExperts, kUsed, true, small_.piece(turn, count * kExperts),
                                 chosen.data(), shares.data()},
                                stream));
    };
    choose(0, nullptr);
    const auto got = chosen.download();
    for (std::size_t i = 0; i < kExperts; ++i) {
      const float* logits = small_.piece(0, count * kExperts);
      expect(small_.at(logits + i) <= small_.at(logits + got[0]), "choice");
    }
    figure("choose_experts", rows, static_cast<double>(rows) * (kExperts * 4 + kUsed * 8), choose);
    const ExpertGroups groups{rows,          kExperts,         kUsed,       chosen.data(),
                              begins.data(), slot_rows.data(), slots.data()};
    check_cuda(group_experts(groups, nullptr));
    expect(read_value(begins.data() + kExperts) == rows * kUsed, "groups");
    figure("group_experts", rows, static_cast<double>(rows) * kUsed * 12,
           [&](int, cudaStream_t stream) { check_cuda(group_experts(groups, stream)); });
    figure("sum_experts", rows, static_cast<double>(rows) * kWidth * 4 * (kUsed + 2),
           [&](int turn, cudaStream_t stream) {
             check_cuda(sum_experts({rows, kWidth, kUsed, in_.piece(turn, count * kUsed * kWidth),
                                     slots.data(), shares.data(), out_.piece(turn, count * kWidth)},
                                    stream));
           });
  }

  static int processors() {
    int count = 0;
    check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    return count;
  }

  // A greedy token is the best; one within top_k has fewer above it.
  void check_token(std::int32_t token, const float* logits, const SampleParameters& parameters) {
    expect(token >= 0 && token < kVocab, "token");
    int above = 0;
    for (int id = 0; id < kVocab; ++id) above += small_.at(logits + id) > small_.at(logits + token);
    if (parameters.temperature == 0) expect(above == 0, "greedy token");
    if (parameters.top_k > 0) expect(above < parameters.top_k, "token of top_k");
  }

  void sampling() {
    constexpr std::size_t kPiece = static_cast<std::size_t>(kDecodeRows) * kVocab;
    const struct {
      const char* name;
      SampleParameters parameters;
      SampleWork work = SampleWork::kCuts;
    } kinds[] = {{"greedy", {}, SampleWork::kGreedy},
                 {"draw", {1.0f, 0, 1.0f, 0.7f}, SampleWork::kDraws},
                 {"top_k_40", {1.0f, 40, 1.0f, 0.7f}},
                 {"top_p_0.9", {0.3f, 0, 0.9f, 0.7f}},
                 {"top_k_40_top_p_0.9", {0.7f, 40, 0.9f, 0.7f}}};
    for (const auto& kind : kinds) {
      DeviceVector<SampleParameters> parameters(
          std::vector<SampleParameters>(kDecodeRows, kind.parameters));
      DeviceVector<std::int32_t> tokens(kDecodeRows);
      DeviceVector<std::uint32_t> counters(std::vector<std::uint32_t>(kSampleRowsAtOnce, 0));
      for (const std::int64_t rows : {std::int64_t{1}, kDecodeRows}) {
        const int parts = sample_parts(rows, kVocab, processors());
        DeviceVector<unsigned char> workspace(sample_workspace_bytes(rows, parts));
        const Work work = [&](int turn, cudaStream_t stream) {
          check_cuda(sample_rows(
              {rows, kVocab, small_.piece(turn, kPiece), parameters.data(), tokens.data(), nullptr,
               kind.work, parts, workspace.data(), counters.data()},
              stream));
        };
        work(0, nullptr);
        check_token(read_value(tokens.data()), small_.piece(0, kPiece), kind.parameters);
        report(std::string("gpu_layers/sample_") + kind.name + "/rows_" + std::to_string(rows),
               time_launches(16, work), static_cast<double>(rows) * kVocab * 4, copy_);
      }
    }
  }

  const Arena in_, more_, out_, small_;
  double copy_ = 0;  // bytes per millisecond
};

}  // namespace
}  // namespace tandem::bench

int main() {
  return tandem::bench::run_on_gpu("bench_gpu_layers", [] { tandem::bench::Bench().run(); });
}
