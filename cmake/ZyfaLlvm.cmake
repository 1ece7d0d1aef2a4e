# SPDX-License-Identifier: Apache-2.0
# LLVM 22's shared library: the simulator's decoder, and the assembler for where no comgr can be loaded.
# find_package(LLVM 22) would refuse 22.1 (LLVM's version file wants major.minor), hence the check by hand.
find_package(LLVM REQUIRED CONFIG PATHS /usr/lib/llvm-22 NO_DEFAULT_PATH)
if(LLVM_PACKAGE_VERSION VERSION_LESS 22)
  message(FATAL_ERROR "LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}; zyfa needs 22 (package llvm-22-dev)")
endif()
add_library(zyfa_llvm INTERFACE)
target_include_directories(zyfa_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_directories(zyfa_llvm INTERFACE ${LLVM_LIBRARY_DIRS})
target_link_libraries(zyfa_llvm INTERFACE LLVM-22)
