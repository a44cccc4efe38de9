# SPDX-License-Identifier: Apache-2.0
# Applications of the corpus: host program, kernels and configuration, built and run as a user would.
#
# tandem_add_fpga_xclbin(name KERNELS kernel=source... [CONFIG link.cfg] [PLATFORM u55c] [TARGET sw_emu] [FLAGS ...] [DEPENDS ...] [CHECKED])
# Builds ${TANDEM_FPGA_DIR}/<name>.xclbin through v++ -c and -l; target fpga_xclbin_<name>, not part of `all`. CHECKED: with the
# checked copies of its kernels, which the others have with the option TANDEM_CHECKED_KERNELS only.
#
# tandem_add_fpga_application(NAME n KIND native|opencl SOURCES host.cpp... KERNELS kernel=source...
#   [CONFIG link.cfg] [PLATFORM u55c] [MODES sw_emu hw_emu unset] [CARDS n] [BROKEN_FLAG -D...] [TIMEOUT s]
#   [FLAGS kernel flags...] [DEPENDS headers...] [XCLBINS names...] [ARGUMENTS ...] [ENVIRONMENT VAR=value...] [LIBRARIES ...]
#   [EXPECT_TEXT pattern] [CHECKED])
# Adds the target fpga_<n> and the tests
#   fpga.<n>.<mode>   the program prints TEST PASSED and exits with 0, once per mode (default: sw_emu)
#   fpga.<n>.broken   with kernels compiled with BROKEN_FLAG (default -DTANDEM_BROKEN) it fails, in the first mode: CHECK_EQ
#                     names a wrong value, or the output matches EXPECT_TEXT (a Python pattern) where that is not the failure meant
# The program gets the xclbin, then those of XCLBINS (made by tandem_add_fpga_xclbin), then ARGUMENTS. run_application.py is the
# judge; it also demands that no process is left behind. Relative paths: of the calling folder.

