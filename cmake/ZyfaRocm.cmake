# SPDX-License-Identifier: Apache-2.0
# ROCm as this build sees it: headers of HIP and comgr, where their libraries are, and whether they need a newer
# C library than the system has. Searched: ZYFA_ROCM_DIR, the folder that scripts/rocm-packages.sh fills,
# ROCM_PATH, /opt/rocm, and the system's own packages.
set(_zyfa_rocm_candidates ${ZYFA_ROCM_DIR} ${CMAKE_SOURCE_DIR}/build/rocm $ENV{ROCM_PATH} /opt/rocm /usr)
find_path(ZYFA_HIP_INCLUDE_DIR hip/hip_runtime_api.h PATHS ${_zyfa_rocm_candidates}
          PATH_SUFFIXES include usr/include NO_DEFAULT_PATH)
find_path(ZYFA_COMGR_INCLUDE_DIR NAMES amd_comgr/amd_comgr.h amd_comgr.h PATHS ${_zyfa_rocm_candidates}
          PATH_SUFFIXES include usr/include NO_DEFAULT_PATH)
if(NOT ZYFA_HIP_INCLUDE_DIR OR NOT ZYFA_COMGR_INCLUDE_DIR)
  message(FATAL_ERROR "Headers of HIP and comgr not found in: ${_zyfa_rocm_candidates}. "
                      "Run scripts/rocm-packages.sh build/rocm or set ZYFA_ROCM_DIR.")
endif()

get_filename_component(ZYFA_ROCM_PREFIX ${ZYFA_HIP_INCLUDE_DIR} DIRECTORY)
set(ZYFA_ROCM_LIBRARY_DIR ${ZYFA_ROCM_PREFIX}/lib)
if(NOT EXISTS ${ZYFA_ROCM_LIBRARY_DIR}/libamdhip64.so.7 AND EXISTS ${ZYFA_ROCM_PREFIX}/lib/${CMAKE_LIBRARY_ARCHITECTURE})
  set(ZYFA_ROCM_LIBRARY_DIR ${ZYFA_ROCM_PREFIX}/lib/${CMAKE_LIBRARY_ARCHITECTURE})
endif()

# A folder that scripts/rocm-packages.sh filled. On a system whose C library is too old for the packages, the one that
# they need lies beside them.
set(ZYFA_ROCM_IS_PRIVATE OFF)
set(ZYFA_PRIVATE_LOADER "")
if(NOT ZYFA_ROCM_PREFIX STREQUAL "/usr" AND ZYFA_ROCM_LIBRARY_DIR MATCHES "/${CMAKE_LIBRARY_ARCHITECTURE}$")
  set(ZYFA_ROCM_IS_PRIVATE ON)
  file(GLOB ZYFA_PRIVATE_LOADER ${ZYFA_ROCM_LIBRARY_DIR}/ld-linux*.so.*)
endif()
message(STATUS "ROCm: ${ZYFA_ROCM_PREFIX}")
if(ZYFA_PRIVATE_LOADER)
  message(STATUS "ROCm: its packages need a newer C library than the system's; executables start with ${ZYFA_PRIVATE_LOADER}")
endif()

add_library(zyfa_hip_headers INTERFACE)
target_include_directories(zyfa_hip_headers SYSTEM INTERFACE ${ZYFA_HIP_INCLUDE_DIR})
target_compile_definitions(zyfa_hip_headers INTERFACE __HIP_PLATFORM_AMD__=1)
add_library(zyfa_comgr_headers INTERFACE)
target_include_directories(zyfa_comgr_headers SYSTEM INTERFACE ${ZYFA_COMGR_INCLUDE_DIR})
if(EXISTS ${ZYFA_COMGR_INCLUDE_DIR}/amd_comgr/amd_comgr.h)
  target_include_directories(zyfa_comgr_headers SYSTEM INTERFACE ${ZYFA_COMGR_INCLUDE_DIR}/amd_comgr)
endif()
