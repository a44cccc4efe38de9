// SPDX-License-Identifier: Apache-2.0
//
// CpuAttentionUnit: KV pages in host memory and decode attention on the cores (contract:
// device/attention_unit.h).
//
// submit() does the work before it returns, so wait() never waits and no ticket is lost.
// attention_plan.h cuts the work; results of token ranges are merged afterwards. All query heads of
// a KV head and all queries of a sequence share one read of K and V. Cost: one read of the pages; 4
// * head_dim FLOPs per query head and token. Threads: one submitter; threads of the team inside
// submit(); stats() from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "cpu/attention_plan.h"
#include "cpu/kv_pool.h"
#include "cpu/row_panel.h"
#include "cpu/team.h"
#include "device/device.h"

namespace tandem::device::cpu {

class CpuAttentionUnit final : public AttentionUnit {
 public:
  CpuAttentionUnit(Team& team, const AttentionUnitOptions& options);

  const AttentionGeometry& geometry() const override { return geometry_; }
  AttentionCapacity capacity() const override;
  Ticket submit(const AttentionBatch& batch, AttentionPartial out) override;
  WaitResult wait(Ticket ticket, Deadline deadline) override;
  WaitResult export_page(PageId page, std::span<std::byte> to, Deadline deadline) override;
  WaitResult import_page(PageId page, std::span<const std::byte> from, Deadline deadline) override;
  AttentionStats stats() const override;

 private:
  struct Worker {
    RowPanel panel;
    std::vector<float> expanded;  // tiles as f32, for panels of many rows
  };

  struct Walk;

  void append(const AttentionBatch& batch);
  int home_of(const AttentionBatch& batch, const AttentionItem& item) const;
  void advance(const AttentionBatch& batch, const AttentionItem& item, Walk& walk) const;
  void attend(const AttentionBatch& batch, const AttentionItem& item, const AttentionPartial& out,
              Worker& worker);
  void attend_few(const AttentionBatch& batch, const AttentionItem& item, RowPanel& panel);
  void attend_many(const AttentionBatch& batch, const AttentionItem& item, Worker& worker);
  std::size_t tiles_of(const AttentionBatch& batch, const AttentionItem& item, std::size_t head,
                       std::size_t first, std::span<KvTile> tiles) const;
  std::size_t result_row(const AttentionBatch& batch, const AttentionItem& item,
                         std::size_t row) const;
  void finish_item(const AttentionBatch& batch, const AttentionItem& item,
                   const AttentionPartial& out, const RowPanel& panel);
  void merge(const AttentionBatch& batch, const AttentionItem& first,
             const AttentionPartial& out) const;
  void check_page(PageId page, std::size_t image_bytes) const;

  AttentionGeometry geometry_;
  Team& team_;
  KvPool pool_;
  std::vector<Worker> workers_;
  AttentionPlan plan_;
  std::vector<float> partial_o_, partial_lse_;  // results of token ranges: [rows, head_dim], [rows]
  Ticket last_ticket_ = 0;
  std::atomic<std::uint64_t> launches_{0}, bytes_out_{0}, kv_bytes_{0}, busy_ns_{0};
};

}  // namespace tandem::device::cpu
