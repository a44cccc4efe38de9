# SPDX-License-Identifier: Apache-2.0
# Installs programs, libraries, headers, data and the package description: find_package(Tandem) gives Tandem::engine, ...
#
# Components, each of which can be installed alone with `cmake --install --component`: `collectives` (the library of
# collective calls, its transports, its tool tandem-collectives and the contracts below them), `fpga` (the tree of emulated
# cards with v++ and the other tools, tandem-emulation, bitstreams, and the CMake functions for projects with FPGA applications),
# `training` (libtandem_training.so and its C header, and the trainer with its library), and `serving`, everything else, which needs
# `collectives`.

include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY TANDEM_LIBRARIES)
# The card image builder and the emulated cards are programs; their libraries are not part of the package.
list(REMOVE_ITEM libraries tandem_xclbin tandem_xclbin_format tandem_compiler_process tandem_vpp tandem_opencl_c tandem_rtl_kernels
     tandem_dataflow tandem_kernel_time tandem_emulation_protocol tandem_training_c_api tandem_trainer tandem_training_pipeline
     tandem_communication)
set(collectives_libraries ${libraries})
list(FILTER collectives_libraries INCLUDE REGEX "^tandem_(common|nccl|tensor.*|device|transport.*|collectives.*|traffic_recorder)$")
set(serving_libraries ${libraries})
list(REMOVE_ITEM serving_libraries ${collectives_libraries})
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tandem)

foreach(component collectives serving)
  install(TARGETS ${${component}_libraries} EXPORT Tandem-${component}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component})
  install(EXPORT Tandem-${component} NAMESPACE Tandem:: DESTINATION ${package_dir} COMPONENT ${component})
endforeach()
install(DIRECTORY host/common host/tensor host/transport host/collectives drivers/device
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tandem COMPONENT collectives FILES_MATCHING PATTERN "*.h")
install(DIRECTORY host/ drivers/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tandem COMPONENT serving
        FILES_MATCHING PATTERN "*.h" PATTERN "emulation" EXCLUDE
        REGEX "/(common|tensor|transport|collectives|device)$" EXCLUDE)
install(DIRECTORY fpga_hls/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tandem COMPONENT serving
        FILES_MATCHING PATTERN "abi.h" PATTERN "status.h" PATTERN "include" EXCLUDE PATTERN "vector_add" EXCLUDE)
configure_package_config_file(cmake/TandemConfig.cmake.in ${CMAKE_BINARY_DIR}/TandemConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS TANDEM_XRT_INSTALL_DIR)
install(FILES cmake/TandemXclbin.cmake cmake/TandemFpgaTest.cmake DESTINATION ${package_dir} COMPONENT fpga)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TandemConfigVersion.cmake COMPATIBILITY SameMinorVersion)
foreach(component collectives fpga)
  install(FILES ${CMAKE_BINARY_DIR}/TandemConfig.cmake ${CMAKE_BINARY_DIR}/TandemConfigVersion.cmake
          DESTINATION ${package_dir} COMPONENT ${component})
endforeach()
install(FILES host/model/demo/tandem-stories-q8_0.gguf DESTINATION ${CMAKE_INSTALL_DATADIR}/tandem/models
        COMPONENT serving)
