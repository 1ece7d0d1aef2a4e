/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * zyfa's C API: everything the C++ API of include/zyfa does, for C and for languages that call C.
 *
 * Every function that can fail returns a zyfa_status; ZYFA_OK is 0. What went wrong, in words, is kept per
 * thread: zyfa_last_message() and zyfa_last_argument() speak of the last function of this header that failed
 * on the calling thread. Results are written only on success. Handles are opaque; a handle may be used by
 * several threads at once unless its functions say otherwise. Strings are UTF-8; those that a handle returns
 * live as long as the handle. No exception leaves a function.
 *
 * Structures that may grow start with their own size: initialise them with the macro of their name. */
#ifndef ZYFA_H
#define ZYFA_H

#include <stddef.h>
#include <stdint.h>

#define ZYFA_C_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ---- */

typedef enum zyfa_status {
    ZYFA_OK = 0,
    ZYFA_INVALID_ARGUMENT = 1, /**< malformed: null pointer, wrong stride, sizes that disagree */
    ZYFA_UNSUPPORTED = 2,      /**< well-formed, but nothing here computes it */
    ZYFA_NO_DEVICE = 3,        /**< no usable device or HIP library */
    ZYFA_NOT_RESIDENT = 4,     /**< a stream is capturing and the shape was not prepared */
    ZYFA_CACHE_MISS = 5,       /**< mode must_hit, and no cache layer has the key */
    ZYFA_ASSEMBLE_FAILED = 6,  /**< the toolchain refused generated assembly, or there is none */
    ZYFA_DEVICE_ERROR = 7,     /**< HIP reported an error, or the simulator found a fault */
    ZYFA_IO_ERROR = 8,         /**< a file could not be read or written */
    ZYFA_INTERNAL = 9          /**< a defect of zyfa */
} zyfa_status;

ZYFA_C_API const char* zyfa_version(void); /**< "0.1.0" */
/** Short stable name, e.g. "invalid_argument"; "ok" for ZYFA_OK. */
ZYFA_C_API const char* zyfa_status_name(zyfa_status status);
/** Of this thread's last failure; empty strings if there was none. Good until the thread's next failure. */
ZYFA_C_API const char* zyfa_last_message(void);
ZYFA_C_API const char* zyfa_last_argument(void);

/* ---- Values ---- */

typedef enum zyfa_dtype { ZYFA_BF16 = 0, ZYFA_E4M3 = 1, ZYFA_E4M3FNUZ = 2, ZYFA_F32 = 3 } zyfa_dtype;
/** Causal is bottom-right aligned: key j is visible to row i if j <= i + seq_kv - seq_q. */
typedef enum zyfa_mask { ZYFA_MASK_NONE = 0, ZYFA_MASK_CAUSAL = 1 } zyfa_mask;
typedef enum zyfa_probability {
    ZYFA_PROBABILITY_AUTOMATIC = 0,
    ZYFA_PROBABILITY_LEAN = 1,
    ZYFA_PROBABILITY_EXACT = 2
} zyfa_probability;
typedef enum zyfa_mode {
    ZYFA_MODE_CONTEXT = -1, /**< that of the context */
    ZYFA_MODE_OFF = 0,      /**< default schedule, nothing is stored */
    ZYFA_MODE_REPLAY = 1,   /**< a stored winner if there is one, else the default schedule */
    ZYFA_MODE_TUNE = 2,     /**< tune on a miss, and store the winner */
    ZYFA_MODE_MUST_HIT = 3  /**< a miss is ZYFA_CACHE_MISS */
} zyfa_mode;
typedef enum zyfa_layout { ZYFA_BHSD = 0, ZYFA_BSHD = 1 } zyfa_layout;
typedef enum zyfa_cache_result {
    ZYFA_CACHE_OFF = 0,
    ZYFA_CACHE_HIT = 1,
    ZYFA_CACHE_WAS_MISS = 2
} zyfa_cache_result;

/** Strides in elements of one tensor [B, H, S, D]; the stride of D is 1. */
typedef struct zyfa_strides {
    int64_t batch, head, seq;
} zyfa_strides;

