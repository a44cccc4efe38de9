// SPDX-License-Identifier: Apache-2.0
//
// A dataflow region with a loop: a controller sends every value to a worker that stands before it
// in the text, and waits for the answer before the next. Broken: the controller ignores the answer.
#include <hls_stream.h>

static void work(hls::stream<int>& questions, hls::stream<int>& answers, int count) {
  for (int i = 0; i < count; ++i) answers.write(questions.read() * 2);
}

static void control(const int* in, hls::stream<int>& questions, hls::stream<int>& answers,
                    hls::stream<int>& results, int count) {
  for (int i = 0; i < count; ++i) {
    questions.write(in[i]);
    const int answer = answers.read();
#ifdef TANDEM_BROKEN
    results.write(in[i] + 1);
    (void)answer;
#else
    results.write(answer + 1);
#endif
  }
}

static void store(hls::stream<int>& results, int* out, int count) {
  for (int i = 0; i < count; ++i) out[i] = results.read();
}

extern "C" void loop(const int* in, int* out, int count) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#pragma HLS dataflow
  hls::stream<int, 2> questions("questions"), answers("answers"), results("results");
  work(questions, answers, count);
  store(results, out, count);
  control(in, questions, answers, results, count);
}
