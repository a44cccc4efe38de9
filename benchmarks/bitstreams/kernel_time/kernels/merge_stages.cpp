// SPDX-License-Identifier: Apache-2.0
//
// Four merges that follow each other: the next address depends on the value that was read.
static const int kCount = 16;
static const int kStages = 4;

static void merge(const float* from, int width, float* to) {
  int left = 0, right = width;
  int left_end = width < kCount ? width : kCount;
  int right_end = 2 * width < kCount ? 2 * width : kCount;
  for (int at = 0; at < kCount; ++at) {
#pragma HLS pipeline II = 1
    const float a = from[left];
    const float b = right == right_end ? 0.0F : from[right];
    if (right == right_end || (left < left_end && a <= b)) {
      to[at] = a;
      ++left;
    } else {
      to[at] = b;
      ++right;
    }
    if (left == left_end && right == right_end) {
      left = right_end;
      left_end = left_end + 2 * width < kCount ? left_end + 2 * width : kCount;
      right_end = right_end + 2 * width < kCount ? right_end + 2 * width : kCount;
      right = left_end;
    }
  }
}

extern "C" void top(const float* values, float* sorted) {
#pragma HLS interface m_axi port = values bundle = values
#pragma HLS interface m_axi port = sorted bundle = sorted
#pragma HLS dataflow
  float first[kCount], second[kCount], third[kCount];
  merge(values, 1, first);
  merge(first, 2, second);
  merge(second, 4, third);
  merge(third, 8, sorted);
}

extern "C" void call(char* const* memory) {
  static const float kValues[kCount] = {1, 6, 3, 7, 2, 5, 4, 0, 9, 10, 11, 12, 13, 14, 15, 8};
  float* const values = reinterpret_cast<float*>(memory[0]);
  for (int at = 0; at < kCount; ++at) values[at] = kValues[at];
  top(values, reinterpret_cast<float*>(memory[1]));
}
