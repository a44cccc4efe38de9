// SPDX-License-Identifier: Apache-2.0
//
// How fast a GPU is: arithmetic by table, memory and link by measurement.
//
// Peaks are multiprocessors x clock x operations that one of them does per clock by its compute
// capability, as the vendor's tables state them for dense products with f32 sums; the clock is the
// driver's highest. Cards of an architecture that are sold with halved rates do less.
// Measurements take some milliseconds of the idle GPU and give 0 where they fail; the GPU's health
// notes what went wrong. Threads: the submitting thread. Errors: Error where even the few MiB that
// the link is measured with are not there.
#pragma once

#include "cuda/gpu/gpu.h"
#include "device/device.h"

namespace tandem::cuda {

device::PeakOps peak_ops(const GpuTraits& traits);

// Bytes read and written per second by copies within device memory: the median of 5.
double measure_memory_bandwidth(Gpu& gpu);

struct LinkSpeed {
  double bandwidth_bytes_per_s = 0;  // pinned memory to the device
  double latency_us = 0;             // an empty round trip; 0: unknown
};
LinkSpeed measure_link(Gpu& gpu);
// What 16 lanes of the PCI Express generation of such GPUs carry, about: for lists of devices that
// nobody has opened.
LinkSpeed nominal_link(const GpuTraits& traits);

}  // namespace tandem::cuda
