# SPDX-License-Identifier: Apache-2.0
# zyfa_component(NAME [SOURCES...] [PUBLIC libs] [PRIVATE libs]): one folder's static library.
# zyfa_executable(TARGET): what every executable of the project needs.
# zyfa_tests(FOLDER LIBS...): one doctest executable from the *_test.cpp of the current folder.
add_library(zyfa_flags INTERFACE)
target_compile_options(zyfa_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
target_include_directories(zyfa_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
if(ZYFA_SANITIZE)
  target_compile_options(zyfa_flags INTERFACE -fsanitize=${ZYFA_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(zyfa_flags INTERFACE -fsanitize=${ZYFA_SANITIZE})
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

function(zyfa_executable target)
  target_link_libraries(${target} PRIVATE zyfa_flags)
endfunction()

function(zyfa_tests folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  set(target zyfa_${folder}_tests)
  add_executable(${target} ${sources} ${CMAKE_SOURCE_DIR}/tests/main.cpp)
  target_link_libraries(${target} PRIVATE ${ARGN})
  zyfa_executable(${target})
  doctest_discover_tests(${target} TEST_PREFIX "${folder}: " PROPERTIES TIMEOUT 600)
endfunction()
