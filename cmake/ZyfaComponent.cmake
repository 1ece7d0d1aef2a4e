# SPDX-License-Identifier: Apache-2.0
# zyfa_component(NAME [SOURCES...] [PUBLIC libs] [PRIVATE libs]): one folder's static library.
# zyfa_executable(TARGET): what every executable of the project needs.
# zyfa_install_executable(TARGET): installs it so that it does not depend on the build tree.
# zyfa_tests(FOLDER LIBS...): one doctest executable from the *_test.cpp of the current folder.
add_library(zyfa_flags INTERFACE)
target_compile_options(zyfa_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
# doctest names its cases by __COUNTER__, which clang 22 calls an extension of a C standard to come.
target_compile_options(zyfa_flags INTERFACE
  $<$<AND:$<CXX_COMPILER_ID:Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,22>>:-Wno-c2y-extensions>)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 22)
  target_compile_options(zyfa_flags INTERFACE -Wno-c2y-extensions) # __COUNTER__ in doctest's and benchmark's macros
endif()
# At -O3, GCC 12 warns of overlaps and overflows in its own std::string and std::vector (GCC bug 105651 and its kin).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(zyfa_flags INTERFACE
    $<$<CONFIG:Release>:-Wno-restrict> $<$<CONFIG:Release>:-Wno-array-bounds> $<$<CONFIG:Release>:-Wno-stringop-overflow>)
endif()
target_include_directories(zyfa_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
if(ZYFA_SANITIZE)
  target_compile_options(zyfa_flags INTERFACE -fsanitize=${ZYFA_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(zyfa_flags INTERFACE -fsanitize=${ZYFA_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # sees ghosts in instrumented code (GCC bug 105562)
    target_compile_options(zyfa_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

function(zyfa_component name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  if(NOT arg_SOURCES)
    add_library(zyfa_${name} INTERFACE) # nothing there yet
    return()
  endif()
  add_library(zyfa_${name} STATIC ${arg_SOURCES})
  target_link_libraries(zyfa_${name} PUBLIC zyfa_flags ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
endfunction()

# An executable that is to load AMD's libraries from the folder that scripts/rocm-packages.sh filled finds there what
# they depend on, the system's libraries otherwise. DT_RPATH, not DT_RUNPATH: it has to hold for the dependencies of
# dependencies too (libamdhip64's libhsa-runtime64, libLLVM's libstdc++). Where the folder has a C library, the
# executable starts with the loader beside it. At link time dependencies are resolved against the system's C library,
# which then lacks some of their symbol versions: hence the leniency about symbols of shared libraries; those of our
# own objects are still checked.
function(zyfa_executable target)
  target_link_libraries(${target} PRIVATE zyfa_flags)
  if(ZYFA_ROCM_IS_PRIVATE)
    target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
    set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH
      ${ZYFA_ROCM_LIBRARY_DIR} /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/lib)
  endif()
  if(ZYFA_PRIVATE_LOADER)
    target_link_options(${target} PRIVATE -Wl,--dynamic-linker=${ZYFA_PRIVATE_LOADER}
                                          -Wl,--unresolved-symbols=ignore-in-shared-libs)
  endif()
endfunction()

# The loader's path is fixed when an executable is linked, so that what is installed is linked once more, from the
# same objects, for the system's own loader. (It then assembles through LLVM where comgr needs the newer one.)
# Optional arguments: the folder instead of bin, and the component. The property ZYFA_INSTALLED names what is installed.
function(zyfa_install_executable target)
  set(place RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(ARGC GREATER 2)
    set(place RUNTIME DESTINATION ${ARGV1} COMPONENT ${ARGV2})
  endif()
  set_property(TARGET ${target} PROPERTY ZYFA_INSTALLED ${target})
  if(NOT ZYFA_PRIVATE_LOADER)
    install(TARGETS ${target} ${place})
    return()
  endif()
  get_target_property(name ${target} OUTPUT_NAME)
  if(NOT name)
    set(name ${target})
  endif()
  add_executable(${target}_installed $<TARGET_OBJECTS:${target}>)
  target_link_libraries(${target}_installed PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
  set_target_properties(${target}_installed PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE CXX
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/for-install)
  set_property(TARGET ${target} PROPERTY ZYFA_INSTALLED ${target}_installed)
  install(TARGETS ${target}_installed ${place})
endfunction()

function(zyfa_tests folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  set(target zyfa_${folder}_tests)
  if(NOT TARGET zyfa_test_main) # doctest's own code, compiled once
    add_library(zyfa_test_main OBJECT ${CMAKE_SOURCE_DIR}/tests/main.cpp)
    target_link_libraries(zyfa_test_main PRIVATE zyfa_flags)
  endif()
  add_executable(${target} ${sources} $<TARGET_OBJECTS:zyfa_test_main>)
  target_compile_definitions(${target} PRIVATE DOCTEST_CONFIG_SUPER_FAST_ASSERTS) # fast to compile
  target_link_libraries(${target} PRIVATE ${ARGN})
  zyfa_executable(${target})
  doctest_discover_tests(${target} TEST_PREFIX "${folder}: " PROPERTIES TIMEOUT 600
                         ENVIRONMENT AMD_COMGR_CACHE=0) # comgr caches under the home folder otherwise
endfunction()
