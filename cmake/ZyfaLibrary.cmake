# SPDX-License-Identifier: Apache-2.0
# libzyfa.so: the components in one shared library that shows the API of include/zyfa and nothing else, and the
# CMake package (find_package(zyfa), target zyfa::zyfa) that comes with it.
include(CMakePackageConfigHelpers)

set(_zyfa_objects "")
foreach(component ${ZYFA_COMPONENTS})
  get_target_property(_zyfa_type zyfa_${component} TYPE)
  if(NOT _zyfa_type STREQUAL "INTERFACE_LIBRARY")
    list(APPEND _zyfa_objects $<TARGET_OBJECTS:zyfa_${component}>)
  endif()
endforeach()
if(NOT _zyfa_objects)
  return()
endif()

add_library(zyfa SHARED ${_zyfa_objects})
add_library(zyfa::zyfa ALIAS zyfa)
list(TRANSFORM ZYFA_COMPONENTS PREPEND zyfa_ OUTPUT_VARIABLE _zyfa_libraries)
target_link_libraries(zyfa PRIVATE ${_zyfa_libraries}) # for what they depend on; their objects are here already
target_include_directories(zyfa INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                                          $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(zyfa INTERFACE cxx_std_20)
target_link_options(zyfa PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/zyfa.map)
if(NOT ZYFA_SANITIZE) # the sanitizers' run time is in the executable
  target_link_options(zyfa PRIVATE -Wl,--no-undefined)
endif()
set_target_properties(zyfa PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                                      LINKER_LANGUAGE CXX LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/zyfa.map)

install(TARGETS zyfa EXPORT zyfaTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(FILES include/zyfa.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(DIRECTORY include/zyfa DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library FILES_MATCHING PATTERN "*.h*")
install(EXPORT zyfaTargets NAMESPACE zyfa:: FILE zyfaConfig.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/zyfa COMPONENT library)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/zyfaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/zyfaConfigVersion.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/zyfa COMPONENT library)
