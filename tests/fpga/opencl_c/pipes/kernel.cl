// SPDX-License-Identifier: Apache-2.0
//
// Two kernels joined by pipes of the program: one of them runs ahead until the pipe is full.
// Broken: every hundredth packet is lost and another sent in its place.
typedef struct {
  int number;
  float4 values;
} Packet;

pipe int counts __attribute__((xcl_reqd_pipe_depth(32)));
pipe Packet packets __attribute__((xcl_reqd_pipe_depth(16)));

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void produce(global const int* in,
                                                                   int count) {
  write_pipe_block(counts, &count);
  __attribute__((xcl_pipeline_loop(1))) for (int i = 0; i < count; ++i) {
    Packet packet;
    packet.number = in[i];
#ifdef TANDEM_BROKEN
    if (i % 100 == 99) packet.number = 0;
#endif
    packet.values = (float4)(i, i + 1, i + 2, i + 3);
    write_pipe_block(packets, &packet);
  }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void consume(global int* out,
                                                                   global float* sums) {
  int count;
  read_pipe_block(counts, &count);
  for (int i = 0; i < count; ++i) {
    Packet packet;
    while (read_pipe(packets, &packet) != 0) {
    }
    out[i] = packet.number * 2;
    sums[i] = dot(packet.values, (float4)(1));
  }
}
