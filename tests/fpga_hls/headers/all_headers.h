// SPDX-License-Identifier: Apache-2.0
//
// Every header of numbers and functions in one translation unit, beside those of XRT where they are
// installed. One line per header; the order does not matter.
#pragma once

#if __has_include(<xrt/xrt_bo.h>)
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>
#endif

#include <ap_axi_sdata.h>
#include <ap_fixed.h>
#include <ap_float.h>
#include <ap_int.h>
#include <ap_shift_reg.h>
#include <ap_utils.h>
#include <etc/ap_utils.h>
#include <half.h>
#include <hls_array_partition.h>
#include <hls_burst_maxi.h>
#include <hls_dds.h>
#include <hls_directio.h>
#include <hls_dsp_builtins.h>
#include <hls_fence.h>
#include <hls_fft.h>
#include <hls_fir.h>
#include <hls_half.h>
#include <hls_math.h>
#include <hls_np_channel.h>
#include <hls_print.h>
#include <hls_stream.h>
#include <hls_streamofblocks.h>
#include <hls_task.h>
#include <hls_vector.h>
#include <utils/x_hls_utils.h>

// What the other translation unit computes, by the same inline functions.
double checksum_elsewhere(int rounds);

inline double checksum(int rounds) {
  ap_uint<512> word = 1;
  ap_fixed<24, 12, AP_RND_CONV, AP_SAT> sum = 0;
  half small = 0.0f;
  hls::vector<ap_int<17>, 8> lanes = ap_int<17>(3);
  hls::stream<ap_axiu<64, 0, 0, 0>> wire("wire");
  for (int i = 0; i < rounds; ++i) {
    word = (word << 7) ^ (word * 0x9e3779b97f4a7c15ull + i);
    ap_axiu<64, 0, 0, 0> beat;
    beat.data = word.range(127, 64);
    beat.keep = -1;
    beat.last = i % 2;
    wire.write(beat);
    const ap_uint<64> back = wire.read().data;
    sum += hls::sin(ap_fixed<24, 12>(back(7, 0)) / 16);
    small = hls::sqrt(small + half(static_cast<float>(back(3, 0).to_uint())));
    lanes = lanes * ap_int<17>(5) + ap_int<17>(back(15, 0));
  }
  return sum.to_double() + small + lanes.reduce_add().to_double() + word.range(31, 0).to_double();
}
