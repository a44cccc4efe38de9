// SPDX-License-Identifier: Apache-2.0
//
// The modelled time of a copy between host and card: a fixed part and the link's bandwidth.
//
// Fitted to public measurements over PCIe 3.0 x16 (XDMA): `xbutil validate` on U50, U200 and U250
// for the native interface, host_global_bandwidth on U200 for OpenCL. Other links are scaled by
// their lanes and generation; 3.0 x4 on U30 was measured at 0.27 to 0.30 of x16. The range holds
// the cards that were measured. Pure.
#pragma once

#include <cstdint>

namespace tandem::emulation {

struct LinkTime {
  double us = 0, us_low = 0, us_high = 0;
};

struct HostLink {
  double generation = 3, lanes = 16;
  bool is_opencl = false;
};

inline LinkTime link_time(const HostLink& link, bool to_device, double bytes) {
  struct Fit {
    double fixed_us, gb_per_s, least_gb_per_s, most_gb_per_s;
  };
  constexpr Fit kNative[2] = {{5.7, 10.0, 8.5, 11.0}, {5.0, 12.1, 11.8, 12.2}};
  constexpr Fit kOpenCl[2] = {{13.5, 7.45, 6.5, 7.7}, {13.5, 12.1, 11.2, 12.2}};
  const Fit& fit = (link.is_opencl ? kOpenCl : kNative)[to_device ? 0 : 1];
  double scale = link.lanes / 16;
  for (double generation = 3; generation < link.generation; ++generation) scale *= 2;
  for (double generation = 3; generation > link.generation; --generation) scale /= 2;
  const auto time = [&](double gb_per_s) {
    return fit.fixed_us + bytes / (gb_per_s * scale) / 1e3;
  };
  return {time(fit.gb_per_s), time(fit.most_gb_per_s), time(fit.least_gb_per_s)};
}

}  // namespace tandem::emulation
