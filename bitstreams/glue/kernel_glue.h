// SPDX-License-Identifier: Apache-2.0
//
// Turns a kernel function into a KernelEntry by templates over the function's own type.
//
// Pointers and burst classes (those with read_request(), built from a pointer) are global memory,
// classes with read() and empty() are streams, all else are scalars. Included only by the generated
// translation unit, after the kernel's source. C++14-clean.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "cpu_features.h"
#include "kernel_entry.h"

namespace tandem_glue {

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

template <typename T>
struct Decay {
  using Type = std::remove_cv_t<std::remove_reference_t<T>>;
  static constexpr bool kPointer = std::is_pointer<Type>::value;
  static constexpr bool kBurst = IsBurst<Type>::value;
  static constexpr std::uint32_t kKind =
      (kPointer || kBurst) ? kGlobal : (IsStream<Type>::value ? kStream : kScalar);
  static constexpr std::uint32_t kHostBytes =
      kKind == kGlobal ? 8 : (kKind == kStream ? 0 : static_cast<std::uint32_t>(sizeof(Type)));
  static constexpr std::uint32_t kRegisterBytes = kKind == kStream ? 8 : (kHostBytes + 3) / 4 * 4;
};

template <std::uint32_t kKind>
struct Fetch;

template <>
struct Fetch<kScalar> {
  template <typename T>
  static T get(const unsigned char* field, unsigned char*) {
    T value;
    std::memcpy(static_cast<void*>(&value), field, sizeof(T));
    return value;
  }
};

template <>
struct Fetch<kGlobal> {
  template <typename T>
  static std::enable_if_t<std::is_pointer<T>::value, T> get(const unsigned char* field,
                                                            unsigned char* memory) {
    std::uint64_t address;
    std::memcpy(&address, field, sizeof(address));
    return reinterpret_cast<T>(memory + address);
  }
  template <typename T>
  static std::enable_if_t<!std::is_pointer<T>::value, T> get(const unsigned char* field,
                                                             unsigned char* memory) {
    std::uint64_t address;
    std::memcpy(&address, field, sizeof(address));
    return T(reinterpret_cast<typename BurstElement<T>::Type*>(memory + address));
  }
};

// Spelling of T as the compiler prints it: "[with T = int*]" cut out of the function's own name.
template <typename T>
std::string type_name() {
  const std::string text = __PRETTY_FUNCTION__;
  const std::size_t begin = text.find("T = ") + 4;
  return text.substr(begin, text.find_first_of(";]", begin) - begin);
}

template <typename Signature>
struct Glue;

template <typename... Args>
struct Glue<void(Args...)> {
  static constexpr std::uint32_t kCount = sizeof...(Args);

  static constexpr std::uint32_t offset_of(std::size_t index) {
    const std::uint32_t sizes[] = {Decay<Args>::kRegisterBytes..., 0};
    std::uint32_t offset = kFirstArgumentOffset;
    for (std::size_t argument = 0; argument < index; ++argument) offset += sizes[argument] + 4;
    return offset;
  }

  static const ArgumentEntry* arguments() {
    static const std::string names[] = {type_name<typename Decay<Args>::Type>()..., std::string()};
    static ArgumentEntry table[] = {ArgumentEntry{Decay<Args>::kKind, Decay<Args>::kHostBytes,
                                                  Decay<Args>::kRegisterBytes, 0, nullptr}...,
                                    ArgumentEntry{}};
    for (std::uint32_t index = 0; index < kCount; ++index) {
      table[index].offset = offset_of(index);
      table[index].type = names[index].c_str();
    }
    return table;
  }

  template <void (*kFunction)(Args...), std::size_t... kIndex>
  static void call_all(const unsigned char* registers, unsigned char* memory,
                       std::index_sequence<kIndex...>) {
    (void)registers;
    (void)memory;
    kFunction(Fetch<Decay<Args>::kKind>::template get<typename Decay<Args>::Type>(
        registers + offset_of(kIndex), memory)...);
  }

  template <void (*kFunction)(Args...)>
  static void call(const unsigned char* registers, unsigned char* memory) {
    static_assert(kCount == 0 || !contains_stream(),
                  "a kernel argument is a stream: links between kernels are not emulated");
    call_all<kFunction>(registers, memory, std::index_sequence_for<Args...>{});
  }

  static constexpr bool contains_stream() {
    const bool streams[] = {(Decay<Args>::kKind == kStream)..., false};
    for (bool stream : streams) {
      if (stream) return true;
    }
    return false;
  }

  template <void (*kFunction)(Args...)>
  static KernelEntry entry(const char* name) {
    return KernelEntry{kEntryVersion,    name, kCount, arguments(), &call<kFunction>,
                       offset_of(kCount)};
  }
};

}  // namespace tandem_glue

// Exports the kernel `function`; used once per kernel by the generated translation unit.
#define TANDEM_EXPORT_KERNEL(function)                                               \
  extern "C" __attribute__((visibility("default")))                                  \
  const tandem_glue::KernelEntry* tandem_kernel_##function() {                       \
    static const tandem_glue::KernelEntry entry =                                    \
        tandem_glue::Glue<decltype(function)>::template entry<&function>(#function); \
    return &entry;                                                                   \
  }