/** What is to be computed: no pointers, no device. */
typedef struct zyfa_problem {
    size_t struct_size;
    zyfa_dtype dtype; /**< of q, k and v; o is BF16, lse FP32 */
    zyfa_mask mask;
    zyfa_probability probability; /**< FP8 only */
    int32_t lse;                  /**< whether the log-sum-exp is written */
    int32_t nan_exact;            /**< NaN in one row or key changes no other row by a bit */
    int32_t reserved;             /**< 0 */
    int64_t batch, heads_q, heads_kv, seq_q, seq_kv, dim_qk, dim_v;
    zyfa_strides q, k, v, o;                   /**< elements */
    int64_t lse_batch_stride, lse_head_stride; /**< elements; rows are contiguous */
    float softmax_scale;                       /**< > 0 */
    float q_descale, k_descale, v_descale;     /**< FP8 only: value = code * descale; else 1 */
} zyfa_problem;
#define ZYFA_PROBLEM_INIT                                                                                    \
    {sizeof(zyfa_problem), ZYFA_BF16, ZYFA_MASK_CAUSAL, ZYFA_PROBABILITY_AUTOMATIC, 0, 1}

/** Fills `problem`: contiguous tensors, softmax_scale 1/sqrt(dim_qk), LSE written. */
ZYFA_C_API zyfa_status zyfa_problem_contiguous(zyfa_problem* problem, zyfa_dtype dtype, int64_t batch,
                                               int64_t heads_q, int64_t heads_kv, int64_t seq_q,
                                               int64_t seq_kv, int64_t dim_qk, int64_t dim_v, zyfa_mask mask,
                                               zyfa_layout layout);
/** One line for people. Writes at most `size` bytes, the final 0 among them; `*needed`, if not null, is what
 * all of it takes. */
ZYFA_C_API zyfa_status zyfa_problem_text(const zyfa_problem* problem, char* buffer, size_t size,
                                         size_t* needed);

/** A view of a device tensor [B, H, S, D]. data and every stride but the last are multiples of 16 bytes;
 * strides[3] is 1. */
typedef struct zyfa_tensor {
    void* data;
    zyfa_dtype dtype;
    int32_t device; /**< HIP device ordinal */
    int64_t sizes[4];
    int64_t strides[4]; /**< elements */
} zyfa_tensor;

typedef struct zyfa_attention_args {
    size_t struct_size;
    zyfa_tensor q, k, v, o;
    float* lse;                                /**< null, or FP32 [B, Hq, Sq], natural logarithm */
    int64_t lse_batch_stride, lse_head_stride; /**< elements; both 0 means contiguous */
    zyfa_mask mask;
    zyfa_probability probability;
    zyfa_mode mode;
    int32_t nan_exact;
    const float* softmax_scale; /**< null: 1/sqrt(dim_qk) */
    const float *q_descale, *k_descale,
        *v_descale; /**< e4m3 only; null: 1. Host memory, read during the call */
    void* stream;   /**< hipStream_t; null is the default stream of q's device */
} zyfa_attention_args;
/** Causal, the context's mode, everything else empty. */
#define ZYFA_ATTENTION_ARGS_INIT                                                                             \
    {sizeof(zyfa_attention_args), {0}, {0}, {0}, {0}, 0, 0, 0, ZYFA_MASK_CAUSAL, ZYFA_PROBABILITY_AUTOMATIC, \
     ZYFA_MODE_CONTEXT,           1,   0,   0,   0,   0, 0}

/* ---- Options and contexts ---- */

/** A set of options by name. Not for use by several threads at once. */
typedef struct zyfa_options zyfa_options;

