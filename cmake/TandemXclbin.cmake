# SPDX-License-Identifier: Apache-2.0
# xclbins for emulated cards as targets; used by this project's build and by find_package(Tandem COMPONENTS fpga).
#
# tandem_add_xclbin(TARGET t KERNELS kernel=source[,source]... [CONFIG file...] [PLATFORM p] [MODE sw_emu|hw_emu]
#   [FLAGS flags of v++ -c...] [LINK_FLAGS flags of v++ -l...] [INCLUDES folders...] [DEPENDS files...] [OUTPUT file]
#   [EXCLUDE_FROM_ALL])
# Target t builds OUTPUT (t.xclbin in the current build folder) with v++; a kernel is compiled again when its source, a header it
# includes or FLAGS change; the xclbin is linked again when a kernel or CONFIG changes. A kernel named twice in KERNELS gets both
# sources. PLATFORM: a preset (u50 u55c u200 u250 u280 vck5000) or the JSON of one of your own; default u55c. Relative paths
# are of the calling folder. The target's property TANDEM_XCLBIN is the file's path.
#
# An installed package sets TANDEM_VPP_COMMAND, the path of v++; in this project it is the target tandem-vpp.
# CACHE: TANDEM_HLS_INCLUDE_DIRS and TANDEM_KERNEL_FLAGS apply to all xclbins.

# Functions keep the policies of the place they are defined in: those of a user's project may be older.
cmake_policy(PUSH)
cmake_policy(VERSION 3.25)

set(TANDEM_HLS_INCLUDE_DIRS "" CACHE STRING "Folders of HLS headers to use instead of Tandem's own (e.g. Vitis' include)")
set(TANDEM_KERNEL_FLAGS "" CACHE STRING "More compiler flags for kernels in emulation xclbins")
mark_as_advanced(TANDEM_HLS_INCLUDE_DIRS TANDEM_KERNEL_FLAGS)
if(NOT DEFINED TANDEM_VPP_COMMAND)
  set(TANDEM_BITSTREAM_DIR ${PROJECT_BINARY_DIR}/share/tandem/bitstreams)
  set(TANDEM_VPP_COMMAND $<TARGET_FILE:tandem-vpp>)
  set(TANDEM_VPP_DEPENDS tandem-vpp)
  # Copies of this project's own kernels that a card's checks of memory need; they double the time of v++ -c.
  option(TANDEM_CHECKED_KERNELS "Compile this project's kernels with their checked copies" OFF)
endif()

# The command line before v++'s own arguments. In a build with sanitizers, v++ need not free its memory at exit.
function(_tandem_vpp_command result)
  set(command ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 "TANDEM_CXX=${CMAKE_CXX_COMPILER}")
  if(TANDEM_HLS_INCLUDE_DIRS)
    list(JOIN TANDEM_HLS_INCLUDE_DIRS : folders)
    list(APPEND command "TANDEM_HLS_INCLUDE=${folders}")
  endif()
  if(TANDEM_KERNEL_FLAGS)
    list(JOIN TANDEM_KERNEL_FLAGS " " flags)
    list(APPEND command "TANDEM_KERNEL_FLAGS=${flags}")
  endif()
  if(DEFINED TANDEM_CHECKED_KERNELS AND NOT TANDEM_CHECKED_KERNELS)
    list(APPEND command TANDEM_KERNEL_CHECKS=off TANDEM_KERNEL_TIME=off)
  endif()
  set(${result} ${command} ${TANDEM_VPP_COMMAND} PARENT_SCOPE)
endfunction()

# Sources by kernel: <prefix>_KERNELS lists the kernels, <prefix>_SOURCES_<kernel> their sources, absolute.
function(_tandem_read_kernels prefix target)
  set(kernels)
  foreach(entry IN LISTS ARGN)
    if(NOT entry MATCHES "^([A-Za-z_][A-Za-z0-9_]*)=(.+)$")
      message(FATAL_ERROR "tandem_add_xclbin(${target}): KERNELS takes kernel=source, not '${entry}'")
    endif()
    set(kernel ${CMAKE_MATCH_1})
    string(REPLACE "," ";" sources "${CMAKE_MATCH_2}")
    foreach(source IN LISTS sources)
      get_filename_component(source ${source} ABSOLUTE)
      if(NOT EXISTS ${source})
        get_source_file_property(generated ${source} GENERATED)
        if(NOT generated)
          message(FATAL_ERROR "tandem_add_xclbin(${target}): kernel ${kernel}: no such source: ${source}")
        endif()
      endif()
      list(APPEND sources_${kernel} ${source})
    endforeach()
    list(APPEND kernels ${kernel})
    set(${prefix}_SOURCES_${kernel} ${sources_${kernel}} PARENT_SCOPE)
  endforeach()
  list(REMOVE_DUPLICATES kernels)
  set(${prefix}_KERNELS ${kernels} PARENT_SCOPE)
