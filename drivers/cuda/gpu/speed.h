// SPDX-License-Identifier: Apache-2.0
//
// The speed of a GPU: arithmetic from a table, memory and link by measurement.
//
// A peak is multiprocessors x highest clock x operations per clock of the compute capability, as
// the vendor's tables state them for dense products with f32 sums. Cards that are sold with halved
// rates reach less. A measurement takes some milliseconds on the idle GPU and gives 0 if it fails;
// the GPU's health then holds the reason. Threads: the submitting thread. Errors: Error if there is
// no memory for the few MiB of the link's measurement.
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
// The approximate speed of 16 lanes of the PCI Express generation of such GPUs: for lists of
// devices that are not open.
LinkSpeed nominal_link(const GpuTraits& traits);

}  // namespace tandem::cuda
