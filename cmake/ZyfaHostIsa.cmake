# SPDX-License-Identifier: Apache-2.0
# zyfa_host_isa_objects(NAME ISAS isa... SOURCES file...): compiles the sources once per host instruction set, each
# time into its own namespace (macro ZYFA_SIM_ISA), and sets NAME_OBJECTS to the object files. The code picks one
# at run time. Instruction sets that the target does not have are skipped; baseline is always there.
# Floating-point contraction is off everywhere: fused operations are written out, so that all sets give the
# same bits. These files are optimised in every build type: the simulator is unusable otherwise.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(ZYFA_HOST_ISAS baseline avx2 avx512)
else()
  set(ZYFA_HOST_ISAS baseline)
endif()
set(ZYFA_HOST_ISA_FLAGS_baseline "")
set(ZYFA_HOST_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c -mbmi2)
set(ZYFA_HOST_ISA_FLAGS_avx512 -mavx2 -mfma -mf16c -mbmi2 -mavx512f -mavx512bw -mavx512dq -mavx512vl)

# GCC 12 warns inside its own AVX-512 header (GCC bug 105593).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND ZYFA_HOST_ISA_FLAGS_avx512 -Wno-maybe-uninitialized -Wno-uninitialized)
endif()

function(zyfa_host_isa_objects name)
  cmake_parse_arguments(arg "" "" "ISAS;SOURCES" ${ARGN})
  set(objects)
  foreach(isa ${ZYFA_HOST_ISAS})
    if(NOT isa IN_LIST arg_ISAS)
      continue()
    endif()
    add_library(zyfa_${name}_${isa} OBJECT ${arg_SOURCES})
    target_link_libraries(zyfa_${name}_${isa} PRIVATE zyfa_flags)
    target_compile_definitions(zyfa_${name}_${isa} PRIVATE ZYFA_SIM_ISA=${isa} ZYFA_SIM_ISA_${isa}=1)
    target_compile_options(zyfa_${name}_${isa} PRIVATE -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math
                           ${ZYFA_HOST_ISA_FLAGS_${isa}})
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang") # | and & of conditions are meant: no branches in lane loops
      target_compile_options(zyfa_${name}_${isa} PRIVATE -Wno-bitwise-instead-of-logical)
    endif()
    list(APPEND objects $<TARGET_OBJECTS:zyfa_${name}_${isa}>)
  endforeach()
  set(${name}_OBJECTS ${objects} PARENT_SCOPE)
endfunction()
