/* SPDX-License-Identifier: Apache-2.0 */
/* C interface of libzyfa-llvm.so, which the LLVM assembler backend loads with dlopen. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct zyfa_llvm_output {
    void* context;
    /* The linked ELF; called once, on success only. */
    void (*code_object)(void* context, const void* bytes, size_t size);
    /* Text of the diagnostics, "file:line:column: severity: message" and what belongs to it; any number of
     * times. */
    void (*log)(void* context, const char* text, size_t size);
    double assemble_ms, link_ms; /* set by the call */
};

/* "22.1.8" */
typedef const char* (*zyfa_llvm_version_function)(void);
/* Assembles and links one file for `cpu` ("gfx950") with LLVM `features` ("+sramecc,-xnack", may be empty).
 * Returns 0 on success. Callable from any thread; linking is serialised. */
typedef int (*zyfa_llvm_assemble_function)(const char* text, size_t size, const char* file_name,
                                           const char* cpu, const char* features,
                                           struct zyfa_llvm_output* output);

#ifdef __cplusplus
}
#endif
