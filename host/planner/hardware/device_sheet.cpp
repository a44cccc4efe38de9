// SPDX-License-Identifier: Apache-2.0
//
// The sheets. GPUs: dense FP16 without sparsity. Cards: what 16-bit and packed 8-bit multipliers
// give at 300 MHz, three DSPs per 16-bit step of a sum, two 8-bit products per DSP.
#include "planner/hardware/device_sheet.h"

#include <array>

#include "common/number.h"
#include "planner/hardware/preset_names.h"

namespace tandem::planner {
namespace {

constexpr double kGb = 1e9, kTera = 1e12;
constexpr double kMostGbPerS = 1e6;  // of a CPU's memory
// Memory of a device is sold by the power of two, its bandwidth is not.
constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr Reached kOfGpu{0.85, 0.6, 0.8, 0.4};
constexpr Reached kOfCard{0, 0, 0.85, 0.9};
constexpr Reached kOfCpu{0.8, 0.5, 0.8, 0.5};

struct GpuFigures {
  const char* name;
  double memory_gib, gb_per_s, f16_tera, i8_tera, idle_w, busy_w;
  const char* link;
  double price;
  const char* source;
};

// A GPU shares a read of KV among the rows of a tile.
DeviceSheet gpu(const GpuFigures& f) {
  return {f.name,
          DeviceClass::kGpu,
          f.memory_gib * kGib,
          f.gb_per_s * kGb,
          f.f16_tera * kTera,
          f.i8_tera * kTera,
          f.idle_w,
          f.busy_w,
          f.link,
          3e-6,
          64,
          f.price,
          kOfGpu,
          f.source};
}

struct CardFigures {
  const char* name;
  double memory_gib, gb_per_s;
  int dsps;
  double idle_w, busy_w;
  const char* link;
  double price;
  const char* source;
};

DeviceSheet card(const CardFigures& f) {
  const double per_dsp = 2 * 300e6;
  return {f.name,
          DeviceClass::kCard,
          f.memory_gib * kGib,
          f.gb_per_s * kGb,
          f.dsps / 3.0 * per_dsp,
          f.dsps * 2 * per_dsp,
          f.idle_w,
          f.busy_w,
          f.link,
          2e-6,
          8,
          f.price,
          kOfCard,
          f.source};
}

DeviceSheet cpu(std::string name, double gb_per_s) {
  // About 10 operations per byte of bandwidth: servers of the last ten years have 8 to 20.
  const double ops = 10 * gb_per_s * kGb;
  return {std::move(name),
          DeviceClass::kCpu,
          512 * kGib,
          gb_per_s * kGb,
          ops,
          2 * ops,
          0.25 * gb_per_s + 40,
          0.75 * gb_per_s + 120,
          "host",
          5e-6,
          4,
          0.002 * gb_per_s,
          kOfCpu,
          "bandwidth as named; 10 operations per byte, 512 GB and watts by bandwidth are assumed"};
}

// What each source states; watts at idle and prices are assumed. Products: the maker's page of that
// name. HPU: arXiv 2504.16112, table I. Lamina: arXiv 2405.01814, table 1.
const std::array kDevices = {
    gpu({"t4", 16, 320, 65, 130, 10, 70, "pcie3x16", 0.35,
         "NVIDIA T4 datasheet; reads 220 GB/s by arXiv 1903.07486"}),
    gpu({"a10g", 24, 600, 70, 140, 20, 300, "pcie4x16", 0.75,
         "AWS EC2 G5: aws.amazon.com/ec2/instance-types/g5; NVIDIA A10G"}),
    gpu({"l40s", 48, 864, 362, 733, 35, 350, "pcie4x16", 1.0, "HPU; NVIDIA L40S datasheet (int8)"}),
    gpu({"a100", 80, 2039, 312, 624, 50, 400, "pcie4x16", 1.8,
         "NVIDIA A100 datasheet, SXM 80 GB: nvidia.com/en-us/data-center/a100"}),
    gpu({"h20", 96, 4000, 148, 296, 50, 400, "pcie5x16", 1.4, "Lamina"}),
    gpu({"h100-nvl", 94, 3938, 835, 1671, 60, 400, "pcie5x16", 2.6,
         "HPU; NVIDIA H100 datasheet, NVL, dense: nvidia.com/en-us/data-center/h100"}),
    gpu({"h100-sxm", 80, 3352, 989, 1979, 70, 700, "pcie5x16", 2.9,
         "NVIDIA H100 datasheet, SXM, dense: nvidia.com/en-us/data-center/h100"}),
    gpu({"h200", 141, 4800, 989, 1979, 75, 700, "pcie5x16", 3.5,
         "NVIDIA H200 datasheet, SXM, dense: nvidia.com/en-us/data-center/h200"}),
    gpu({"b200", 180, 8000, 2250, 4500, 140, 1000, "pcie5x16", 5.5,
         "nvidia.com/en-us/data-center/dgx-b200, an eighth; operations: "
         "glennklockwood.com/garden/processors/B200"}),
    gpu({"mi300x", 192, 5300, 1307.4, 2614.9, 140, 750, "pcie5x16", 2.9,
         "AMD Instinct MI300X data sheet: amd.com/en/products/accelerators/instinct/mi300"}),
    card({"u50", 8, 316, 5952, 20, 75, "pcie4x8", 0.15, "AMD Alveo U50 DS965"}),
    card({"u55c", 16, 460, 9024, 40, 150, "pcie4x8", 0.25,
          "HPU; AMD UG1393, HBM Configuration (32 x 14.375 GB/s); DSPs: DS978"}),
    card({"u280", 8, 460, 9024, 45, 225, "pcie4x8", 0.3,
          "AMD UG1393, HBM Configuration (32 x 14.375 GB/s); AMD Alveo U280 DS963; HBM only"}),
    card({"v80", 32, 820, 10848, 60, 190, "pcie5x8", 0.45,
          "amd.com/en/products/accelerators/alveo/v80; DSPs counted as those of the U55C"}),
    card({"hbm3e-card", 96, 2400, 40000, 80, 300, "pcie5x16", 0.9,
          "hypothetical: two HBM3E stacks of 48 GB at 1.2 TB/s"}),
    cpu("cpu", 200),
};

// One way. PCIe: 85 % of the lanes' rate; the latency is that of a doorbell and of polling.
LinkSheet pcie(const char* name, double gb_per_s) {
  return {name, 0.85 * gb_per_s * kGb, 2e-6, "PCI-SIG rate per lane, 85 % of it"};
}

// Half of the 33 us that Lamina reports for a round trip of small messages over 400 GbE.
LinkSheet ethernet(const char* name, double gbit) {
  return {name, 0.9 * gbit / 8 * kGb, 16.5e-6,
          "IEEE 802.3 rate, 90 % of it; latency: Lamina (arXiv 2405.01814), half a round trip"};
}

const std::array kLinks = {
    LinkSheet{"host", 100 * kGb, 1e-6, "the unit is host memory; rows pass through a cache"},
    pcie("pcie3x16", 16),
    pcie("pcie4x8", 16),
    pcie("pcie4x16", 32),
    pcie("pcie5x8", 32),
    pcie("pcie5x16", 64),
    LinkSheet{"nvlink3", 300 * kGb, 2e-6, "nvidia.com/en-us/data-center/a100: 600 GB/s both ways"},
    LinkSheet{"nvlink4", 450 * kGb, 2e-6, "nvidia.com/en-us/data-center/h100: 900 GB/s both ways"},
    LinkSheet{"nvlink5", 900 * kGb, 2e-6,
              "nvidia.com/en-us/data-center/dgx-b200: 14.4 TB/s of eight, both ways"},
    ethernet("25gbe", 25),
    ethernet("50gbe", 50),
    ethernet("100gbe", 100),
    ethernet("200gbe", 200),
    ethernet("400gbe", 400),
};

}  // namespace

std::span<const DeviceSheet> device_presets() { return kDevices; }
std::span<const LinkSheet> link_presets() { return kLinks; }

DeviceSheet device_preset(std::string_view name) {
  constexpr std::string_view kCpu = "cpu:";
  if (!name.starts_with(kCpu)) {
    return find_preset("devices", "device", device_presets(), name);
  }
  const std::string_view digits = name.substr(kCpu.size());
  const auto gb_per_s = number_of<double>(digits);
  if (!gb_per_s || *gb_per_s <= 0 || *gb_per_s > kMostGbPerS) {
    throw Error("devices",
                "'" + std::string(name) +
                    "': cpu:N is a CPU whose memory reads N GB/s, as in cpu:200, at most "
                    "1e6");
  }
  return cpu(std::string(name), *gb_per_s);
}

const LinkSheet& link_preset(std::string_view name) {
  return find_preset("devices", "link", link_presets(), name);
}

}  // namespace tandem::planner
