// SPDX-License-Identifier: Apache-2.0
//
// The functions are inlined always, so their arguments have names of their own.
#include "bitstreams/compiler/opencl_c/access_functions.h"

#include <cstdint>
#include <cstdlib>

#include "bitstreams/compiler/opencl_c/ir_lines.h"

namespace tandem::opencl_c {
namespace {

constexpr std::uint64_t kShadowBegin = 0x7fff8000;  // kShadowOffset of the card's local_memory.h
constexpr const char* kExpected = ", !prof !{!\"branch_weights\", i32 2000, i32 1}\n";

std::string size_of(const std::string& type, bool opaque) {
  const std::string pointer = pointer_to(type, opaque);
  return "ptrtoint (" + pointer + " getelementptr (" + type + ", " + pointer +
         " null, i32 1) to i64)";
}

// `%p` as a pointer to bytes, in a function of its own.
std::string as_bytes(const std::string& type, std::string& name, bool opaque) {
  if (opaque || type == "i8") return "";
  name = "%b";
  return "  %b = bitcast " + type + "* %p to i8*\n";
}

// "i32" of "i32" and "<4 x i32>".
std::string lane_of(const std::string& type) {
  const size_t by = type.find(" x ");
  return by == std::string::npos ? type : type.substr(by + 3, type.size() - by - 4);
}

// Whether a number or a vector of numbers is not 0.
std::string test_of(const std::string& type, const std::string& value, const std::string& result) {
  if (type.starts_with('i')) return "  " + result + " = icmp ne " + type + " " + value + ", 0\n";
  const size_t by = type.find(" x i");
  const unsigned long lanes = std::strtoul(type.c_str() + 1, nullptr, 10);
  const unsigned long bits = std::strtoul(type.c_str() + by + 4, nullptr, 10);
  const std::string whole = "i" + std::to_string(lanes * bits);
  return "  " + result + ".bits = bitcast " + type + " " + value + " to " + whole + "\n  " +
         result + " = icmp ne " + whole + " " + result + ".bits, 0\n";
}

// 0: not known.
unsigned bytes_of(const std::string& type) {
  if (type == "ptr" || type.ends_with('*')) return 8;
  const std::string lane = lane_of(type);
  if (lane != type && type.starts_with('<')) {
    return static_cast<unsigned>(std::atoi(type.c_str() + 1)) * bytes_of(lane);
  }
  if (type.starts_with('i')) return static_cast<unsigned>(std::atoi(type.c_str() + 1)) / 8;
  return type == "half" ? 2 : type == "float" ? 4 : type == "double" ? 8 : 0;
}

// The block that calls the card, and the end of the function.
std::string told(const std::string& type, const std::string& kind, const std::string& name,
                 bool opaque) {
  const unsigned size = bytes_of(type);
  const bool has_own = size != 0 && size <= 16 && (size & (size - 1)) == 0;
  const std::string count = size == 0 ? size_of(type, opaque) : std::to_string(size);
  return "told:\n  call void @tandem_check_" + kind + (has_own ? std::to_string(size) : "_bytes") +
         "(" + pointer_to("i8", opaque) + " " + name + (has_own ? "" : ", i64 " + count) +
         ")\n  br label %done\ndone:\n  ret void\n}\n";
}

// "0x7f7f" as a decimal number.
std::string low_bits_of_bytes(unsigned count) {
  std::uint64_t mask = 0;
  for (unsigned byte = 0; byte < count; ++byte) mask = mask << 8 | 0x7f;
  return std::to_string(mask);
}

}  // namespace

// Good values leave states alone that are good, so the states of a card's memory take no pages.
std::string state_function(const std::string& type, size_t number, bool opaque) {
  std::string name = "%p";
  const std::string convert = as_bytes(type, name, opaque);
  const std::string pointer = pointer_to(type, opaque), bytes = pointer_to("i8", opaque);
  const std::string tail = std::string(", align 1") + kUnchecked + "\n";
  const std::string zero = lane_of(type) == type ? "0" : "zeroinitializer";
  std::string out = "define internal void @tandem_cl_state_" + std::to_string(number) + "(" + type +
                    " %s, " + pointer + " %p) alwaysinline nounwind {\n" + convert;
  out += test_of(type, "%s", "%missing") + "  br i1 %missing, label %told, label %good\ntold:\n";
  out += "  store " + type + " %s, " + pointer + " %p" + tail;
  out += "  call void @tandem_check_value_stored(" + bytes + " " + name + ", i64 " +
         size_of(type, opaque) + ", i64 " + size_of(lane_of(type), opaque) +
         ")\n  ret void\ngood:\n";
  out += "  %old = load " + type + ", " + pointer + " %p" + tail + test_of(type, "%old", "%dirty");
  out += "  br i1 %dirty, label %clear, label %done\nclear:\n  store " + type + " " + zero + ", " +
         pointer + " %p" + tail + "  br label %done\ndone:\n  ret void\n}\n";
  return out;
}

std::string atomic_function(const std::string& type, size_t number, bool opaque) {
  std::string name = "%p";
  const std::string convert = as_bytes(type, name, opaque);
  return "define internal void @tandem_cl_atomic_" + std::to_string(number) + "(" +
         pointer_to(type, opaque) + " %p) alwaysinline nounwind {\n" + convert +
         "  call void @tandem_check_atomic(" + pointer_to("i8", opaque) + " " + name + ", i64 " +
         size_of(type, opaque) + ")\n  ret void\n}\n";
}

std::string touch_function(const std::string& type, bool writes, size_t number, bool opaque) {
  std::string name = "%p";
  const std::string convert = as_bytes(type, name, opaque);
  const std::string pointer = pointer_to(type, opaque), bytes = pointer_to("i8", opaque);
  return "define internal void @tandem_cl_touch_" + std::to_string(number) + "(" + pointer +
         " %p) alwaysinline nounwind {\n" + convert + "  %shares = load i32, " +
         pointer_to("i32", opaque) + " @tandem_cl_shares, align 4, !invariant.load !{}" +
         kUnchecked +
         "\n  %some = icmp ne i32 %shares, 0\n  br i1 %some, label %told, label %done\ntold:\n" +
         "  call void @tandem_check_touch(" + bytes + " " + name + ", i64 " +
         size_of(type, opaque) + ", i32 " + (writes ? "1" : "0") +
         ")\n  br label %done\ndone:\n  ret void\n}\n";
}

// Shadow bytes are those of inline_checks.h of v++, without those that only g++'s copies use: a
// load needs no look at 0 and -128, a store at 0.
std::string check_function(const std::string& type, bool writes, size_t number, bool opaque) {
  std::string name = "%p";
  const std::string convert = as_bytes(type, name, opaque);
  const std::string pointer = pointer_to(type, opaque), bytes = pointer_to("i8", opaque);
  const unsigned size = bytes_of(type);
  std::string out = "define internal void @tandem_cl_check_" + std::to_string(number) + "(" +
                    pointer + " %p) alwaysinline nounwind {\n" + convert;
  const char* const kind = writes ? "store" : "load";
  const bool is_usual = size != 0 && size <= 64 && (size & (size - 1)) == 0;
  if (!is_usual) {
    const std::string count = size == 0 ? size_of(type, opaque) : std::to_string(size);
    return out + "  call void @tandem_check_" + kind + "_bytes(" + bytes + " " + name + ", i64 " +
           count + ")\n  ret void\n}\n";
  }
  const unsigned shadow_bits = size <= 8 ? 8 : size;
  const std::string shadow = "i" + std::to_string(shadow_bits);
  out += "  %a = ptrtoint " + pointer + " %p to i64\n  %s = lshr i64 %a, 3\n  %q = add i64 %s, " +
         std::to_string(kShadowBegin) + "\n  %g = inttoptr i64 %q to " +
         pointer_to(shadow, opaque) + "\n  %h = load " + shadow + ", " +
         pointer_to(shadow, opaque) + " %g, align 1" + kUnchecked + "\n";
  std::string tested = "%h";
  if (!writes) {
    out += "  %t = and " + shadow + " %h, " + low_bits_of_bytes(shadow_bits / 8) + "\n";
    tested = "%t";
  }
  out += "  %good = icmp eq " + shadow + " " + tested + ", 0\n  br i1 %good, label %done, label " +
         (size < 8 ? "%part" : "%told") + kExpected;
  if (size < 8) {
    out += "part:\n  %i = trunc i64 %a to i8\n  %f = and i8 %i, 7\n  %l = add i8 %f, " +
           std::to_string(size - 1) +
           "\n  %in = icmp slt i8 %l, %h\n  br i1 %in, label %done, label %told" + kExpected;
  }
  return out + told(type, kind, name, opaque);
}

// The card is called for what is outside of the object, and finds out what is there.
std::string within_function(const ObjectAccess& access, size_t number, bool opaque) {
  std::string name = "%p";
  const std::string convert = as_bytes(access.type, name, opaque);
  const std::string pointer = pointer_to(access.type, opaque);
  const std::string object = pointer_to(access.object, opaque);
  return "define internal void @tandem_cl_within_" + std::to_string(number) + "(" + pointer +
         " %p, " + object + " %r) alwaysinline nounwind {\n" + convert + "  %a = ptrtoint " +
         pointer + " %p to i64\n  %o = ptrtoint " + object +
         " %r to i64\n  %d = sub i64 %a, %o\n  %e = add i64 %d, " + size_of(access.type, opaque) +
         "\n  %low = icmp ule i64 %d, " + size_of(access.object, opaque) +
         "\n  %high = icmp ule i64 %e, " + size_of(access.object, opaque) +
         "\n  %in = and i1 %low, %high\n  br i1 %in, label %done, label %told" + kExpected +
         told(access.type, access.writes ? "store" : "load", name, opaque);
}

std::string known_function(bool opaque) {
  const std::string pointer = pointer_to("i64", opaque);
  const std::string states = global_as("@__msan_param_tls", "[100 x i64]", "i64", opaque);
  return "define internal i32 @tandem_cl_known(i64 %x) alwaysinline nounwind {\n  %s = load i64, " +
         pointer + " " + states + ", align 8" + kUnchecked +
         "\n  %known = icmp eq i64 %s, 0\n  %r = zext i1 %known to i32\n  ret i32 %r\n}";
}

std::string check_declarations(bool opaque) {
  const std::string bytes = pointer_to("i8", opaque);
  std::string out;
  for (const char* kind : {"load", "store"}) {
    for (const int size : {1, 2, 4, 8, 16}) {
      out += std::string("declare void @tandem_check_") + kind + std::to_string(size) + "(" +
             bytes + ")\n";
    }
    out += std::string("declare void @tandem_check_") + kind + "_bytes(" + bytes + ", i64)\n";
  }
  return out;
}

}  // namespace tandem::opencl_c
