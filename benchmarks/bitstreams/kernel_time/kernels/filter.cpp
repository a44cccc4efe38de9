// SPDX-License-Identifier: Apache-2.0
//
// A filter of 85 taps over 251 samples: a function with a loop that shifts, called per sample.
#include <cstring>

static const int kTaps = 85;
static const int kSamples = 251;
static const int kWeights[kTaps] = {3, -1, 4, 1, -5, 9, 2, 6};

static int next_output(int sample) {
  static int history[kTaps - 1];
  int sum = 0;
  for (int tap = kTaps - 1; tap >= 0; --tap) {
    int value = sample;
    if (tap == 0) {
      history[0] = sample;
    } else {
      value = history[tap - 1];
      if (tap < kTaps - 1) history[tap] = value;
    }
    sum += value * kWeights[tap];
  }
  return sum;
}

extern "C" void top(const int* samples, int* outputs) {
#pragma HLS interface m_axi port = samples bundle = samples
#pragma HLS interface m_axi port = outputs bundle = outputs
  int in[kSamples], out[kSamples];
  memcpy(in, samples, sizeof(in));
  for (int sample = 0; sample < kSamples; ++sample) out[sample] = next_output(in[sample]);
  memcpy(outputs, out, sizeof(out));
}

extern "C" void call(char* const* memory) {
  top(reinterpret_cast<const int*>(memory[0]), reinterpret_cast<int*>(memory[1]));
}
