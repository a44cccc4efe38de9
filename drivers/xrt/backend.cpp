// SPDX-License-Identifier: Apache-2.0
//
// Cards that the Xilinx Runtime lists. XRT finds none unless its environment is set up (its setup
// script exports XILINX_XRT); like a machine without cards, that gives an empty list.
#include "xrt/backend.h"

#include <experimental/xrt_system.h>
#include <xrt/xrt_device.h>

#include "common/error.h"
#include "xrt/aggregation/aggregation_image.h"
#include "xrt/aggregation/aggregation_unit.h"
#include "xrt/attention/attention_unit.h"
#include "xrt/attention/kernel_image.h"
#include "xrt/card/abandoned.h"
#include "xrt/card/card_table.h"
#include "xrt/card/kernel_units.h"
#include "xrt/options.h"
#include "xrt/products/product_image.h"
#include "xrt/products/product_unit.h"
#include "xrt/tables/table_image.h"
#include "xrt/tables/table_unit.h"

namespace tandem::device {
namespace {

using xrt_card::CardFacts;

DeviceInfo describe(const xrt::device& card, int index) {
  DeviceInfo info;
  info.id = "xrt:" + std::to_string(index);
  info.kind = "xrt";
  info.name = card.get_info<xrt::info::device::name>();
  const CardFacts facts = xrt_card::card_facts(info.name);
  info.memory_bytes = facts.memory_bytes;
  info.memory_bandwidth_bytes_per_s = facts.memory_bandwidth_bytes_per_s;
  info.link_bandwidth_bytes_per_s = facts.link_bandwidth_bytes_per_s;
  info.makes_attention = true;
  info.makes_aggregation = true;
  info.makes_tables = true;
  return info;
}

class XrtDevice final : public Device, public SparseDevice {
 public:
  XrtDevice(int index, const DeviceOptions& options)
      : card_(static_cast<unsigned>(index)),
        info_(describe(card_, index)),
        kernel_image_(options.values.find(xrt_card::kAttentionImageOption)
                          .value_or(xrt_card::find_kernel_image("attention_decode"))),
        aggregation_image_(
            options.values.find(xrt_card::kAggregationImageOption).value_or(std::string())),
        table_image_(options.values.find(xrt_card::kTableImageOption).value_or(std::string())) {}

  const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<ComputeUnit> make_compute_unit() override {
    throw Error("xrt", "a card computes no dense layers; use --compute cpu");
  }
  std::unique_ptr<AttentionUnit> make_attention_unit(const AttentionUnitOptions& options) override {
    xrt_card::check_stored(options.geometry);  // before the card's kernel is replaced
    xrt_card::reclaim_abandoned();
    return std::make_unique<xrt_card::XrtAttentionUnit>(
        card_, xrt_card::load_kernel_image(card_, kernel_image_), options, info_);
  }
  // Replaces another kernel on the card: a card runs one of the four.
  std::unique_ptr<AggregationUnit> make_aggregation_unit() override {
    xrt_card::reclaim_abandoned();
    return std::make_unique<xrt_card::XrtAggregationUnit>(
        card_, xrt_card::load_aggregation_image(card_, aggregation_image_), info_);
  }
  std::unique_ptr<TableUnit> make_table_unit() override {
    xrt_card::reclaim_abandoned();
    return std::make_unique<xrt_card::XrtTableUnit>(
        card_, xrt_card::load_table_image(card_, table_image_), info_);
  }
  std::unique_ptr<SparseUnit> make_sparse_unit() override {
    xrt_card::reclaim_abandoned();
    return std::make_unique<xrt_card::XrtSparseUnit>(card_, xrt_card::load_product_image(card_),
                                                     info_);
  }

 private:
  xrt::device card_;
  DeviceInfo info_;
  std::string kernel_image_;
  std::string aggregation_image_;
  std::string table_image_;
};

constexpr int kMostCards = 64;

int counted_cards() {
  try {
    return static_cast<int>(xrt::system::enumerate_devices());
  } catch (const std::exception&) {
    return 0;
  }
}

class XrtBackend final : public Backend {
 public:
  std::string_view kind() const override { return "xrt"; }
  bool available() const override { return true; }
  std::string unavailable_reason() const override { return ""; }
  std::span<const BackendOption> options() const override { return xrt_card::kOptions; }

  // XRT counts PCIe cards only; emulated cards have the indices after them.
  std::vector<DeviceInfo> enumerate(const DeviceOptions&) const override {
    std::vector<DeviceInfo> cards;
    const int counted = counted_cards();
    for (int index = 0; index < kMostCards; ++index) {
      try {
        cards.push_back(describe(xrt::device(index), index));
      } catch (const std::exception&) {
        if (index >= counted)
          break;  // a counted card that does not answer may come before one that does
      }
    }
    return cards;
  }

  std::unique_ptr<Device> open(int index, const DeviceOptions& options) const override {
    if (index < 0) throw Error("xrt", "card " + std::to_string(index) + " is not an index");
    xrt_card::reclaim_abandoned();  // a lost card starts afresh when nothing holds it
    try {
      return std::make_unique<XrtDevice>(index, options);
    } catch (const std::exception& e) {
      const std::size_t found = enumerate(options).size();
      const std::string why =
          found == 0 ? "XRT finds no card; source its setup script (exports XILINX_XRT)"
                     : "XRT finds " + std::to_string(found) + ", from xrt:0 on";
      throw Error("xrt",
                  "cannot open card " + std::to_string(index) + ": " + why + ": " + e.what());
    }
  }
};

}  // namespace

const Backend& xrt_backend() {
  static const XrtBackend backend;
  return backend;
}

}  // namespace tandem::device
