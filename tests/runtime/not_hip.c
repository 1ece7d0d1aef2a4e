/* SPDX-License-Identifier: Apache-2.0 */
/* A library that has one of HIP's names and nothing behind it. */
int hipGetDeviceCount(int* count);
int hipGetDeviceCount(int* count) {
    *count = 1;
    return 0;
}
