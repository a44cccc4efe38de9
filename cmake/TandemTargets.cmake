# SPDX-License-Identifier: Apache-2.0
# One target per folder: helpers that give every library, program and test the same options and include roots.

include(TandemHeaders)

# Files that are installed without a component belong to `serving` (TandemInstall.cmake).
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME serving)

# tandem_skip_unity(source...): a source that Highway compiles once per instruction set stays a translation unit of its own.
# It is optimised in the demo's build too, hence without the headers that the rest shares there.
function(tandem_skip_unity)
  foreach(source ${ARGN})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
    if(EXISTS ${path})
      file(STRINGS ${path} found REGEX "HWY_TARGET_INCLUDE" LIMIT_COUNT 1)
      if(found)
        set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
        if(TANDEM_DEMO_ONLY AND CMAKE_CXX_FLAGS_RELEASE MATCHES "-O0")
          set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
        endif()
      endif()
    endif()
  endforeach()
endfunction()

# tandem_native_vectors(name variable): adds to the list all vectors of x86 but those that the machine which compiles prefers.
# AVX3_DL is what Highway 1.0 asks a processor for.
function(tandem_native_vectors name variable)
  if(NOT DEFINED TANDEM_NATIVE_MACROS)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -dM -E -x c++ /dev/null OUTPUT_VARIABLE macros ERROR_QUIET)
    string(REGEX MATCHALL "__[A-Z0-9]+__" macros "${macros}")
    set(TANDEM_NATIVE_MACROS "${macros}" CACHE INTERNAL "What the compiler defines for this machine")
  endif()
  set(others HWY_AVX3 HWY_AVX2)
  foreach(feature AVX512VNNI AVX512VBMI AVX512VBMI2 AVX512VPOPCNTDQ AVX512BITALG VAES VPCLMULQDQ GFNI)
    if(NOT __${feature}__ IN_LIST TANDEM_NATIVE_MACROS)
      set(others HWY_AVX3_DL HWY_AVX2)
    endif()
  endforeach()
  if(NOT __AVX512BW__ IN_LIST TANDEM_NATIVE_MACROS)
    set(others HWY_AVX3_DL HWY_AVX3)
  elseif(HWY_AVX3 IN_LIST others)
    target_compile_definitions(${name} PRIVATE HWY_WANT_AVX3_DL=)  # empty, as sources of some kernels define it
  endif()
  set(${variable} ${${variable}} ${others} PARENT_SCOPE)
endfunction()

# tandem_vector_targets(name): the instruction sets for which Highway compiles a library. On x86 AVX-512, AVX2 and the scalar
# baseline are enough; TANDEM_NATIVE_VECTORS leaves out those that this machine does not use, and any machine can still run
# the baseline. That is HWY_SCALAR for every compiler: Highway's EMU128, the baseline of clang and of g++ from 12.3 on, cuts f16 instead of
# rounding it. Vectors of SVE have no size, so there can be no arrays of them.
set(TANDEM_LEFT_OUT_OF_AARCH64 HWY_SVE HWY_SVE2 HWY_SVE_256 HWY_SVE2_128)
function(tandem_vector_targets name)
  set(left_out HWY_SSSE3 HWY_SSE4)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    list(APPEND left_out ${TANDEM_LEFT_OUT_OF_AARCH64})
  elseif(TANDEM_NATIVE_VECTORS)
    tandem_native_vectors(${name} left_out)
  endif()
  list(JOIN left_out "|" left_out)
  target_compile_definitions(${name} PRIVATE "HWY_DISABLED_TARGETS=(${left_out})" HWY_BROKEN_EMU128=1)
endfunction()

# tandem_add_library(name SOURCES ... [PUBLIC deps...] [PRIVATE deps...])
# A static library `name`, alias Tandem::<name without "tandem_">. Headers are included relative to host/,
# drivers/ and fpga_hls/ ("common/error.h", "device/attention_unit.h", "attention_decode/abi.h").
function(tandem_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  tandem_skip_unity(${ARG_SOURCES})
  string(REPLACE "tandem_" "" short ${name})
  add_library(Tandem::${short} ALIAS ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${short})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/host>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/drivers>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/fpga_hls>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/tandem>)
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:tandem_options>)
  tandem_share_headers(${name} ${ARG_PUBLIC} ${ARG_PRIVATE})
  set_property(GLOBAL APPEND PROPERTY TANDEM_LIBRARIES ${name})
endfunction()