/** What the environment says (ZYFA_DEVICE, ZYFA_MODE, ZYFA_CACHE_DIR ...), else the defaults. */
ZYFA_C_API zyfa_status zyfa_options_create(zyfa_options** options);
ZYFA_C_API void zyfa_options_destroy(zyfa_options* options); /**< null is ignored */
/** Names: device ("auto", "sim" or an ordinal), hip_library, comgr_library, cache_dir, cache_layers (folders
 * and packs, separated by ':'), winners_layer, mode (off, replay, tune, must_hit), tune_budget_s,
 * tuner_worker, tune_memory_bytes, wait_s, log, background_idle_s; and with the values 0 and 1
 * background_tuning, stable and batch_invariant (zyfa/context.hpp). */
ZYFA_C_API zyfa_status zyfa_options_set(zyfa_options* options, const char* name, const char* value);
/** One line per shape that is made resident, by the thread that does it. `user` is passed on. */
typedef void (*zyfa_log_function)(void* user, const char* line);
ZYFA_C_API zyfa_status zyfa_options_set_log(zyfa_options* options, zyfa_log_function function, void* user);

typedef struct zyfa_context zyfa_context;

/** Null options: from the environment. */
ZYFA_C_API zyfa_status zyfa_context_create(const zyfa_options* options, zyfa_context** context);
/** The process-wide context, made at first use from the environment. It is never destroyed. Everywhere below,
 * a null context means this one. */
ZYFA_C_API zyfa_status zyfa_context_global(zyfa_context** context);
ZYFA_C_API void zyfa_context_destroy(zyfa_context* context); /**< null and the process-wide one are ignored */

/* ---- Attention ---- */

/** O = softmax(softmax_scale * Q K^T + mask) V, asynchronously on the stream. A row that sees no key gives O
 * = 0 and LSE = -inf. A refusal comes before any launch. */
ZYFA_C_API zyfa_status zyfa_attention(zyfa_context* context, const zyfa_attention_args* args);

/* ---- BF16 to e4m3 ---- */

typedef enum zyfa_smoothing {
    ZYFA_SMOOTHING_NONE = 0,
    ZYFA_SMOOTHING_MEASURED = 1, /**< the mean row of each head over the sequence, written to `mean` */
    ZYFA_SMOOTHING_GIVEN = 2     /**< `mean` as it is */
} zyfa_smoothing;

typedef struct zyfa_quantize_report {
    float descale;       /**< value = code * descale */
    uint32_t clamped;    /**< finite values beyond 448 * descale, which got the code of +-448 */
    uint32_t non_finite; /**< NaN and infinities, which got the code of NaN */
    float largest;       /**< without a static scale: largest finite magnitude after the transform; else 0 */
} zyfa_quantize_report;

typedef struct zyfa_quantize_args {
    size_t struct_size;
    zyfa_tensor x;            /**< BF16 [B, H, S, D]; D is 64, 96, 128, 192 or 256 */
    zyfa_tensor codes;        /**< e4m3, the sizes of x */
    const float* descale;     /**< static scale; null: the smallest power of two that fits, found first */
    const float* fold_scale;  /**< null, or softmax_scale * k_descale: the descale is the smallest that makes
                                 softmax_scale * q_descale * k_descale * log2(e) a power of two */
    int32_t rotate;           /**< multiply rows by R = diag(s) (C_m (x) H_D/m), after smoothing */
    zyfa_smoothing smoothing; /**< subtract the mean row of each head */
    float* mean;              /**< device memory, FP32 [B, H, D]; null without smoothing */
    void* stream;             /**< hipStream_t; null is the default stream of x's device */
} zyfa_quantize_args;
#define ZYFA_QUANTIZE_ARGS_INIT {sizeof(zyfa_quantize_args), {0}, {0}, 0, 0, 0, ZYFA_SMOOTHING_NONE, 0, 0}

/** Codes and report (host memory). Waits for the stream. A refusal comes before any launch. */
ZYFA_C_API zyfa_status zyfa_quantize(zyfa_context* context, const zyfa_quantize_args* args,
                                     zyfa_quantize_report* report);
/** The same without waiting; `report` is device memory, or null with a static scale. */
ZYFA_C_API zyfa_status zyfa_quantize_async(zyfa_context* context, const zyfa_quantize_args* args,
                                           zyfa_quantize_report* report);
