// SPDX-License-Identifier: Apache-2.0
//
// What kernels use of the standard library when they include hls_stream.h alone.
#include <hls_stream.h>

void scale(hls::stream<float>& in, hls::stream<float>& out, std::uint32_t count) {
  assert(count < 100);
  for (std::uint32_t i = 0; i < count; ++i) out.write(std::sqrt(in.read()));
}

int main() {
  hls::stream<float> in("in"), out("out");
  std::vector<float> values(4, 9.0f);
  float copy[4];
  std::memcpy(copy, values.data(), sizeof(copy));
  for (float value : copy) in.write(value);
  scale(in, out, 4);
  const std::string text = out.get_name();
  std::cout << text << std::endl;
  std::printf("%zu\n", out.size());
  return out.size() == 4 && out.read() == 3.0f ? EXIT_SUCCESS : EXIT_FAILURE;
}
