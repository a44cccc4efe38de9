// SPDX-License-Identifier: Apache-2.0
//
// What rewrite_dataflow() puts in front of a text that uses it: the processes of a region as the
// compiled kernel sees them.
//
// Includes nothing, as the text behind it is preprocessed already. The functions are weak: where no
// runtime is (a test bench) a region's calls run one after the other.
#pragma once

#include <string_view>

namespace tandem::xclbin {

inline constexpr std::string_view kDataflowPrefix = R"(# 1 "tandem_dataflow"
extern "C" {
__attribute__((weak, visibility("default"))) void* tandem_region_open();
__attribute__((weak, visibility("default"))) void tandem_region_start(
    void* region, const char* name, void (*body)(void*), void* argument);
__attribute__((weak, visibility("default"))) void tandem_region_join(void* region);
__attribute__((weak, visibility("default"))) void tandem_region_drop(void* region);
}
namespace tandem_hls {
class Region {
 public:
  Region() : region_(tandem_region_open ? tandem_region_open() : nullptr) {}
  ~Region() {
    if (region_ != nullptr) tandem_region_drop(region_);
  }
  template <typename Body>
  void start(const char* name, Body body) {
    if (region_ == nullptr) return body();
    tandem_region_start(region_, name, &call<Body>, &body);
  }
  void join() {
    if (region_ != nullptr) tandem_region_join(region_);
  }

 private:
  Region(const Region&);
  // The copy lives on the process' stack: the original goes before the process does.
  template <typename Body>
  static void call(void* body) {
    Body own(*static_cast<Body*>(body));
    own();
  }
  void* region_;
};
template <typename S>
auto depth_of(S& stream, unsigned depth, int) -> decltype((void)stream.set_depth(depth)) {
  stream.set_depth(depth);
}
template <typename S>
void depth_of(S&, unsigned, long) {}
template <typename S>
void stream_depth(S& stream, unsigned depth) {
  tandem_hls::depth_of(stream, depth, 0);
}
template <typename S, decltype(sizeof(0)) kCount>
void stream_depth(S (&streams)[kCount], unsigned depth) {
  for (auto& stream : streams) tandem_hls::stream_depth(stream, depth);
}
template <typename S>
auto name_of(S& stream, const char* name, int) -> decltype((void)stream.set_name(name)) {
  stream.set_name(name);
}
template <typename S>
void name_of(S&, const char*, long) {}
template <typename S>
void stream_name(S& stream, const char* name) {
  tandem_hls::name_of(stream, name, 0);
}
template <typename S, decltype(sizeof(0)) kCount>
void stream_name(S (&streams)[kCount], const char* name) {
  char element[256];
  for (decltype(sizeof(0)) i = 0; i < kCount; ++i) {
    __builtin_snprintf(element, sizeof(element), "%s[%u]", name, static_cast<unsigned>(i));
    tandem_hls::stream_name(streams[i], element);
  }
}
}  // namespace tandem_hls
)";

}  // namespace tandem::xclbin