/** Makes the kernels for rows of `dim` elements resident: needed before a stream captures a quantization. */
ZYFA_C_API zyfa_status zyfa_prepare_quantize(zyfa_context* context, int64_t dim, int rotate, int smooth,
                                             int device);
/** The smallest descale, at least `at_least`, whose score scale is a power of two. */
ZYFA_C_API zyfa_status zyfa_folded_descale(float at_least, float softmax_scale, float k_descale,
                                           float* descale);

typedef struct zyfa_mean_score_args {
    size_t struct_size;
    zyfa_tensor q;     /**< BF16 [B, Hq, S, D], not rotated */
    const float* mean; /**< device memory, FP32 [B, Hkv, D], of the smoothed keys */
    int64_t heads_kv;
    float* lse;                                /**< FP32 [B, Hq, S], of zyfa_attention on the smoothed keys */
    int64_t lse_batch_stride, lse_head_stride; /**< elements; both 0 means contiguous */
    const float* softmax_scale;                /**< null: 1/sqrt(D) */
    void* stream;
} zyfa_mean_score_args;
#define ZYFA_MEAN_SCORE_ARGS_INIT {sizeof(zyfa_mean_score_args), {0}, 0, 1, 0, 0, 0, 0, 0}

/** lse += softmax_scale * q . mean, asynchronously: LSE of the keys as they were. */
ZYFA_C_API zyfa_status zyfa_add_mean_score(zyfa_context* context, const zyfa_mean_score_args* args);
/** Element of R for rows of `dim` elements; x R is the rotated row. */
ZYFA_C_API zyfa_status zyfa_rotation_element(int64_t dim, int64_t row, int64_t column, double* element);

/** What would run for a problem on a device, and why. */
typedef struct zyfa_explanation zyfa_explanation;
typedef enum zyfa_explanation_text {
    ZYFA_EXPLANATION_KERNEL = 0,        /**< kernel name */
    ZYFA_EXPLANATION_SCHEDULE = 1,      /**< canonical text */
    ZYFA_EXPLANATION_LAYER = 2,         /**< cache layer that answered, or empty */
    ZYFA_EXPLANATION_KEY = 3,           /**< winner key, readable */
    ZYFA_EXPLANATION_REASON = 4,        /**< one sentence */
    ZYFA_EXPLANATION_EVIDENCE = 5,      /**< of the winner, JSON, or empty */
    ZYFA_EXPLANATION_BINARY_DIGEST = 6, /**< hex */
    ZYFA_EXPLANATION_TOOLCHAIN = 7      /**< which toolchain made the binary */
} zyfa_explanation_text;
/** Wall-clock milliseconds spent on making one shape resident. */
typedef struct zyfa_stage_times {
    size_t struct_size;
    double instantiate, assemble, gate, tune, load, launch;
} zyfa_stage_times;

ZYFA_C_API const char* zyfa_explanation_get(const zyfa_explanation* explanation, zyfa_explanation_text text);
ZYFA_C_API zyfa_cache_result zyfa_explanation_cache(const zyfa_explanation* explanation);
ZYFA_C_API int zyfa_explanation_resident(const zyfa_explanation* explanation);
ZYFA_C_API zyfa_status zyfa_explanation_stages(const zyfa_explanation* explanation, zyfa_stage_times* stages);
ZYFA_C_API void zyfa_explanation_destroy(zyfa_explanation* explanation); /**< null is ignored */

/** In the three functions below `explanation` may be null; else it receives a handle to be destroyed. */

/** Makes the shape resident on `device`: assembles or loads, tunes if the context's mode says so. Not legal
 * while a stream of the device captures. */
ZYFA_C_API zyfa_status zyfa_prepare(zyfa_context* context, const zyfa_problem* problem, int device,
                                    zyfa_explanation** explanation);
/** What would run, without assembling, loading, tuning or storing anything. */
ZYFA_C_API zyfa_status zyfa_explain(zyfa_context* context, const zyfa_problem* problem, int device,
                                    zyfa_explanation** explanation);

