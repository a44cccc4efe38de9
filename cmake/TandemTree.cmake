# SPDX-License-Identifier: Apache-2.0
# The tree that answers as XILINX_XRT and, in its folder Vitis/2022.2, as XILINX_VITIS: <build>/xrt and
# <prefix>/share/tandem/xrt. The targets of programs and shim put these there. This file adds links to the headers and
# libraries of the system's packages, the HLS headers, setup.sh and the registration of OpenCL.
#
# Links into the tree are relative, links to packages absolute: the tree may be moved as a whole.

set(TANDEM_XRT_TREE ${PROJECT_BINARY_DIR}/xrt CACHE INTERNAL "XILINX_XRT tree of the build")
set(TANDEM_XRT_INSTALL_DIR ${CMAKE_INSTALL_DATADIR}/tandem/xrt CACHE INTERNAL "The same below the installation prefix")

# tandem_link_entries(<folder> <target folder> [EXCEPT names...]): a link per entry, none over an existing one.
function(tandem_link_entries from to)
  cmake_parse_arguments(ARG "" "" "EXCEPT" ${ARGN})
  file(MAKE_DIRECTORY ${to})
  file(GLOB entries ${from}/*)
  foreach(entry IN LISTS entries)
    get_filename_component(name ${entry} NAME)
    if(NOT name IN_LIST ARG_EXCEPT AND NOT EXISTS ${to}/${name})
      file(CREATE_LINK ${entry} ${to}/${name} SYMBOLIC)
    endif()
  endforeach()
endfunction()

# Headers: XRT's folder, and OpenCL's own headers in CL. cl2.hpp and cl_ext.h are ours (drivers/emulation/opencl_headers).
function(tandem_link_headers)
  tandem_link_entries(${XRT_INCLUDE_DIR} ${TANDEM_XRT_TREE}/include EXCEPT CL)
  tandem_link_entries(${XRT_INCLUDE_DIR}/CL ${TANDEM_XRT_TREE}/include/CL EXCEPT cl_ext.h)
  find_path(TANDEM_CL_INCLUDE_DIR CL/cl.h HINTS ${OpenCL_INCLUDE_DIRS})
  if(TANDEM_CL_INCLUDE_DIR)
    tandem_link_entries(${TANDEM_CL_INCLUDE_DIR}/CL ${TANDEM_XRT_TREE}/include/CL EXCEPT cl2.hpp cl_ext.h)
  endif()
  file(COPY ${PROJECT_SOURCE_DIR}/drivers/emulation/faults/tandem_card_faults.h DESTINATION ${TANDEM_XRT_TREE}/include)
  foreach(header cl2.hpp cl_ext.h)
    file(REMOVE ${TANDEM_XRT_TREE}/include/CL/${header})  # a link into the package, in a tree of before
    file(COPY ${PROJECT_SOURCE_DIR}/drivers/emulation/opencl_headers/${header} DESTINATION ${TANDEM_XRT_TREE}/include/CL)
  endforeach()
endfunction()

# The libraries that applications link besides the shim, under the names for the linker and for the loader.
function(tandem_link_libraries)
  get_filename_component(folder ${XRT_COREUTIL_LIBRARY} DIRECTORY)
  file(MAKE_DIRECTORY ${TANDEM_XRT_TREE}/lib/xrt)
  # The loader's libxrt_coreutil.so.2 is ours (drivers/emulation/runtime_guard) and needs Debian's by its file name.
  get_filename_component(coreutil ${XRT_COREUTIL_LIBRARY} REALPATH)
  get_filename_component(coreutil ${coreutil} NAME)
  if(IS_SYMLINK ${TANDEM_XRT_TREE}/lib/libxrt_coreutil.so.2)
    file(REMOVE ${TANDEM_XRT_TREE}/lib/libxrt_coreutil.so.2)  # a link into the package, in an older tree
  endif()
  foreach(name libxrt_coreutil.so ${coreutil} libxilinxopencl.so libxilinxopencl.so.2 libxrt++.so
          libxrt++.so.2 libxrt_noop.so.2 libOpenCL.so libOpenCL.so.1 libuuid.so libuuid.so.1)
    if(EXISTS ${folder}/${name})
      file(CREATE_LINK ${folder}/${name} ${TANDEM_XRT_TREE}/lib/${name} SYMBOLIC)
    endif()
  endforeach()
  if(EXISTS ${folder}/xrt/module AND NOT EXISTS ${TANDEM_XRT_TREE}/lib/xrt/module)
    file(CREATE_LINK ${folder}/xrt/module ${TANDEM_XRT_TREE}/lib/xrt/module SYMBOLIC)
  endif()
endfunction()

# The headers that v++ gives to kernels; it looks nowhere else.
function(tandem_link_kernel_headers)
  file(MAKE_DIRECTORY ${TANDEM_XRT_TREE}/vitis)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/fpga_hls/include ${TANDEM_XRT_TREE}/vitis/include SYMBOLIC)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/bitstreams/compiler/glue ${TANDEM_XRT_TREE}/vitis/glue SYMBOLIC)
endfunction()

# The folders of an installation of the vendor's tools, as links: scripts look for tools, headers and libraries there, and
# take the version from the folder's name.
function(tandem_link_vendor_folders)
  set(release 2022.2)
  foreach(product Vitis Vitis_HLS Vivado)
    set(folder ${TANDEM_XRT_TREE}/${product}/${release})
    file(MAKE_DIRECTORY ${folder})
    file(CREATE_LINK ../../bin ${folder}/bin SYMBOLIC)
    file(CREATE_LINK ../../vitis/include ${folder}/include SYMBOLIC)
    file(CREATE_LINK ../../setup.sh ${folder}/settings64.sh SYMBOLIC)
    file(CREATE_LINK ../../lnx64 ${folder}/lnx64 SYMBOLIC)
    foreach(compiler gcc-6.2.0 gcc-8.3.0)
      file(MAKE_DIRECTORY ${folder}/tps/lnx64/${compiler}/bin)
      file(CREATE_LINK ../../../../../../bin/xcpp ${folder}/tps/lnx64/${compiler}/bin/g++ SYMBOLIC)
    endforeach()
  endforeach()
  file(MAKE_DIRECTORY ${TANDEM_XRT_TREE}/lnx64)
  file(CREATE_LINK ../bin ${TANDEM_XRT_TREE}/lnx64/bin SYMBOLIC)
endfunction()

function(tandem_make_tree)
  file(MAKE_DIRECTORY ${TANDEM_XRT_TREE}/bin ${TANDEM_XRT_TREE}/lib ${TANDEM_XRT_TREE}/vitis)
  tandem_link_headers()
  tandem_link_libraries()
  configure_file(${PROJECT_SOURCE_DIR}/drivers/emulation/setup.sh.in ${TANDEM_XRT_TREE}/setup.sh COPYONLY)
  file(CREATE_LINK ../setup.sh ${TANDEM_XRT_TREE}/vitis/settings64.sh SYMBOLIC)
  file(CREATE_LINK ../bin ${TANDEM_XRT_TREE}/vitis/bin SYMBOLIC)
  tandem_link_vendor_folders()
  # OCL_ICD_VENDORS replaces the system's folder, so the drivers registered there are named here too. The layer
  # (drivers/emulation/opencl_layer) decides which platform is first.
  file(REMOVE_RECURSE ${TANDEM_XRT_TREE}/icd)
  file(WRITE ${TANDEM_XRT_TREE}/icd/xilinx.icd "libxilinxopencl.so.2\n")
  file(GLOB system_icds /etc/OpenCL/vendors/*.icd)
  if(system_icds)
    file(COPY ${system_icds} DESTINATION ${TANDEM_XRT_TREE}/icd)
  endif()
endfunction()

function(tandem_install_tree)
  set(to ${TANDEM_XRT_INSTALL_DIR})
  install(DIRECTORY ${TANDEM_XRT_TREE}/include ${TANDEM_XRT_TREE}/icd DESTINATION ${to})
  install(DIRECTORY ${TANDEM_XRT_TREE}/lib/ DESTINATION ${to}/lib PATTERN "libxrt_core.so*" EXCLUDE
          PATTERN "libxrt_coreutil.so.2" EXCLUDE
          PATTERN "*.tmp*" EXCLUDE)
  install(FILES ${TANDEM_XRT_TREE}/setup.sh DESTINATION ${to})
  install(DIRECTORY ${TANDEM_XRT_TREE}/Vitis ${TANDEM_XRT_TREE}/Vitis_HLS ${TANDEM_XRT_TREE}/Vivado ${TANDEM_XRT_TREE}/lnx64
          DESTINATION ${to} USE_SOURCE_PERMISSIONS)
  install(FILES ${TANDEM_XRT_TREE}/vitis/settings64.sh ${TANDEM_XRT_TREE}/vitis/bin DESTINATION ${to}/vitis)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/fpga_hls/include/ DESTINATION ${to}/vitis/include
          FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "half")
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/bitstreams/compiler/glue/ DESTINATION ${to}/vitis/glue)
  # `source <prefix>/setup.sh`
  set(link ${PROJECT_BINARY_DIR}/install-links/setup.sh)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/install-links)
  file(CREATE_LINK ${TANDEM_XRT_INSTALL_DIR}/setup.sh ${link} SYMBOLIC)
  install(FILES ${link} DESTINATION .)
endfunction()
