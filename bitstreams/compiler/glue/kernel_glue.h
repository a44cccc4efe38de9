// SPDX-License-Identifier: Apache-2.0
//
// Turns a kernel function into a KernelEntry by templates over the function's own type.
//
// Pointers and burst classes (with read_request(), built from a pointer) are global memory. Classes
// with read() and empty() are streams. All other types are scalars. The generated translation unit
// adds information that types do not have: TANDEM_EXPORT_KERNEL(function, n0, n1, ...) gives the
// number of elements in the register map for each argument, or 0; missing numbers are 0. An
// argument has elements there if it is a pointer or array whose only interface is s_axilite. Such
// arguments, and scalars by reference, are read from the register map before the call and written
// back after it. This file precedes the kernel's source, because its macros may have any names;
// only TANDEM_EXPORT_KERNEL follows. C++11.
#pragma once

#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cpu_features.h"
#include "kernel_entry.h"

// The stream of Tandem's hls_stream.h; other headers leave it undefined.
namespace tandem_hls {
template <typename T>
struct StreamOf;
}

namespace tandem_glue {

template <typename T>
using Plain = typename std::remove_cv<typename std::remove_reference<T>::type>::type;
template <bool kCondition>
using EnableIf = typename std::enable_if<kCondition>::type;

// The numbers 0, 1, ... kCount - 1.
template <std::size_t... kIndex>
struct Indices {};
template <std::size_t kCount, std::size_t... kIndex>
struct IndicesTo : IndicesTo<kCount - 1, kCount - 1, kIndex...> {};
template <std::size_t... kIndex>
struct IndicesTo<0, kIndex...> {
  using Type = Indices<kIndex...>;
};

template <typename T, typename = void>
struct IsStream : std::false_type {};
template <typename T>
struct IsStream<T, decltype(void(std::declval<T&>().read()), void(std::declval<T&>().empty()))>
    : std::true_type {};

template <typename T, typename = void>
struct IsBurst : std::false_type {};
template <typename T>
struct IsBurst<T, decltype(void(std::declval<T&>().read_request(0, 1u)))> : std::true_type {};

template <typename T>
struct BurstElement;
template <template <typename> class Burst, typename Element>
struct BurstElement<Burst<Element>> {
  using Type = Element;
};

// The element type of a stream, its depth, and the base class of all its streams. Tandem's streams
// and their derived classes name this class; stream<T, Depth> of the vendor's headers derives from
// stream<T>. None of them adds members.
template <typename Stream, typename = void>
struct IsOwnStream : std::false_type {};
template <typename Stream>
struct IsOwnStream<Stream, decltype(void(std::declval<typename Stream::tandem_stream&>()))>
    : std::true_type {};

// A class that has the functions of a stream, and one of Tandem's streams as its only member.
template <typename Stream, typename = void>
struct WrapsStream : std::false_type {};
template <typename Stream>
using Inner = typename tandem_hls::StreamOf<Plain<decltype(std::declval<Stream&>().read())>>::Type;
template <typename Stream>
struct WrapsStream<Stream,
                   EnableIf<!IsOwnStream<Stream>::value && sizeof(Stream) == sizeof(Inner<Stream>)>>
    : std::true_type {};

enum StreamKind { kOtherStream, kOwnStream, kWrapper };

template <typename Stream>
constexpr StreamKind stream_kind() {
  return IsOwnStream<Stream>::value ? kOwnStream
                                    : (WrapsStream<Stream>::value ? kWrapper : kOtherStream);
}

template <typename Stream, StreamKind kKind = stream_kind<Stream>()>
struct StreamParts {
  static_assert(
      kKind == kOwnStream,
      "a stream that is an argument of a kernel is an hls::stream, derives from it, or has "
      "one as its only member");
  using Base = typename Stream::tandem_stream;
  using Element = typename Base::value_type;
  static constexpr std::uint32_t kDepth = Stream::tandem_depth;
};
template <typename Stream>
struct StreamParts<Stream, kWrapper> {
  using Base = Inner<Stream>;
  using Element = typename Base::value_type;
  static constexpr std::uint32_t kDepth = 0;
};
template <template <typename> class Stream, typename T>
struct StreamParts<Stream<T>, kOtherStream> {
  using Element = T;
  using Base = Stream<T>;
  static constexpr std::uint32_t kDepth = 0;
};
template <template <typename, int> class Stream, typename T, int kTypeDepth>
struct StreamParts<Stream<T, kTypeDepth>, kOtherStream> {
  using Element = T;
  using Base = Stream<T, 0>;
  static constexpr std::uint32_t kDepth = kTypeDepth > 0 ? kTypeDepth : 0;
};

template <typename Stream, typename = void>
struct StreamMaker {
  static void* make(const char* name, std::uint32_t) { return new Stream(std::string(name)); }
  static constexpr void* (*kChannel)(void*) = nullptr;
};
// Tandem's own streams take their depth at run time.
template <typename Stream>
struct StreamMaker<Stream, decltype(void(std::declval<Stream&>().tandem_channel()))> {
  static void* make(const char* name, std::uint32_t depth) {
    Stream* const stream = new Stream(std::string(name));
    if (depth != 0) stream->set_depth(depth);
    return stream;
  }
  static void* channel_of(void* stream) { return &static_cast<Stream*>(stream)->tandem_channel(); }
  static constexpr void* (*kChannel)(void*) = &channel_of;
};

template <typename T>
constexpr std::uint32_t kind_of() {
  return std::is_pointer<T>::value || IsBurst<T>::value ? kGlobal
                                                        : (IsStream<T>::value ? kStream : kScalar);
}

constexpr std::uint32_t whole_words(std::size_t bytes) {
  return static_cast<std::uint32_t>((bytes + 3) / 4 * 4);
}

// Argument<Parameter, elements in registers>: its place in the register map (describe()) and, as an
// object, its value during one call.
template <typename Parameter, std::size_t kElements, typename = void>
class Argument;

// A scalar or structure, by value or by reference.
template <typename Parameter>
class Argument<Parameter, 0, EnableIf<kind_of<Plain<Parameter>>() == kScalar>> {
 public:
  using Type = Plain<Parameter>;
  static ArgumentEntry describe() {
    return {kScalar, sizeof(Type), whole_words(sizeof(Type)), 0, nullptr, 0, nullptr,
            nullptr, nullptr};
  }
  static constexpr std::uint32_t kRegisterBytes = whole_words(sizeof(Type));