typedef struct zyfa_tune_request {
    size_t struct_size;
    double budget_s;       /**< wall clock for assembling, gate and timing; 0: unlimited */
    int32_t retune;        /**< tune although a winner is known, and replace it */
    int32_t fresh;         /**< measure again what earlier tunings have measured */
    const void *q, *k, *v; /**< host copies of inputs to tune on, in the problem's strides; all or none */
    const char* profile;   /**< recorded with the winner as what it was tuned on; null: "caller" */
} zyfa_tune_request;
#define ZYFA_TUNE_REQUEST_INIT {sizeof(zyfa_tune_request), 60.0, 1, 0, 0, 0, 0, 0}
/** Tunes now, whatever the context's mode; null request: as ZYFA_TUNE_REQUEST_INIT says. */
ZYFA_C_API zyfa_status zyfa_tune(zyfa_context* context, const zyfa_problem* problem, int device,
                                 const zyfa_tune_request* request, zyfa_explanation** explanation);

/** A job's own means of communication. After a call, `bytes` are those of rank `root`, on every rank:
 * collective, in the same order everywhere. 0 if that is so, else the agreement fails. */
typedef struct zyfa_bytes zyfa_bytes;
ZYFA_C_API void* zyfa_bytes_data(zyfa_bytes* bytes);
ZYFA_C_API size_t zyfa_bytes_size(const zyfa_bytes* bytes);
ZYFA_C_API zyfa_status zyfa_bytes_resize(zyfa_bytes* bytes, size_t size);
typedef int (*zyfa_broadcast_function)(void* user, zyfa_bytes* bytes, int root);
/** Makes the problem's shape resident with the selection of rank 0 on every rank, or on none
 * (zyfa/agree.hpp).
 */
ZYFA_C_API zyfa_status zyfa_agree(zyfa_context* context, const zyfa_problem* problem, int device, int rank,
                                  int count, zyfa_broadcast_function broadcast, void* user,
                                  zyfa_explanation** explanation);

/* ---- What a person decides about winners (zyfa/winners.hpp) ---- */

/** The schedule serves the problem's bucket, whatever is tuned; null: the one that serves it now. `reason`
 * may be null. */
ZYFA_C_API zyfa_status zyfa_pin(zyfa_context* context, const zyfa_problem* problem, int device,
                                const char* schedule, const char* reason);
/** `was`: 0 where nothing was pinned; may be null. */
ZYFA_C_API zyfa_status zyfa_unpin(zyfa_context* context, const zyfa_problem* problem, int device, int* was);
/** The schedule neither wins nor runs for the bucket. `reason` may be null. */
ZYFA_C_API zyfa_status zyfa_ban(zyfa_context* context, const zyfa_problem* problem, int device,
                                const char* schedule, const char* reason);
/** `was`: 0 where it was not banned; may be null. */
ZYFA_C_API zyfa_status zyfa_unban(zyfa_context* context, const zyfa_problem* problem, int device,
                                  const char* schedule, int* was);
/** The last former winner, or the one of `schedule` unless that is null, is the winner again. */
ZYFA_C_API zyfa_status zyfa_roll_back(zyfa_context* context, const zyfa_problem* problem, int device,
                                      const char* schedule);

/** Pins and bans, then former winners, the last one first. Texts live as long as the list. */
typedef struct zyfa_rulings zyfa_rulings;
typedef enum zyfa_ruling_kind { ZYFA_PIN = 0, ZYFA_BAN = 1, ZYFA_FORMER_WINNER = 2 } zyfa_ruling_kind;
typedef struct zyfa_ruling {
    size_t struct_size;
    zyfa_ruling_kind kind;
    int32_t every_key;    /**< a ban of the schedule for whatever problem and device */
    const char* schedule; /**< canonical text */
    const char* reason;   /**< of a pin or ban, as it was given */
    const char* evidence; /**< of a former winner, as JSON */
    uint64_t unix_time;   /**< of the ruling, or when the winner was replaced */
    int32_t rolled_back;  /**< a former winner that zyfa_roll_back has left */
    int32_t reserved;
} zyfa_ruling;
ZYFA_C_API zyfa_status zyfa_context_rulings(zyfa_context* context, const zyfa_problem* problem, int device,
                                            zyfa_rulings** rulings);
