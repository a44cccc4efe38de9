// SPDX-License-Identifier: Apache-2.0
//
// Ten kernels whose accesses the checks look at: device memory, local arrays, both. Each takes `in`
// and gives `out`, of `count` words; `count` is a multiple of 1024.
#include <ap_int.h>

#include <cstring>

extern "C" void add(const int* in, int* out, int count) {
  for (int at = 0; at < count; ++at) out[at] = in[at] + at;
}

extern "C" void sum(const int* in, int* out, int count) {
  int total = 0;
  for (int at = 0; at < count; ++at) total += in[at];
  out[0] = total;
}

extern "C" void copy_blocks(const int* in, int* out, int count) {
  int block[1024];
  for (int begin = 0; begin < count; begin += 1024) {
    memcpy(block, in + begin, sizeof(block));
    memcpy(out + begin, block, sizeof(block));
  }
}

extern "C" void scale_blocks(const int* in, int* out, int count) {
  int block[1024];
  for (int begin = 0; begin < count; begin += 1024) {
    for (int at = 0; at < 1024; ++at) block[at] = in[begin + at];
    for (int at = 0; at < 1024; ++at) out[begin + at] = 3 * block[1023 - at];
  }
}

extern "C" void multiply(const int* in, int* out, int count) {
  int a[32][32], b[32][32];
  for (int begin = 0; begin < count; begin += 1024) {
    for (int at = 0; at < 1024; ++at) a[at / 32][at % 32] = b[at % 32][at / 32] = in[begin + at];
    for (int row = 0; row < 32; ++row) {
      for (int column = 0; column < 32; ++column) {
        int total = 0;
        for (int at = 0; at < 32; ++at) total += a[row][at] * b[at][column];
        out[begin + row * 32 + column] = total;
      }
    }
  }
}

extern "C" void histogram(const int* in, int* out, int count) {
  int bins[256];
  for (int bin = 0; bin < 256; ++bin) bins[bin] = 0;
  for (int at = 0; at < count; ++at) ++bins[in[at] & 255];
  for (int bin = 0; bin < 256; ++bin) out[bin] = bins[bin];
}

extern "C" void filter(const int* in, int* out, int count) {
  int history[16] = {};
  for (int at = 0; at < count; ++at) {
    int total = 0;
    for (int tap = 15; tap > 0; --tap) {
      history[tap] = history[tap - 1];
      total += tap * history[tap];
    }
    history[0] = in[at];
    out[at] = total;
  }
}

extern "C" void stencil(const int* in, int* out, int count) {
  for (int at = 33; at < count - 33; ++at) {
    out[at] = in[at - 32] + in[at - 1] + in[at] + in[at + 1] + in[at + 32];
  }
}

extern "C" void narrow(const int* in, int* out, int count) {
  ap_uint<20> state = 1;
  for (int at = 0; at < count; ++at) {
    state = state * 5 + ap_uint<12>(in[at]);
    out[at] = static_cast<int>(state);
  }
}

extern "C" void exchange(const int* in, int* out, int count) {
  int block[1024];
  for (int begin = 0; begin < count; begin += 1024) {
    for (int at = 0; at < 1024; ++at) block[at] = in[begin + at];
    for (int pass = 0; pass < 8; ++pass) {
      for (int at = 0; at < 1023; ++at) {
        if (block[at] <= block[at + 1]) continue;
        const int greater = block[at];
        block[at] = block[at + 1];
        block[at + 1] = greater;
      }
    }
    for (int at = 0; at < 1024; ++at) out[begin + at] = block[at];
  }
}
