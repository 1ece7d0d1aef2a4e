# SPDX-License-Identifier: Apache-2.0
# What others build with and install: zyfa.pc for pkg-config (it finds its prefix from where it lies), and a Debian
# package of everything that `cmake --install` installs (`cpack -G DEB` in the build folder).
file(RELATIVE_PATH ZYFA_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" ZYFA_PC_PREFIX "${ZYFA_PC_PREFIX}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/zyfa.pc.in ${CMAKE_BINARY_DIR}/zyfa.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/zyfa.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)

set(CPACK_PACKAGE_NAME zyfa)
set(CPACK_PACKAGE_VENDOR "The zyfa authors")
set(CPACK_PACKAGE_CONTACT "The zyfa authors <zyfa@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
  "zyfa writes attention kernels for AMD's gfx950 as assembly at run time, checks them against fp64, tunes and caches
them. With a gfx950 simulator behind the HIP API, the command-line tool, and the headers for C and C++.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON) # dpkg-shlibdeps, in dpkg-dev: the libraries' packages become dependencies
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib ${CMAKE_BINARY_DIR}/lib/zyfa-sim)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_THREADS 0)
include(CPack)
