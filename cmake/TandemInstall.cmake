# SPDX-License-Identifier: Apache-2.0
# Installs programs, libraries, headers, data and the package description: find_package(Tandem) gives Tandem::engine, ...

include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY TANDEM_LIBRARIES)
# The card image builder serves the `tandem` command; its libraries are not part of the package.
list(REMOVE_ITEM libraries tandem_xclbin tandem_xclbin_format)
install(TARGETS ${libraries} EXPORT TandemTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT TandemTargets NAMESPACE Tandem:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Tandem)
install(DIRECTORY host/ drivers/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tandem FILES_MATCHING PATTERN "*.h"
        PATTERN "emulation" EXCLUDE)
install(FILES fpga_hls/attention_decode/abi.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tandem/attention_decode)
configure_package_config_file(cmake/TandemConfig.cmake.in ${CMAKE_BINARY_DIR}/TandemConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Tandem)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TandemConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/TandemConfig.cmake ${CMAKE_BINARY_DIR}/TandemConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Tandem)
install(FILES host/model/demo/tandem-stories-q8_0.gguf DESTINATION ${CMAKE_INSTALL_DATADIR}/tandem/models)
