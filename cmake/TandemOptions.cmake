# SPDX-License-Identifier: Apache-2.0
# Compiler options common to every target: C++20, warnings, sanitizers, ccache, a fast linker.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET default)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(TANDEM_CCACHE ccache)
if(TANDEM_CCACHE)
  # Without this ccache keeps nothing that uses a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${TANDEM_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${TANDEM_CCACHE})
endif()

add_library(tandem_options INTERFACE)
target_compile_options(tandem_options INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # In "text" + std::string version 12 sees overlapping copies, copies of negative length, and the long form of a string
  # in the short one's place (its bug 105651); where, depends on what it inlines. Later versions look for all three.
  target_compile_options(tandem_options INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow>")
endif()
if(TANDEM_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Anonymous namespaces of a source look like those of a header when several sources are one translation unit.
  # Half a GiB before the compiler collects garbage for the first time: few units of this tree need as much.
  target_compile_options(tandem_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage> $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
endif()
if(TANDEM_WERROR)
  target_compile_options(tandem_options INTERFACE -Werror)
endif()
if(TANDEM_SANITIZE)
  target_compile_options(tandem_options INTERFACE -fsanitize=${TANDEM_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_link_options(tandem_options INTERFACE -fsanitize=${TANDEM_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # The sources ask for g++'s macros, which clang 14 does not define.
    if(TANDEM_SANITIZE MATCHES "address")
      target_compile_definitions(tandem_options INTERFACE __SANITIZE_ADDRESS__=1)
    elseif(TANDEM_SANITIZE MATCHES "thread")
      target_compile_definitions(tandem_options INTERFACE __SANITIZE_THREAD__=1)
    endif()
    # clang links its runtime into programs only; a shared library finds it in the program that loads it.
    target_link_options(tandem_options INTERFACE
      $<$<NOT:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>>:LINKER:-z,undefs>)
  endif()
endif()