ZYFA_C_API size_t zyfa_rulings_count(const zyfa_rulings* rulings);
ZYFA_C_API zyfa_status zyfa_rulings_get(const zyfa_rulings* rulings, size_t index, zyfa_ruling* ruling);
ZYFA_C_API void zyfa_rulings_destroy(zyfa_rulings* rulings); /**< null is ignored */

/* ---- What a context knows ---- */

/** Counts since the context was made. */
typedef struct zyfa_counters {
    size_t struct_size;
    uint64_t assembled, gated, timed, hits, misses, waited, damaged;
    uint64_t stale;       /**< winners of another version of their template */
    uint64_t old;         /**< hits whose evidence is of another driver or firmware */
    uint64_t timed_out;   /**< waits for another process that were given up */
    uint64_t unpublished; /**< entries that could not be, or were not to be, stored */
    uint64_t pruned;      /**< entries removed to keep the user layer within its limits */
    uint64_t retuned;     /**< keys that background tuning has come to a verdict about */
} zyfa_counters;
ZYFA_C_API zyfa_status zyfa_context_counters(zyfa_context* context, zyfa_counters* counters);

/** The cache layers, in the order in which they are asked. */
typedef struct zyfa_layers zyfa_layers;
typedef struct zyfa_layer {
    size_t struct_size;
    const char *name, *path, *note; /**< note: why the layer is ignored, or in memory */
    int32_t writable;
    int32_t reserved;
    uint64_t winners, binaries, measurements, quarantined, bytes;
    uint64_t hits; /**< winners that this context found here */
} zyfa_layer;
ZYFA_C_API zyfa_status zyfa_context_layers(zyfa_context* context, zyfa_layers** layers);
ZYFA_C_API size_t zyfa_layers_count(const zyfa_layers* layers);
ZYFA_C_API zyfa_status zyfa_layers_get(const zyfa_layers* layers, size_t index, zyfa_layer* layer);
ZYFA_C_API void zyfa_layers_destroy(zyfa_layers* layers); /**< null is ignored */

typedef struct zyfa_devices zyfa_devices;
typedef struct zyfa_device {
    size_t struct_size;
    int32_t ordinal, compute_units, xcds, simulated;
    const char *name, *target; /**< "AMD Instinct MI355X", "gfx950:sramecc+:xnack-" */
} zyfa_device;
ZYFA_C_API zyfa_status zyfa_context_devices(zyfa_context* context, zyfa_devices** devices);
ZYFA_C_API size_t zyfa_devices_count(const zyfa_devices* devices);
ZYFA_C_API zyfa_status zyfa_devices_get(const zyfa_devices* devices, size_t index, zyfa_device* device);
ZYFA_C_API void zyfa_devices_destroy(zyfa_devices* devices); /**< null is ignored */

/* ---- Device memory, for programs that do not call HIP themselves ---- */

/** hipMalloc memory of the HIP library that the context has loaded. 0 bytes give a null pointer. */
ZYFA_C_API zyfa_status zyfa_device_allocate(zyfa_context* context, size_t bytes, int device, void** pointer);
/** Waits for the device's work, as hipFree does. Null is ignored. */
ZYFA_C_API zyfa_status zyfa_device_release(zyfa_context* context, void* pointer);
/** Synchronous. */
ZYFA_C_API zyfa_status zyfa_copy_to_device(zyfa_context* context, void* to, const void* from, size_t bytes,
                                           int device);
ZYFA_C_API zyfa_status zyfa_copy_to_host(zyfa_context* context, void* to, const void* from, size_t bytes,
                                         int device);
/** Waits for everything launched on `device`; where a fault of the simulator is reported. */
ZYFA_C_API zyfa_status zyfa_synchronize(zyfa_context* context, int device);

#ifdef __cplusplus
}
#endif

#endif /**< ZYFA_H */
