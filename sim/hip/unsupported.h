/* SPDX-License-Identifier: Apache-2.0 */
/* What the generated stubs do: one line on stderr per function, and hipErrorNotSupported (801). */
#ifndef ZYFA_SIM_HIP_UNSUPPORTED_H
#define ZYFA_SIM_HIP_UNSUPPORTED_H

#ifdef __cplusplus
extern "C" {
#endif

int zyfa_sim_hip_unsupported(const char* function);

#ifdef __cplusplus
}
#endif

#define ZYFA_HIP_STUB(name)                                                                                  \
    int name(void);                                                                                          \
    __attribute__((weak, visibility("default"))) int name(void) {                                            \
        return zyfa_sim_hip_unsupported(#name);                                                              \
    }

#endif
