# SPDX-License-Identifier: Apache-2.0
# Where the build puts bitstreams, and the function that makes one from a recipe.

set(TANDEM_BITSTREAM_DIR ${PROJECT_BINARY_DIR}/share/tandem/bitstreams)
set(TANDEM_HLS_INCLUDE_DIRS "" CACHE STRING "Folders of HLS headers to use instead of Tandem's own (e.g. Vitis' include)")
set(TANDEM_KERNEL_FLAGS "" CACHE STRING "More compiler flags for kernels in emulation xclbins")

# tandem_add_xclbin(name RECIPE recipe.toml [OUTPUT path] [DEPENDS files...] [NO_INSTALL])
# Target xclbin_<name>, part of `all`, builds <build>/share/tandem/bitstreams/<name>.xclbin; rebuilt when the recipe,
# the connectivity file, the kernel or any header it includes changes.
function(tandem_add_xclbin name)
  cmake_parse_arguments(ARG "NO_INSTALL" "RECIPE;OUTPUT" "DEPENDS" ${ARGN})
  get_filename_component(recipe ${ARG_RECIPE} ABSOLUTE)
  if(NOT ARG_OUTPUT)
    set(ARG_OUTPUT ${TANDEM_BITSTREAM_DIR}/${name}.xclbin)
  endif()
  set(arguments ${recipe} --output ${ARG_OUTPUT} --compiler ${CMAKE_CXX_COMPILER} --depfile ${ARG_OUTPUT}.d)
  foreach(dir IN LISTS TANDEM_HLS_INCLUDE_DIRS)
    list(APPEND arguments --hls-include ${dir})
  endforeach()
  foreach(flag IN LISTS TANDEM_KERNEL_FLAGS)
    list(APPEND arguments --flag=${flag})
  endforeach()
  add_custom_command(OUTPUT ${ARG_OUTPUT}
    COMMAND ${CMAKE_COMMAND} -E env "ASAN_OPTIONS=detect_leaks=0" $<TARGET_FILE:tandem-xclbin-build> ${arguments}
    DEPENDS ${recipe} ${ARG_DEPENDS} tandem-xclbin-build
    DEPFILE ${ARG_OUTPUT}.d
    COMMENT "Building bitstream ${name}" VERBATIM)
  add_custom_target(xclbin_${name} ALL DEPENDS ${ARG_OUTPUT})
  if(NOT ARG_NO_INSTALL)
    install(FILES ${ARG_OUTPUT} DESTINATION ${CMAKE_INSTALL_DATADIR}/tandem/bitstreams)
  endif()
endfunction()