endfunction()

function(tandem_add_xclbin)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "EXCLUDE_FROM_ALL" "TARGET;PLATFORM;MODE;OUTPUT"
                        "KERNELS;CONFIG;FLAGS;LINK_FLAGS;INCLUDES;DEPENDS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tandem_add_xclbin(${ARG_TARGET}): unknown words: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_TARGET OR NOT ARG_KERNELS)
    message(FATAL_ERROR "tandem_add_xclbin needs TARGET name and KERNELS kernel=source...")
  endif()
  foreach(default "PLATFORM:u55c" "MODE:sw_emu" "OUTPUT:${CMAKE_CURRENT_BINARY_DIR}/${ARG_TARGET}.xclbin")
    string(REGEX MATCH "^([A-Z]+):(.*)$" matched "${default}")
    if(NOT ARG_${CMAKE_MATCH_1})
      set(ARG_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
    endif()
  endforeach()
  get_filename_component(output "${ARG_OUTPUT}" ABSOLUTE BASE_DIR ${CMAKE_CURRENT_BINARY_DIR})
  if(ARG_PLATFORM MATCHES "\\.(json|xpfm)$")
    get_filename_component(ARG_PLATFORM ${ARG_PLATFORM} ABSOLUTE)
    list(APPEND ARG_DEPENDS ${ARG_PLATFORM})
  endif()
  _tandem_read_kernels(KERNEL ${ARG_TARGET} ${ARG_KERNELS})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${ARG_TARGET}.dir)
  get_filename_component(output_folder ${output} DIRECTORY)
  file(MAKE_DIRECTORY ${folder} ${output_folder})
  _tandem_vpp_command(vpp)
  list(APPEND common -t ${ARG_MODE} --platform ${ARG_PLATFORM} --temp_dir ${folder})
  set(include_flags)
  foreach(include IN LISTS ARG_INCLUDES)
    get_filename_component(include ${include} ABSOLUTE)
    list(APPEND include_flags -I${include})
  endforeach()
  set(objects)
  foreach(kernel IN LISTS KERNEL_KERNELS)
    set(object ${folder}/${kernel}.xo)
    add_custom_command(OUTPUT ${object}
      COMMAND ${vpp} -c ${common} -k ${kernel} ${include_flags} ${ARG_FLAGS} --depfile ${object}.d -o ${object}
              ${KERNEL_SOURCES_${kernel}}
      DEPENDS ${KERNEL_SOURCES_${kernel}} ${ARG_DEPENDS} ${TANDEM_VPP_DEPENDS}
      DEPFILE ${object}.d WORKING_DIRECTORY ${folder}
      COMMENT "Compiling kernel ${kernel} of ${ARG_TARGET}" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(config_flags)
  set(configs)
  foreach(config IN LISTS ARG_CONFIG)
    get_filename_component(config ${config} ABSOLUTE)
    list(APPEND configs ${config})
    list(APPEND config_flags --config ${config})
  endforeach()
  add_custom_command(OUTPUT ${output}
    COMMAND ${vpp} -l ${common} ${config_flags} ${ARG_LINK_FLAGS} -o ${output} ${objects}
    DEPENDS ${objects} ${configs} ${TANDEM_VPP_DEPENDS}
    WORKING_DIRECTORY ${folder} COMMENT "Linking ${ARG_TARGET}" VERBATIM)
  set(all ALL)
  if(ARG_EXCLUDE_FROM_ALL)
    set(all)
  endif()
  add_custom_target(${ARG_TARGET} ${all} DEPENDS ${output})
  set_target_properties(${ARG_TARGET} PROPERTIES TANDEM_XCLBIN ${output} TANDEM_XCLBIN_MODE ${ARG_MODE}
                        TANDEM_XCLBIN_PLATFORM ${ARG_PLATFORM})
endfunction()

cmake_policy(POP)
