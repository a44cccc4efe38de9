// SPDX-License-Identifier: Apache-2.0
//
// Verilator's runtime for a kernel on an emulated card: what $finish, $stop and $fatal do there.
// Included once per kernel.
//
// Verilator's own functions end the process, which is the card's. $finish has no effect, as in
// synthesis. $stop, $fatal and $error (Verilator does not tell the last two apart) end the kernel's
// run by tandem_rtl_stopped(), which does not return inside a card. TANDEM_RTL_KERNEL is the
// kernel's name; TANDEM_RTL_SOURCES are the packaged paths, in the order of their marks.
#pragma once

#define VL_USER_FINISH
#define VL_USER_STOP
#define VL_USER_FATAL
#define VL_PRINTF tandem_rtl_print
int tandem_rtl_print(const char* format, ...);

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "pins.h"
#include "verilated.cpp"
#include "verilated_threads.cpp"

namespace tandem_rtl {

// Paths in place of the marks "tandem-source-N" that name sources for Verilator.
inline std::string with_paths(std::string text) {
  static const char* const sources[] = {TANDEM_RTL_SOURCES};
  const std::string mark = "tandem-source-";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    char* end = nullptr;
    const std::size_t source = std::strtoul(text.c_str() + at + mark.size(), &end, 10);
    if (source >= sizeof(sources) / sizeof(sources[0])) break;
    text.replace(at, static_cast<std::size_t>(end - text.c_str()) - at, sources[source]);
    at += std::strlen(sources[source]);
  }
  return text;
}

// What the kernel printed last: a stop with a text prints it first.
inline std::string& last_print() {
  static thread_local std::string text;
  return text;
}

// What a stop at this place printed; empty: nothing.
inline std::string printed_at(const std::string& file, int line) {
  const std::string place = "%Error: " + file + ":" + std::to_string(line) + ": ";
  const std::size_t at = last_print().find(place);
  if (at == std::string::npos) return "";
  std::string text = last_print().substr(at + place.size());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  last_print().clear();
  return text;
}

inline void stop(const char* filename, int line, const std::string& why) {
  const std::string file = with_paths(filename != nullptr ? filename : "");
  const std::string what = why + ": " TANDEM_RTL_KERNEL " begins its next run with a reset";
  if (tandem_rtl_stopped) tandem_rtl_stopped(file.c_str(), line, what.c_str());
  std::fprintf(stderr, "kernel " TANDEM_RTL_KERNEL ": %s [%s:%d]\n", what.c_str(), file.c_str(),
               line);
  std::abort();
}

}  // namespace tandem_rtl

int tandem_rtl_print(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const std::string text = _vl_string_vprintf(format, arguments);
  va_end(arguments);
  tandem_rtl::last_print() = tandem_rtl::with_paths(text);
  return std::fputs(tandem_rtl::last_print().c_str(), stdout);
}

void vl_finish(const char*, int line, const char*) {
  VerilatedContext* const context = Verilated::threadContextp();
  if (context->gotFinish()) return;
  context->gotFinish(true);
  std::fprintf(stderr, "kernel " TANDEM_RTL_KERNEL ": $finish in line %d has no effect\n", line);
}

void vl_stop(const char* file, int line, const char*) {
  const std::string text = tandem_rtl::printed_at(tandem_rtl::with_paths(file), line);
  tandem_rtl::stop(file, line,
                   text.empty() ? "$stop ends the run" : "$fatal or $error ends the run: " + text);
}

// Called for what Verilator itself finds, such as a loop of signals that does not come to rest.
void vl_fatal(const char* file, int line, const char*, const char* message) {
  tandem_rtl::stop(file, line, std::string("the simulation cannot go on: ") + message);
}
