// SPDX-License-Identifier: Apache-2.0
//
// CpuComputeUnit: the dense operations of a transformer layer on the cores (contract:
// device/compute_unit.h).
//
// enqueue() does the work before it returns, so every ticket is done at once. Device memory is host
// memory. Operations on little data run on the calling thread; larger ones divide rows over the
// team, Linear its outputs. The last two rotation tables are kept: layers of a step share positions
// and frequencies, and some families alternate between two sets of frequencies. Threads: one
// submitter; stats() from any.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/function_ref.h"
#include "cpu/causal_attention.h"
#include "cpu/experts.h"
#include "cpu/linear.h"
#include "cpu/team.h"
#include "device/compute_unit.h"
#include "device/op_dispatch.h"

namespace tandem::device::cpu {

class CpuComputeUnit final : public ComputeUnit {
 public:
  // `note`: receives a line when weights with zeros were measured; may be empty.
  explicit CpuComputeUnit(Team& team, SparseMode sparse = SparseMode::kAuto,
                          std::function<void(const std::string&)> note = {});

  std::unique_ptr<Buffer> allocate(std::size_t size_bytes, MemoryKind kind) override;
  bool device_memory_is_host() const override { return true; }
  std::unique_ptr<Weight> load(const WeightSource& source) override;

  bool supports(OpKind kind) const override { return OpDispatch<CpuComputeUnit>::supports(kind); }
  void enqueue(const Op& op) override { OpDispatch<CpuComputeUnit>::enqueue(*this, op); }

  Ticket record() override { return ++last_ticket_; }
  WaitResult wait(Ticket ticket, Deadline deadline) override;
  ComputeStats stats() const override;

 private:
  friend class OpDispatch<CpuComputeUnit>;
  void handle(const EmbedOp& op);
  void handle(const RmsNormOp& op);
  void handle(const LinearOp& op);
  void handle(const RopeOp& op);
  void handle(const SoftcapOp& op);
  void handle(const CausalAttentionOp& op);
  void handle(const MergeOp& op);
  void handle(const GatherRowsOp& op);
  void handle(const ExpertsOp& op);
  void handle(const GatedAddOp& op);
  void handle(const CopyOp& op);

  // Counts one operation and its time.
  class Timed {
   public:
    explicit Timed(CpuComputeUnit& unit) : unit_(unit) {}
    ~Timed() {
      unit_.ops_ += 1;
      unit_.busy_ns_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - start_).count();
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

   private:
    CpuComputeUnit& unit_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  };

  // cos and sin of a rotation, [rows, 2 * pairs].
  struct RopeTable {
    std::vector<std::int32_t> positions;
    std::vector<float> inverse_frequencies;
    float magnitude = 0;
    std::vector<float> cos_sin;
  };

  // body(begin, end) over rows; on the team if rows * width is large.
  using RowsBody = FunctionRef<void(std::size_t begin, std::size_t end)>;
  void for_rows(std::size_t rows, std::size_t width, RowsBody body);
  void update_rope_table(const RopeOp& op);  // makes rope_[0] the table of op
  void rotate(const RopeOp& op, const RopeTarget& target);

  Team& team_;
  SparseChoice sparse_;
  Linear linear_;
  Experts experts_;
  CausalAttention causal_;
  std::array<RopeTable, 2> rope_;  // the one used last is first
  Ticket last_ticket_ = 0;
  std::atomic<std::uint64_t> ops_{0}, weight_bytes_{0}, busy_ns_{0};
};

}  // namespace tandem::device::cpu