  Argument(const Invocation& call, std::size_t, std::uint32_t offset)
      : field_(call.registers + offset) {
    std::memcpy(static_cast<void*>(&value_), field_, sizeof(Type));
  }
  Parameter get() { return static_cast<Parameter>(value_); }
  void finish() {
    if (std::is_lvalue_reference<Parameter>::value &&
        !std::is_const<typename std::remove_reference<Parameter>::type>::value) {
      std::memcpy(field_, static_cast<const void*>(&value_), sizeof(Type));
    }
  }

 private:
  unsigned char* field_;
  Type value_;
};

// A pointer to global memory.
template <typename Parameter>
class Argument<Parameter, 0, EnableIf<std::is_pointer<Plain<Parameter>>::value>> {
 public:
  using Type = Plain<Parameter>;
  static_assert(!IsStream<typename std::remove_pointer<Type>::type>::value,
                "an array of streams is an argument of this kernel: give each stream its own");
  static ArgumentEntry describe() {
    return {kGlobal, 8, 8, 0, nullptr, 0, nullptr, nullptr, nullptr};
  }
  static constexpr std::uint32_t kRegisterBytes = 8;

  Argument(const Invocation& call, std::size_t, std::uint32_t offset) {
    std::uint64_t address;
    std::memcpy(&address, call.registers + offset, sizeof(address));
    value_ = reinterpret_cast<Type>(call.memory + address);
  }
  Parameter get() { return static_cast<Parameter>(value_); }
  void finish() {}