include(TandemXclbin)  # TANDEM_CHECKED_KERNELS
set(TANDEM_FPGA_DIR ${PROJECT_BINARY_DIR}/fpga)
set(TANDEM_FPGA_SUPPORT_DIR ${CMAKE_CURRENT_LIST_DIR}/support)
set(TANDEM_FPGA_RUNNER ${CMAKE_CURRENT_LIST_DIR}/run_application.py)
file(GLOB TANDEM_FPGA_KERNEL_HEADERS LIST_DIRECTORIES false CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/fpga_hls/include/* ${PROJECT_SOURCE_DIR}/fpga_hls/include/*/*.h
  ${PROJECT_SOURCE_DIR}/fpga_hls/runtime/*.h ${PROJECT_SOURCE_DIR}/bitstreams/compiler/glue/*
  ${PROJECT_SOURCE_DIR}/bitstreams/compiler/glue/opencl_c/*)
find_package(OpenCL QUIET)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_custom_target(fpga_applications)
add_library(tandem_fpga_application STATIC ${CMAKE_CURRENT_LIST_DIR}/support/application.cpp)

# One kernel: v++ -c into `object`.
function(tandem_compile_fpga_kernel object kernel source target platform)
  cmake_parse_arguments(PARSE_ARGV 5 ARG "CHECKED" "" "FLAGS;DEPENDS")
  set(checks off)
  if(ARG_CHECKED OR TANDEM_CHECKED_KERNELS)
    set(checks on)
  endif()
  get_filename_component(folder ${object} DIRECTORY)
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_COMMAND} -E env TANDEM_KERNEL_CHECKS=${checks} TANDEM_KERNEL_TIME=${checks}
            ${TANDEM_XRT_TREE}/bin/v++ -c -t ${target} --platform ${platform} -k ${kernel} ${ARG_FLAGS} --temp_dir ${folder}/temp
            -o ${object} ${source}
    DEPENDS ${source} ${ARG_DEPENDS} ${TANDEM_FPGA_KERNEL_HEADERS} ${TANDEM_VPP}
    WORKING_DIRECTORY ${folder} COMMENT "Compiling kernel ${kernel}" VERBATIM)
endfunction()

function(tandem_add_fpga_xclbin name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "CHECKED" "CONFIG;PLATFORM;TARGET" "KERNELS;FLAGS;DEPENDS")
  set(checked)
  if(ARG_CHECKED)
    set(checked CHECKED)
  endif()
  if(NOT ARG_PLATFORM)
    set(ARG_PLATFORM u55c)
  endif()
  if(NOT ARG_TARGET)
    set(ARG_TARGET sw_emu)
  endif()
  set(folder ${TANDEM_FPGA_DIR}/objects/${name})
  file(MAKE_DIRECTORY ${folder})
  set(objects)
  foreach(entry IN LISTS ARG_KERNELS)
    string(REGEX MATCH "^([^=]+)=(.+)$" matched ${entry})
    set(kernel ${CMAKE_MATCH_1})
    get_filename_component(source ${CMAKE_MATCH_2} ABSOLUTE)
    list(APPEND objects ${folder}/${kernel}.xo)
    tandem_compile_fpga_kernel(${folder}/${kernel}.xo ${kernel} ${source} ${ARG_TARGET} ${ARG_PLATFORM}
      ${checked} FLAGS ${ARG_FLAGS} DEPENDS ${ARG_DEPENDS})
  endforeach()
  set(config)
  if(ARG_CONFIG)
    get_filename_component(ARG_CONFIG ${ARG_CONFIG} ABSOLUTE)
    set(config --config ${ARG_CONFIG})
  endif()
  set(xclbin ${TANDEM_FPGA_DIR}/${name}.xclbin)
  add_custom_command(OUTPUT ${xclbin}
    COMMAND ${TANDEM_XRT_TREE}/bin/v++ -l -t ${ARG_TARGET} --platform ${ARG_PLATFORM} ${config} --temp_dir ${folder}/temp
            -o ${xclbin} ${objects}
    DEPENDS ${objects} ${ARG_CONFIG} ${TANDEM_VPP}
    WORKING_DIRECTORY ${folder} COMMENT "Linking ${name}.xclbin" VERBATIM)
  add_custom_target(fpga_xclbin_${name} DEPENDS ${xclbin})
endfunction()

# What XRT's headers and OpenCL's ask of a target. Host programs are compiled once and run for seconds: no optimisation.
function(tandem_compile_fpga_host target kind)
  target_include_directories(${target} PRIVATE ${TANDEM_FPGA_SUPPORT_DIR} ${PROJECT_SOURCE_DIR})
  target_include_directories(${target} SYSTEM PRIVATE ${XRT_INCLUDE_DIR})
  target_compile_options(${target} PRIVATE -O0 -fPIC -Wno-deprecated-declarations)
  target_link_libraries(${target} PRIVATE tandem_fpga_application tandem_options Threads::Threads)
  if(kind STREQUAL native)
    target_link_libraries(${target} PRIVATE XRT::coreutil uuid)
  elseif(kind STREQUAL opencl)
    target_compile_definitions(${target} PRIVATE CL_HPP_TARGET_OPENCL_VERSION=120 CL_HPP_MINIMUM_OPENCL_VERSION=120
      CL_HPP_ENABLE_PROGRAM_CONSTRUCTION_FROM_ARRAY_COMPATIBILITY=1 CL_TARGET_OPENCL_VERSION=120)
    target_link_libraries(${target} PRIVATE OpenCL::OpenCL)
  else()
    message(FATAL_ERROR "KIND of an FPGA application is native or opencl, not '${kind}'")
  endif()
endfunction()

# A fast build parses these headers once for all programs of a kind. Those of OpenCL heed what a program defines.
set(fpga_host_kinds native)
if(TARGET OpenCL::OpenCL)
  list(APPEND fpga_host_kinds opencl)
endif()
if(TANDEM_UNITY)
  set(native_headers <xrt/xrt_bo.h> <xrt/xrt_device.h> <xrt/xrt_kernel.h>)
  set(opencl_headers <fstream> <functional> <memory> <stdexcept> <string> <thread> <vector>)
  file(CONFIGURE OUTPUT headers.cpp CONTENT "")
  foreach(kind ${fpga_host_kinds})
    add_library(tandem_fpga_headers_${kind} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/headers.cpp)
    tandem_compile_fpga_host(tandem_fpga_headers_${kind} ${kind})
    target_precompile_headers(tandem_fpga_headers_${kind} PRIVATE ${${kind}_headers})
  endforeach()
endif()

function(tandem_add_fpga_host target kind)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "" "SOURCES;LIBRARIES")
  add_executable(${target} ${ARG_SOURCES})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${TANDEM_FPGA_DIR})
  target_link_libraries(${target} PRIVATE ${ARG_LIBRARIES})
  tandem_compile_fpga_host(${target} ${kind})
  if(TANDEM_UNITY)
    target_precompile_headers(${target} REUSE_FROM tandem_fpga_headers_${kind})
  endif()
endfunction()

function(tandem_add_fpga_test test expected mode xclbin)
  cmake_parse_arguments(PARSE_ARGV 4 ARG "" "CARDS;TIMEOUT;EXPECT_TEXT" "COMMAND;ENVIRONMENT")
  list(POP_FRONT ARG_COMMAND program)
  set(settings)
  foreach(variable IN LISTS ARG_ENVIRONMENT)
    list(APPEND settings --set ${variable})
  endforeach()
  if(ARG_EXPECT_TEXT)
    list(APPEND settings --expect-text ${ARG_EXPECT_TEXT})
  endif()
  add_test(NAME ${test}
    COMMAND ${Python3_EXECUTABLE} ${TANDEM_FPGA_RUNNER} --expect ${expected} --mode ${mode} --cards ${ARG_CARDS}
            --timeout ${ARG_TIMEOUT} --tree ${TANDEM_XRT_TREE} ${settings} -- ${program} ${xclbin} ${ARG_COMMAND})
  math(EXPR limit "${ARG_TIMEOUT} + 30")
  set_tests_properties(${test} PROPERTIES LABELS fpga TIMEOUT ${limit})
endfunction()

function(tandem_add_fpga_application)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "CHECKED" "NAME;KIND;CONFIG;PLATFORM;CARDS;TIMEOUT;EXPECT_TEXT"
    "SOURCES;KERNELS;MODES;BROKEN_FLAG;FLAGS;DEPENDS;XCLBINS;ARGUMENTS;ENVIRONMENT;LIBRARIES")
  foreach(default "CARDS:1" "TIMEOUT:1200" "MODES:sw_emu" "BROKEN_FLAG:-DTANDEM_BROKEN" "PLATFORM:u55c")
    string(REGEX MATCH "^(.*):(.*)$" matched ${default})
    if(NOT ARG_${CMAKE_MATCH_1})
      set(ARG_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
    endif()
  endforeach()
  tandem_add_fpga_host(fpga_${ARG_NAME} ${ARG_KIND} SOURCES ${ARG_SOURCES} LIBRARIES ${ARG_LIBRARIES})
  set(common KERNELS ${ARG_KERNELS} CONFIG ${ARG_CONFIG} PLATFORM ${ARG_PLATFORM} DEPENDS ${ARG_DEPENDS})
  if(ARG_CHECKED)
    list(APPEND common CHECKED)
  endif()
  tandem_add_fpga_xclbin(${ARG_NAME} ${common} FLAGS ${ARG_FLAGS})
  tandem_add_fpga_xclbin(${ARG_NAME}.broken ${common} FLAGS ${ARG_FLAGS} ${ARG_BROKEN_FLAG})
  set(others ${ARG_XCLBINS})
  list(TRANSFORM ARG_XCLBINS PREPEND ${TANDEM_FPGA_DIR}/)
  list(TRANSFORM ARG_XCLBINS APPEND .xclbin)
  list(TRANSFORM others PREPEND fpga_xclbin_)
  add_custom_target(fpga_application_${ARG_NAME} ALL)
  add_dependencies(fpga_application_${ARG_NAME} fpga_${ARG_NAME} fpga_xclbin_${ARG_NAME} fpga_xclbin_${ARG_NAME}.broken
                   tandem_xrt_shim ${others})
  add_dependencies(fpga_applications fpga_application_${ARG_NAME})
  set(run CARDS ${ARG_CARDS} TIMEOUT ${ARG_TIMEOUT} COMMAND $<TARGET_FILE:fpga_${ARG_NAME}> ${ARG_XCLBINS} ${ARG_ARGUMENTS}
          ENVIRONMENT ${ARG_ENVIRONMENT})
  foreach(mode IN LISTS ARG_MODES)
    tandem_add_fpga_test(fpga.${ARG_NAME}.${mode} pass ${mode} ${TANDEM_FPGA_DIR}/${ARG_NAME}.xclbin ${run})
  endforeach()
  list(GET ARG_MODES 0 mode)
  tandem_add_fpga_test(fpga.${ARG_NAME}.broken fail ${mode} ${TANDEM_FPGA_DIR}/${ARG_NAME}.broken.xclbin ${run}
                       EXPECT_TEXT ${ARG_EXPECT_TEXT})
endfunction()
