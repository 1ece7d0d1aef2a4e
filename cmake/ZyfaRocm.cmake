# SPDX-License-Identifier: Apache-2.0
# Headers of HIP and comgr, from ZYFA_ROCM_DIR, the build tree's own copy (scripts/rocm-packages.sh), or /opt/rocm.
set(_zyfa_rocm_candidates ${ZYFA_ROCM_DIR} ${CMAKE_SOURCE_DIR}/build/rocm /opt/rocm)
find_path(ZYFA_HIP_INCLUDE_DIR hip/hip_runtime_api.h PATHS ${_zyfa_rocm_candidates} PATH_SUFFIXES include usr/include NO_DEFAULT_PATH)
find_path(ZYFA_COMGR_INCLUDE_DIR NAMES amd_comgr/amd_comgr.h amd_comgr.h PATHS ${_zyfa_rocm_candidates}
          PATH_SUFFIXES include usr/include NO_DEFAULT_PATH)
if(NOT ZYFA_HIP_INCLUDE_DIR)
  message(FATAL_ERROR "HIP headers not found in: ${_zyfa_rocm_candidates}. Run scripts/rocm-packages.sh or set ZYFA_ROCM_DIR.")
endif()
add_library(zyfa_hip_headers INTERFACE)
target_include_directories(zyfa_hip_headers SYSTEM INTERFACE ${ZYFA_HIP_INCLUDE_DIR})
target_compile_definitions(zyfa_hip_headers INTERFACE __HIP_PLATFORM_AMD__=1)
