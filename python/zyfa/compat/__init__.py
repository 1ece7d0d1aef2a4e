# SPDX-License-Identifier: Apache-2.0
"""The functions of FlashAttention under their own signatures: ``flash_attn`` (version 2), ``flash_attn_3`` (version 3)."""
