// SPDX-License-Identifier: Apache-2.0
//
// The text that rewrite_dataflow() puts before a rewritten source: the processes of a region as the
// compiled kernel sees them.
//
// An argument is inspected through its type and the call that it belongs to. A constant is never
// evaluated, because a member constant may have no definition. The file includes nothing, because
// the text after it is already preprocessed. The functions are weak: without a runtime (a test
// bench) the calls of a region run in order.
#pragma once

#include <string_view>

namespace tandem::xclbin {

inline constexpr std::string_view kDataflowPrefix = R"(# 1 "tandem_dataflow"
namespace tandem_hls {
typedef decltype(sizeof(0)) Bytes;
}
extern "C" {
__attribute__((weak, visibility("default"))) void* tandem_region_open();
__attribute__((weak, visibility("default"))) void tandem_region_start(
    void* region, const char* name, void (*body)(void*), void* argument);
struct tandem_use {
  const void* begin;
  ::tandem_hls::Bytes bytes;
  int writes;
};
__attribute__((weak, visibility("default"))) void tandem_region_start_using(
    void* region, const char* name, void (*body)(void*), void* argument, const tandem_use* uses,
    ::tandem_hls::Bytes count);
__attribute__((weak, visibility("default"))) void tandem_region_await_turn();
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
  template <typename Body, typename... Uses>
  void start(const char* name, Body body, Uses... uses) {
    if (region_ == nullptr) return body();
    const tandem_use list[] = {uses..., tandem_use()};
    tandem_region_start_using(region_, name, &call<Body>, &body, list, sizeof...(uses));
  }
  void join() {
    if (region_ != nullptr) tandem_region_join(region_);
  }

 private:
  Region(const Region&);
  // The copy is on the process' stack: the original is destroyed before the process ends.
  template <typename Body>
  static void call(void* body) {
    Body own(*static_cast<Body*>(body));
    tandem_region_await_turn();
    own();
  }
  void* region_;
};
template <typename T>
T&& made();
// How a call may take an argument without writing through it. No function template's parameter is
// deduced from these but by value: a template that takes T& or T* counts as one that writes.
template <typename T>
struct AsPointer {
  operator const T*() const;
};
template <typename T>
struct AsArray {
  operator const T&() const;
};
template <typename X, typename Call>
constexpr auto takes(const Call& call, int) -> decltype((void)call(made<X>()), true) {
  return true;
}
template <typename X, typename Call>
constexpr bool takes(const Call&, long) {
  return false;
}
template <typename T>
struct Element {
  typedef T type;
};
template <typename T, ::tandem_hls::Bytes kCount>
struct Element<T[kCount]> : Element<T> {};
template <typename T>
struct Element<T[]> : Element<T> {};
// Streams are no values: they order the processes at their ends by themselves.
template <typename T, ::tandem_hls::Bytes = sizeof(T),
          bool kChannel = __is_class(T) && !__is_constructible(T, const T&)>
constexpr bool is_channel(int) {
  return kChannel;
}
template <typename T>
constexpr bool is_channel(long) {
  return false;
}
template <typename T>
constexpr auto bytes_of(int) -> decltype(sizeof(T)) {
  return sizeof(T);
}
template <typename T>
constexpr ::tandem_hls::Bytes bytes_of(long) {
  return 1;
}
// What an argument of this type (decltype of it in parentheses) refers to: nothing, ...
template <typename T>
struct Argument {
  static constexpr bool kUsed = false;
  static tandem_use place(const T&) { return tandem_use(); }
  template <typename Call>
  static constexpr bool is_only_read(const Call&) {
    return true;
  }
};
// ... an object of the caller, ...
template <typename T>
struct Object {
  static constexpr bool kUsed = !tandem_hls::is_channel<typename Element<T>::type>(0);
  template <typename Call>
  static constexpr bool is_only_read(const Call& call) {
    return tandem_hls::takes<T>(call, 0);
  }
};
template <typename T>
struct Object<const T> {
  static constexpr bool kUsed = __is_class(T) || __is_union(T);
  template <typename Call>
  static constexpr bool is_only_read(const Call&) {
    return true;
  }
};
template <typename T, ::tandem_hls::Bytes kCount>
struct Object<T[kCount]> {
  static constexpr bool kUsed = !tandem_hls::is_channel<typename Element<T>::type>(0);
  template <typename Call>
  static constexpr bool is_only_read(const Call& call) {
    return tandem_hls::takes<AsPointer<T>>(call, 0) ||
           tandem_hls::takes<AsArray<T[kCount]>>(call, 0);
  }
};
template <typename T, ::tandem_hls::Bytes kCount>
struct Object<const T[kCount]> : Object<const Argument<T>> {};
template <typename T>
struct Argument<T&> : Object<T> {
  static tandem_use place(const T& object) {
    const tandem_use use = {
        (const void*)__builtin_addressof(object), tandem_hls::bytes_of<T>(0), 1};
    return use;
  }
};
// ... or what a pointer points to.
template <typename T>
struct Argument<T*> {
  static constexpr bool kUsed = !tandem_hls::is_channel<typename Element<T>::type>(0);
  static tandem_use place(T* at) {
    const tandem_use use = {(const void*)at, tandem_hls::bytes_of<T>(0), 1};
    return use;
  }
  template <typename Call>
  static constexpr bool is_only_read(const Call& call) {
    return tandem_hls::takes<AsPointer<T>>(call, 0);
  }
};
template <typename T>
struct Argument<const T*> : Argument<T*> {
  static tandem_use place(const T* at) { return Argument<T*>::place(const_cast<T*>(at)); }
  template <typename Call>
  static constexpr bool is_only_read(const Call&) {
    return true;
  }
};
template <typename T>
struct Argument<T*&> : Argument<T*> {};
template <typename T>
struct Argument<T* const&> : Argument<T*> {};
// Stands for a call about which nothing is known.
struct AnyUse {};
// `call` is the call with this argument left open, `place` tells where the argument is.
template <typename T, typename Call, typename Place>
tandem_use use(const Call& call, const Place& place) {
  if (!Argument<T>::kUsed) return tandem_use();
  tandem_use use = place();
  use.writes = Argument<T>::is_only_read(call) ? 0 : 1;
  return use;
}
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
