# SPDX-License-Identifier: Apache-2.0
# GoogleTest programs for applications of FPGA cards, part of find_package(Tandem COMPONENTS fpga).
#
# tandem_add_fpga_test(NAME t SOURCES files... [XCLBINS targets...] [CARDS n] [PLATFORM p] [MODE sw_emu|hw_emu|unset]
#   [LIBRARIES targets...] [INCLUDES folders...] [ENVIRONMENT VAR=value...] [TIMEOUT s] [NO_MAIN])
# Builds the program t with GoogleTest (its main too, unless NO_MAIN) and XRT, builds XCLBINS (targets of tandem_add_xclbin) before
# it, and adds each of its cases to ctest. The environment of a case holds what setup.sh sets, the mode (default: that of
# the first xclbin), the number of cards (default 1), their platform (default: that of the first xclbin), and
#   TANDEM_XCLBIN            the path of the first xclbin
#   TANDEM_XCLBIN_<TARGET>   that of each, the target's name in capitals
# Needs GoogleTest (find_package(GTest)) and enable_testing().

cmake_policy(PUSH)
cmake_policy(VERSION 3.25)
include(GoogleTest)

# The script that ctest reads after the list of cases: the environment of each.
function(_tandem_write_test_environment target file)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "TIMEOUT" "ENVIRONMENT")
  set(lines "set(_tandem_environment)\n")
  foreach(setting IN LISTS ARG_ENVIRONMENT)
    string(APPEND lines "list(APPEND _tandem_environment [==[${setting}]==])\n")
  endforeach()
  file(GENERATE OUTPUT ${file} CONTENT "${lines}
foreach(_tandem_case IN LISTS ${target}_CASES)
  set_tests_properties(\"\${_tandem_case}\" PROPERTIES TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT \"\${_tandem_environment}\"
    ENVIRONMENT_MODIFICATION
    \"LD_LIBRARY_PATH=path_list_prepend:${Tandem_XRT_TREE}/lib;PATH=path_list_prepend:${Tandem_XRT_TREE}/bin\")
endforeach()
")
endfunction()

function(tandem_add_fpga_test)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "NO_MAIN" "NAME;CARDS;PLATFORM;MODE;TIMEOUT"
                        "SOURCES;XCLBINS;LIBRARIES;INCLUDES;ENVIRONMENT")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tandem_add_fpga_test(${ARG_NAME}): unknown words: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_NAME OR NOT ARG_SOURCES)
    message(FATAL_ERROR "tandem_add_fpga_test needs NAME name and SOURCES files...")
  endif()
  find_package(GTest REQUIRED)
  set(environment "XILINX_XRT=${Tandem_XRT_TREE}" "XILINX_VITIS=${Tandem_XRT_TREE}/Vitis/2022.2"
                  "OCL_ICD_VENDORS=${Tandem_XRT_TREE}/icd"
                  "OPENCL_LAYERS=${Tandem_XRT_TREE}/lib/libtandem_opencl_layer.so")
  set(first TRUE)
  foreach(xclbin IN LISTS ARG_XCLBINS)
    if(NOT TARGET ${xclbin})
      message(FATAL_ERROR "tandem_add_fpga_test(${ARG_NAME}): '${xclbin}' is not a target of tandem_add_xclbin")
    endif()
    get_target_property(path ${xclbin} TANDEM_XCLBIN)
    if(first)
      list(APPEND environment "TANDEM_XCLBIN=${path}")
      foreach(setting PLATFORM MODE)
        if(NOT ARG_${setting})
          get_target_property(ARG_${setting} ${xclbin} TANDEM_XCLBIN_${setting})
        endif()
      endforeach()
      set(first FALSE)
    endif()
    string(MAKE_C_IDENTIFIER ${xclbin} variable)
    string(TOUPPER ${variable} variable)
    list(APPEND environment "TANDEM_XCLBIN_${variable}=${path}")
  endforeach()
  foreach(default "CARDS:1" "PLATFORM:u55c" "MODE:sw_emu" "TIMEOUT:60")
    string(REGEX MATCH "^([A-Z]+):(.*)$" matched "${default}")
    if(NOT ARG_${CMAKE_MATCH_1})
      set(ARG_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
    endif()
  endforeach()
  list(APPEND environment "TANDEM_CARDS=${ARG_CARDS}" "TANDEM_CARD_PRESET=${ARG_PLATFORM}")
  if(NOT ARG_MODE STREQUAL unset)
    list(APPEND environment "XCL_EMULATION_MODE=${ARG_MODE}")
  endif()
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_include_directories(${ARG_NAME} PRIVATE ${ARG_INCLUDES})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LIBRARIES} Tandem::xrt GTest::gtest)
  if(NOT ARG_NO_MAIN)
    target_link_libraries(${ARG_NAME} PRIVATE GTest::gtest_main)
  endif()
  if(ARG_XCLBINS)
    add_dependencies(${ARG_NAME} ${ARG_XCLBINS})
  endif()
  # ctest lists the cases when it starts, so that the build does not run the program.
  gtest_discover_tests(${ARG_NAME} TEST_LIST ${ARG_NAME}_CASES NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 600)
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}.environment.cmake)
  _tandem_write_test_environment(${ARG_NAME} ${script} TIMEOUT ${ARG_TIMEOUT}
                                 ENVIRONMENT ${environment} ${ARG_ENVIRONMENT})
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
endfunction()

cmake_policy(POP)
