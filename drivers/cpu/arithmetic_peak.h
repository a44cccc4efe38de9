// SPDX-License-Identifier: Apache-2.0
//
// Measures how fast the cores multiply and add: the roofline of prefill and of large decode
// batches.
//
// measure_peak_ops() runs the processor's fastest loops on registers, on all threads of a team at
// once (about 10 ms in all). A type without its own instructions has the peak of its substitute:
// f32 for bf16, lanes of 16 bits for int8. peak_ops() measures once per process and thread plan,
// and keeps the result. Threads: peak_ops() from any.
#pragma once

#include "cpu/team.h"
#include "device/device.h"

namespace tandem::device::cpu {

PeakOps measure_peak_ops(Team& team);

// The peak of a team of threads with this plan.
PeakOps peak_ops(const ThreadPlan& plan);

}  // namespace tandem::device::cpu
