# SPDX-License-Identifier: Apache-2.0
# Script mode: cmake -DOUTPUT=<file.cpp> -DSOURCES=<a.cl|b.cl> -P EmbedKernels.cmake
# Writes a C++ file that holds each kernel source as a string literal, so that no file is looked for at run
# time. a.cl becomes tandem::opencl::kASource, declared in kernel_sources.h.
string(REPLACE "|" ";" SOURCES "${SOURCES}")
set(text "// Generated from the .cl files by EmbedKernels.cmake.\n#include \"opencl/kernel_sources.h\"\n\n")
string(APPEND text "namespace tandem::opencl {\n")
foreach(source IN LISTS SOURCES)
  get_filename_component(stem ${source} NAME_WE)
  string(SUBSTRING ${stem} 0 1 first)
  string(SUBSTRING ${stem} 1 -1 rest)
  string(TOUPPER ${first} first)
  file(READ ${source} content)
  string(APPEND text "const char k${first}${rest}Source[] = R\"OPENCL(${content})OPENCL\";\n")
endforeach()
string(APPEND text "}  // namespace tandem::opencl\n")
file(WRITE ${OUTPUT} "${text}")