 private:
  Type value_;
};

// A burst class over global memory.
template <typename Parameter>
class Argument<Parameter, 0, EnableIf<IsBurst<Plain<Parameter>>::value>> {
 public:
  using Type = Plain<Parameter>;
  using Element = typename BurstElement<Type>::Type;
  static ArgumentEntry describe() {
    return {kGlobal, 8, 8, 0, nullptr, 0, nullptr, nullptr, nullptr};
  }
  static constexpr std::uint32_t kRegisterBytes = 8;

  Argument(const Invocation& call, std::size_t, std::uint32_t offset)
      : value_(reinterpret_cast<Element*>(call.memory + address_at(call.registers + offset))) {}
  Parameter get() { return static_cast<Parameter>(value_); }
  void finish() {}

 private:
  static std::uint64_t address_at(const unsigned char* field) {
    std::uint64_t address;
    std::memcpy(&address, field, sizeof(address));
    return address;
  }

  Type value_;
};

// A pointer or array in the register map.
template <typename Parameter, std::size_t kElements>
class Argument<Parameter, kElements, EnableIf<(kElements > 0)>> {
 public:
  using Type = Plain<Parameter>;
  static_assert(std::is_pointer<Type>::value,
                "only a pointer or an array has elements in the register map");
  using Element = typename std::remove_cv<typename std::remove_pointer<Type>::type>::type;
  static constexpr std::uint32_t kRegisterBytes = whole_words(sizeof(Element) * kElements);
  static ArgumentEntry describe() {
    return {kScalar, sizeof(Element) * kElements, kRegisterBytes, 0, nullptr, 0, nullptr, nullptr,
            nullptr};
  }

  Argument(const Invocation& call, std::size_t, std::uint32_t offset)
      : field_(call.registers + offset) {
    std::memcpy(storage_, field_, sizeof(storage_));
  }
  Type get() { return reinterpret_cast<Type>(storage_); }
  void finish() {
    if (!std::is_const<typename std::remove_pointer<Type>::type>::value) {
      std::memcpy(field_, storage_, sizeof(storage_));
    }
  }

 private:
  unsigned char* field_;
  // This is a copy, because the register map is aligned to words only.
  alignas(Element) unsigned char storage_[sizeof(Element) * kElements];
};

template <typename Parameter>
class Argument<Parameter, 0, EnableIf<IsStream<Plain<Parameter>>::value>> {
 public:
  using Type = Plain<Parameter>;
  using Parts = StreamParts<Type>;
  using Base = typename Parts::Base;
  static_assert(std::is_lvalue_reference<Parameter>::value,
                "a stream is passed by reference: declare the argument as hls::stream<...>&");
  static_assert(sizeof(Type) == sizeof(Base),
                "the class of a stream that is an argument of a kernel adds no members to "
                "hls::stream: keep them outside of the class");
  static constexpr std::uint32_t kRegisterBytes = 8;
  static ArgumentEntry describe() {
    return {kStream, 0,       8,
            0,       nullptr, sizeof(typename Parts::Element),
            &make,   &drop,   StreamMaker<Base>::kChannel};
  }

  Argument(const Invocation& call, std::size_t index, std::uint32_t)
      : value_(static_cast<Base*>(call.streams[index])) {}
  // The class of the argument adds nothing to the base class, or to its member.
  Parameter get() { return reinterpret_cast<Parameter>(*value_); }
  void finish() {}

 private:
  static void* make(const char* name, std::uint32_t depth) {
    return StreamMaker<Base>::make(name, depth != 0 ? depth : Parts::kDepth);
  }
  static void drop(void* stream) { delete static_cast<Base*>(stream); }

  Base* value_;
};

// Spelling of T as the compiler prints it: "[with T = int*; ...]" or "[T = int*]" cut out of the
// function's own name.
template <typename T>
std::string type_name() {
  const std::string text = __PRETTY_FUNCTION__;
  const std::size_t begin = text.find("T = ") + 4;
  const std::size_t more = text.find(';', begin);
  return text.substr(begin, (more == std::string::npos ? text.rfind(']') : more) - begin);
}

template <typename Signature, std::size_t... kElements>
struct Glue {
  static_assert(sizeof(Signature) == 0, "a kernel is a function that returns void");
};

// kElements: one per argument, and any number of zeros.
template <typename... Args, std::size_t... kElements>
struct Glue<void(Args...), kElements...> {
  static constexpr std::uint32_t kCount = sizeof...(Args);
  static_assert(kCount <= 64, "a kernel has at most 64 arguments");