# Each builds the programs of some tests, and nothing else. The quick unit tests are those that neither interpret GPU kernels
# nor are slow. tests/README.md shows which sanitizer runs which.
add_custom_target(tandem_unit_tests)
add_custom_target(tandem_quick_tests)
add_custom_target(tandem_concurrent_tests)

# tandem_unit_program(name [label...]): builds `name` for the unit tests, and for the quick ones unless a label tells that it
# interprets GPU kernels or is slow.
function(tandem_unit_program name)
  add_dependencies(tandem_unit_tests ${name})
  if(NOT "${ARGN}" MATCHES "interpreted|slow")
    add_dependencies(tandem_quick_tests ${name})
  endif()
endfunction()

# tandem_excuse_libraries(program): in a sanitized build, the sanitizer's list of what libraries of others do.
function(tandem_excuse_libraries name)
  if(TANDEM_SANITIZE MATCHES "address")
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/leaks_of_libraries.cpp)
  elseif(TANDEM_SANITIZE MATCHES "thread")
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/races_of_libraries.cpp)
  endif()
endfunction()

# Of tests that are built without the others.
set(TANDEM_TEST_LEVELS 1)
set(TANDEM_TEST_LEVEL 1)
# tandem_test_level(target level): how a build that has levels optimises the target.
function(tandem_test_level name level)
  if(CMAKE_BUILD_TYPE STREQUAL Release OR TANDEM_SANITIZE)
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O${level}>)
  endif()
endfunction()

# tandem_compile_test(target): with the folder's TANDEM_TEST_LEVEL (tests/CMakeLists.txt); and a fast build parses GoogleTest
# and the standard headers once for all tests of a level. Precompiled headers are valid for one set of code options, hence
# the PIC. CMake shares none with a target that has a source in C.
function(tandem_compile_test name)
  tandem_test_level(${name} ${TANDEM_TEST_LEVEL})
  get_target_property(sources ${name} SOURCES)
  if(TANDEM_UNITY AND NOT "${sources}" MATCHES "\\.c(;|$)")
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fPIC>)
    target_precompile_headers(${name} REUSE_FROM tandem_test_headers_${TANDEM_TEST_LEVEL})
  endif()
endfunction()

# tandem_compile_together(target sources): a fast build compiles up to so many of its sources as one, that of the demo twice
# as many.
function(tandem_compile_together name sources)
  if(TANDEM_DEMO_ONLY)
    math(EXPR sources "2 * ${sources}")
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${TANDEM_UNITY} UNITY_BUILD_BATCH_SIZE ${sources})
endfunction()

# tandem_add_test(name SOURCES ... [DEPS ...] [LABELS ...] [CONCURRENT] [SLOW] [ENVIRONMENT VAR=value ...])
# A GoogleTest program; every case becomes a ctest case. Label `unit` unless others are given. CONCURRENT: threads or
# processes share memory in what it tests, so the thread sanitizer runs it; label `concurrent`. SLOW: its cases run compilers
# or sweeps for more than 20 s of a processor, so scripts/test.sh --quick leaves them out; label `slow`.
function(tandem_add_test name)
  cmake_parse_arguments(ARG "CONCURRENT;SLOW" "" "SOURCES;DEPS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(ARG_CONCURRENT)
    list(APPEND ARG_LABELS concurrent)
    add_dependencies(tandem_concurrent_tests ${name})
  endif()
  if(ARG_SLOW)
    list(APPEND ARG_LABELS slow)
  endif()
  set(most_seconds 1200)  # only against hanging: other work on the machine makes a case thirty times slower
  if(TANDEM_SANITIZE)
    set(most_seconds 4800)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/host
                             ${PROJECT_SOURCE_DIR}/drivers ${PROJECT_SOURCE_DIR}/fpga_hls)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock_main tandem_test_tree tandem_options)
  tandem_excuse_libraries(${name})
  tandem_compile_test(${name})
  tandem_compile_together(${name} 10)
  if("unit" IN_LIST ARG_LABELS)
    tandem_unit_program(${name} ${ARG_LABELS})
  endif()
  # Without the values of parameters: their bytes change from run to run, and ctest forgets the time of a name with blanks.
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 600 PROPERTIES TIMEOUT ${most_seconds} ENVIRONMENT "${ARG_ENVIRONMENT}")
  # PROPERTIES takes no lists, so ctest sets the labels when it has read the cases.
  file(CONFIGURE OUTPUT ${name}_labels.cmake @ONLY CONTENT [=[
foreach(case IN LISTS @name@_TESTS)
  set_tests_properties("${case}" PROPERTIES LABELS "@ARG_LABELS@")
endforeach()
]=])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake)
endfunction()
