# SPDX-License-Identifier: Apache-2.0
# Manual pages, completions, the unit, and the Debian package (`cpack`): host/apps/install.

set(source ${PROJECT_SOURCE_DIR}/host/apps/install)
set(pages ${PROJECT_BINARY_DIR}/pages)
add_custom_command(OUTPUT ${pages}/man1/tandem.1
                   COMMAND tandem-emulation pages ${pages} COMMAND tandem-models pages ${pages}
                   COMMAND tandem-planner pages ${pages} COMMAND tandem-tensor pages ${pages}
                   COMMAND tandem pages ${pages}  # last, as its page names those that are there
                   DEPENDS tandem tandem-emulation tandem-models tandem-planner tandem-tensor
                   COMMENT "Writing manual pages and completions")
add_custom_target(tandem_pages ALL DEPENDS ${pages}/man1/tandem.1)
install(DIRECTORY ${pages}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
install(DIRECTORY ${pages}/completions DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion OPTIONAL)

set(TANDEM_BINDIR ${CMAKE_INSTALL_FULL_BINDIR})
configure_file(${source}/tandem.service.in ${PROJECT_BINARY_DIR}/tandem.service @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tandem.service DESTINATION lib/systemd/system)
install(FILES ${source}/tandem.toml DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/tandem)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tandem RENAME copyright)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tandem)
set(CPACK_PACKAGE_VENDOR Tandem)
set(CPACK_PACKAGE_CONTACT "Tandem <root@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Server of language models on compute-rich and memory-rich devices")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL serving fpga)  # the tools of collectives link MPI and gloo; they are not in it
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "passwd")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libxrt-dev, g++")  # to compile kernels for emulated cards
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/xrt/lib)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${source}/debian/conffiles ${source}/debian/postinst ${source}/debian/prerm ${source}/debian/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS ${source}/package.cmake)
set(CPACK_TANDEM_BINDIR ${CMAKE_INSTALL_FULL_BINDIR})
include(CPack)