  // The number at `index`; 0 after the last one.
  static constexpr std::size_t nth(std::size_t) { return 0; }
  template <typename... Rest>
  static constexpr std::size_t nth(std::size_t index, std::size_t first, Rest... rest) {
    return index == 0 ? first : nth(index - 1, rest...);
  }
  static constexpr std::size_t elements_of(std::size_t index) { return nth(index, kElements...); }
  template <std::size_t kIndex>
  using At =
      Argument<typename std::tuple_element<kIndex, std::tuple<Args...>>::type, elements_of(kIndex)>;

  template <std::size_t... kIndex>
  static std::uint32_t offset_of(std::size_t index, Indices<kIndex...>) {
    const std::uint32_t sizes[] = {At<kIndex>::kRegisterBytes..., 0};
    std::uint32_t offset = kFirstArgumentOffset;
    for (std::size_t argument = 0; argument < index; ++argument) offset += sizes[argument] + 4;
    return offset;
  }
  static std::uint32_t offset_of(std::size_t index) {
    return offset_of(index, typename IndicesTo<sizeof...(Args)>::Type{});
  }

  template <std::size_t... kIndex>
  static const ArgumentEntry* arguments(Indices<kIndex...>) {
    static const std::string names[] = {type_name<Plain<Args>>()..., std::string()};
    static ArgumentEntry table[] = {At<kIndex>::describe()..., ArgumentEntry{}};
    for (std::uint32_t index = 0; index < kCount; ++index) {
      table[index].offset = offset_of(index);
      table[index].type = names[index].c_str();
    }
    return table;
  }

  template <void (*kFunction)(Args...), std::size_t... kIndex>
  static void call_all(const Invocation& invocation, Indices<kIndex...>) {
    std::tuple<At<kIndex>...> values(At<kIndex>(invocation, kIndex, offset_of(kIndex))...);
    kFunction(std::get<kIndex>(values).get()...);
    const int finished[] = {(std::get<kIndex>(values).finish(), 0)..., 0};
    (void)finished;
    (void)invocation;
    (void)values;
  }

  template <void (*kFunction)(Args...)>
  static void call(const Invocation& invocation) {
    call_all<kFunction>(invocation, typename IndicesTo<sizeof...(Args)>::Type{});
  }

  template <void (*kFunction)(Args...)>
  static KernelEntry entry(const char* name) {
    return KernelEntry{kEntryVersion,    name,
                       kCount,           arguments(typename IndicesTo<sizeof...(Args)>::Type{}),
                       &call<kFunction>, offset_of(kCount)};
  }
};

// Aliases with names that no kernel's macro has.
using TandemKernelEntry = KernelEntry;
template <typename Signature, Signature* kFunction, std::size_t... kElements>
const KernelEntry* tandem_entry_of(const char* name) {
  static const KernelEntry entry = Glue<Signature, kElements...>::template entry<kFunction>(name);
  return &entry;
}

}  // namespace tandem_glue

// TANDEM_EXPORT_KERNEL(function, elements in registers of each argument...) exports a kernel; used
// once per kernel by the generated translation unit.
#define TANDEM_EXPORT_KERNEL(...) TANDEM_EXPORT_KERNEL_LIST(__VA_ARGS__, 0)
#define TANDEM_EXPORT_KERNEL_LIST(function, ...)                                         \
  extern "C" __attribute__((__visibility__("default")))                                  \
  const tandem_glue::TandemKernelEntry* tandem_kernel_##function() {                     \
    return tandem_glue::tandem_entry_of<decltype(::function), &::function, __VA_ARGS__>( \
        #function);                                                                      \
  }
