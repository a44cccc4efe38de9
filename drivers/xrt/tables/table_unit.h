// SPDX-License-Identifier: Apache-2.0
//
// XrtTableUnit: embedding tables in the memories of a PCIe FPGA card, updated by its compute units.
//
// Units have ranges of rows (table_plan.h). An update is one transfer to every unit that has rows,
// one run, and one transfer back; more rounds where an input exceeds kMostCallBytes. The caller's
// arrays are written when every round has answered. modelled_seconds is the time of a real card,
// not of the emulated one: the transfers over its link one after the other, plus the slowest unit
// by the kernel's cycle model. Errors: as TableUnit; the card is lost when XRT throws, a command
// fails, a result does not match its input, or the deadline passes. Threads: one.
#pragma once

#include <memory>
#include <string>

#include "common/raw_vector.h"
#include "device/device.h"
#include "device/table_unit.h"
#include "xrt/card/abandoned.h"
#include "xrt/card/card_timing.h"
#include "xrt/tables/table_launch.h"
#include "xrt/tables/table_plan.h"

namespace tandem::device::xrt_card {

class XrtTableUnit final : public TableUnit {
 public:
  static constexpr std::size_t kMostCallBytes = std::size_t{64} << 20;

  XrtTableUnit(const xrt::device& device, std::vector<KernelUnit> units, const DeviceInfo& info);

  std::string name() const override { return name_; }
  void load(std::span<const TableShape> shapes, std::span<const TableArrays> arrays,
            Deadline deadline) override;
  TableReport update(const TableUpdate& update, const TableArrays& arrays,
                     Deadline deadline) override;

 private:
  // The result of a call, in staged_.
  struct Answer {
    const TableCall* call;
    std::size_t offset;
  };

  double run_round(std::vector<TableCall>& calls, const TablePlan& plan, const TableUpdate& update,
                   Deadline deadline, std::vector<Answer>& answers);
  double fetch(TableCall& call, std::vector<Answer>& answers, std::uint64_t& cycles);
  void check_lost();
  [[noreturn]] void lose(const std::string& reason);

  std::string name_;
  CardTiming timing_;
  DrainedBuffers card_;  // its destructor also runs if the constructor throws
  TableLaunch* launch_ = nullptr;
  TableLayout layout_;
  std::size_t room_bytes_ = 0;
  RawVector<std::byte> staged_;  // records of the rounds that have answered
  std::uint32_t next_tag_ = 1;
  bool lost_ = false;
  std::string lost_reason_;
};

}  // namespace tandem::device::xrt_card
