// SPDX-License-Identifier: Apache-2.0
//
// What the three accelerators compute.
#include "acc.hpp"

// A call in a comment: void adder::compute(int*) { move(a); increment(b); }
void adder::move(int* A, int* X, int size, hls::stream<Packet>& to, hls::stream<Packet>& from) {
  for (int i = 0; i < size; i++) {
    Packet packet;
    packet.data = A[i];
    packet.last = i == size - 1;
    to.write(packet);
  }
  Packet packet{0};
  for (int i = 0; !packet.last; i++) {
    packet = from.read();
    X[i] = packet.data;
  }
}
void adder::increment(hls::stream<Packet>& in, hls::stream<Packet>& out) {
  Packet packet = in.read();
  packet.data++;
  out.write(packet);
}
void adder::compute(int* A, int* X, int size) {
  static vpp::stream<Packet, 32> to("to");
  static vpp::stream<Packet, 32> from("from", /*post_check=*/false);
  move(A, X, size, to, from);  // waits for what increment(); gives
  increment(to, from);
}

void filter::keep(int* in, int size, int* out, int* count) {
  *count = 0;
  for (int i = 0; i < size; i++) {
    if (in[i] != 0) out[(*count)++] = in[i];
  }
}
void filter::compute(int* in, int size, int* out, int* count) { keep(in, size, out, count); }

void twice::move(int* A, hls::stream<int>& to, int size) {
  for (int i = 0; i < size; i++) to.write(A[i]);
}
void twice::increment(hls::stream<int>& from, int* X, int size) {
  for (int i = 0; i < size; i++) X[i] = from.read() + 1;
}
void twice::compute(int* A, int* X, int size) {
  static vpp::stream<int, 32> between("between");
  move(A, between, size);
  increment(between, X, size);
}
