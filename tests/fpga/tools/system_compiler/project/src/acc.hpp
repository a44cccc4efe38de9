// SPDX-License-Identifier: Apache-2.0
//
// Three accelerators.
#pragma once
#include "ap_axi_sdata.h"
#include "vpp_acc.hpp"
#include "vpp_stream.hpp"
#include PFM_CONFIG_H(XILINX_SC_PFM_CONFIG)

using Packet = hls::axis<int, 0, 0, 0>;

// Two processes that need each other: one runs for ever.
class adder : public VPP_ACC<adder, 2> {
  ZERO_COPY(A, A[0]);
  SYS_PORT(A, PORT);
  SYS_PORT_PFM(u50, X, (HBM[0] : HBM[1]));
  FREE_RUNNING(increment);

 public:
  static void compute(int* A, int* X, int size);
  static void move(int* A, int* X, int size, hls::stream<Packet>& to, hls::stream<Packet>& from);
  static void increment(hls::stream<Packet>& in, hls::stream<Packet>& out);
};

// Keeps what is not zero; the output has less than the input.
class filter : public VPP_ACC<filter, 1> {
  ACCESS_PATTERN(in, SEQUENTIAL);
  DATA_COPY(in, in[size]);
  PROFILE_KERNEL("all");

 public:
  static void compute(int* in, int size, int* out, int* count);
  static void keep(int* in, int size, int* out, int* count);
};

// Its functions have the names of adder's, but both end.
class twice : public VPP_ACC<twice, 1> {
 public:
  static void compute(int* A, int* X, int size);
  static void move(int* A, hls::stream<int>& to, int size);
  static void increment(hls::stream<int>& from, int* X, int size);
};
