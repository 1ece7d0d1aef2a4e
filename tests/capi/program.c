/* SPDX-License-Identifier: Apache-2.0
 * A C program that uses all of zyfa.h on the simulator: attention against a double-precision loop, what is
 * known about a shape, tuning, refusals with their words, and one message per thread. Built with the library,
 * and once more from the installed package alone. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zyfa.h>

enum { heads_q = 2, heads_kv = 1, seq_q = 70, seq_kv = 100, dim = 128 };

static void fail(const char* what, int line) {
    fprintf(stderr, "line %d: %s: %s (%s)\n", line, what, zyfa_last_message(), zyfa_last_argument());
    exit(1);
}
#define OK(call) ((call) == ZYFA_OK ? (void)0 : fail(#call, __LINE__))
#define CHECK(condition) ((condition) ? (void)0 : fail(#condition, __LINE__))

static uint16_t bf16_of(double value) {
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

static double of_bf16(uint16_t code) {
    uint32_t bits = (uint32_t)code << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Seeded numbers in (-1, 1). */
static uint16_t* drawn(size_t count, uint32_t seed) {
    uint16_t* codes = malloc(count * sizeof *codes);
    CHECK(codes != NULL);
    for (size_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        codes[i] = bf16_of((double)(seed >> 8) / (1u << 23) - 1.0);
    }
    return codes;
}

/* Causal attention of one row; returns its log-sum-exp. */
static double reference(const uint16_t* q, const uint16_t* k, const uint16_t* v, int row, double* out) {
    double weights[seq_kv], largest = -INFINITY, sum = 0;
    const int visible = row + seq_kv - seq_q + 1;
    for (int j = 0; j < visible; ++j) {
        double dot = 0;
        for (int c = 0; c < dim; ++c)
            dot += of_bf16(q[row * dim + c]) * of_bf16(k[j * dim + c]);
        weights[j] = dot / sqrt((double)dim);
        largest = fmax(largest, weights[j]);
    }
    for (int c = 0; c < dim; ++c)
        out[c] = 0;
    for (int j = 0; j < visible; ++j) {
        const double w = exp(weights[j] - largest);
        sum += w;
        for (int c = 0; c < dim; ++c)
            out[c] += w * of_bf16(v[j * dim + c]);
    }
    for (int c = 0; c < dim; ++c)
        out[c] /= sum;
    return largest + log(sum);
}

static zyfa_tensor tensor(void* data, int64_t heads, int64_t rows) {
    zyfa_tensor t = {data, ZYFA_BF16, 0, {1, heads, rows, dim}, {heads * rows * dim, rows * dim, dim, 1}};
    return t;
}

static void* uploaded(zyfa_context* context, const void* data, size_t bytes) {
    void* pointer = NULL;
    OK(zyfa_device_allocate(context, bytes, 0, &pointer));
    OK(zyfa_copy_to_device(context, pointer, data, bytes, 0));
    return pointer;
}

static void attention(zyfa_context* context) {
    const size_t q_count = heads_q * seq_q * dim, kv_count = heads_kv * seq_kv * dim;
    uint16_t *q = drawn(q_count, 1), *k = drawn(kv_count, 2), *v = drawn(kv_count, 3),
             *o = malloc(q_count * 2);
    float lse[heads_q * seq_q];
    void* device_lse = NULL;

    zyfa_attention_args args = ZYFA_ATTENTION_ARGS_INIT;
    args.q = tensor(uploaded(context, q, q_count * 2), heads_q, seq_q);
    args.k = tensor(uploaded(context, k, kv_count * 2), heads_kv, seq_kv);
    args.v = tensor(uploaded(context, v, kv_count * 2), heads_kv, seq_kv);
    args.o = tensor(NULL, heads_q, seq_q);
    OK(zyfa_device_allocate(context, q_count * 2, 0, &args.o.data));
    OK(zyfa_device_allocate(context, sizeof lse, 0, &device_lse));
    args.lse = device_lse;
    OK(zyfa_attention(context, &args));
    OK(zyfa_synchronize(context, 0));
    OK(zyfa_copy_to_host(context, o, args.o.data, q_count * 2, 0));
    OK(zyfa_copy_to_host(context, lse, args.lse, sizeof lse, 0));

    double error = 0, size = 0, lse_error = 0, row_out[dim];
    for (int h = 0; h < heads_q; ++h)
        for (int row = 0; row < seq_q; ++row) {
            const double row_lse = reference(q + h * seq_q * dim, k, v, row, row_out);
            lse_error = fmax(lse_error, fabs(row_lse - lse[h * seq_q + row]));
            for (int c = 0; c < dim; ++c) {
                const double difference = of_bf16(o[(h * seq_q + row) * dim + c]) - row_out[c];
                error += difference * difference;
                size += row_out[c] * row_out[c];
            }
        }
    printf("relative RMS error %.2e, LSE within %.1e\n", sqrt(error / size), lse_error);
    CHECK(sqrt(error / size) < 4e-3 && lse_error < 1e-4);

    /* Refusals come before any launch and name the argument. */
    zyfa_attention_args bad = args;
    bad.q.strides[3] = 2;
    CHECK(zyfa_attention(context, &bad) == ZYFA_UNSUPPORTED);
    CHECK(strcmp(zyfa_last_argument(), "q.strides[3]") == 0 && strstr(zyfa_last_message(), "accepted"));
    bad = args;
    bad.v.dtype = (zyfa_dtype)17;
    CHECK(zyfa_attention(context, &bad) == ZYFA_INVALID_ARGUMENT);
    CHECK(strcmp(zyfa_last_argument(), "args.v.dtype") == 0);
    bad = args;
    bad.struct_size = 8;
    CHECK(zyfa_attention(context, &bad) == ZYFA_INVALID_ARGUMENT);
    CHECK(strcmp(zyfa_last_argument(), "args.struct_size") == 0);

    void* buffers[] = {args.q.data, args.k.data, args.v.data, args.o.data, args.lse};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; ++i)
        OK(zyfa_device_release(context, buffers[i]));
    free(q);
    free(k);
    free(v);
    free(o);
}

/* K of one head to e4m3 codes: per-call scale, mean subtracted and brought back in LSE, static scale. */
static void quantization(zyfa_context* context) {
    const size_t count = heads_kv * seq_kv * dim;
    uint16_t* k = drawn(count, 5);
    uint8_t codes[heads_kv * seq_kv * dim];
    float mean[dim], lse[seq_kv] = {0};
    void *device_mean = NULL, *device_lse = uploaded(context, lse, sizeof lse);
    OK(zyfa_prepare_quantize(context, dim, 0, 1, 0));
    OK(zyfa_device_allocate(context, sizeof mean, 0, &device_mean));

    zyfa_quantize_args args = ZYFA_QUANTIZE_ARGS_INIT;
    args.x = args.codes = tensor(uploaded(context, k, count * 2), heads_kv, seq_kv);
    args.codes.dtype = ZYFA_E4M3;
    OK(zyfa_device_allocate(context, count, 0, &args.codes.data));
    args.smoothing = ZYFA_SMOOTHING_MEASURED;
    args.mean = device_mean;
    zyfa_quantize_report report;
    OK(zyfa_quantize(context, &args, &report));
    OK(zyfa_copy_to_host(context, codes, args.codes.data, sizeof codes, 0));
    OK(zyfa_copy_to_host(context, mean, device_mean, sizeof mean, 0));
    double sum = 0;
    for (int row = 0; row < seq_kv; ++row)
        sum += of_bf16(k[row * dim]);
    CHECK(fabs(sum / seq_kv - mean[0]) < 1e-6);
    CHECK(report.clamped == 0 && report.non_finite == 0 && report.largest / report.descale <= 448);
    printf("descale %g, first code 0x%02x\n", report.descale, codes[0]);

    zyfa_mean_score_args add = ZYFA_MEAN_SCORE_ARGS_INIT;
    add.q = args.x;
    add.mean = device_mean;
    add.lse = device_lse;
    OK(zyfa_add_mean_score(context, &add));
    OK(zyfa_copy_to_host(context, lse, device_lse, sizeof lse, 0));
    double score = 0;
    for (int c = 0; c < dim; ++c)
        score += of_bf16(k[c]) * mean[c];
    CHECK(fabs(score / sqrt((double)dim) - lse[0]) < 1e-5);

    const float descale = 1.0f / 1024;
    args.descale = &descale;
    args.smoothing = ZYFA_SMOOTHING_NONE;
    args.mean = NULL;
    OK(zyfa_quantize_async(context, &args, NULL));
    OK(zyfa_quantize(context, &args, &report));
    CHECK(report.clamped > 0 && report.descale == descale);
    args.fold_scale = &descale;
    CHECK(zyfa_quantize(context, &args, &report) == ZYFA_INVALID_ARGUMENT);
    CHECK(strcmp(zyfa_last_argument(), "fold_scale") == 0);

    float folded = 0;
    double element = 0;
    OK(zyfa_folded_descale(0.01f, 0.125f, 0.5f, &folded));
    OK(zyfa_rotation_element(dim, 3, 4, &element));
    CHECK(folded >= 0.01f && fabs(fabs(element) - 1 / sqrt((double)dim)) < 1e-12);
    CHECK(zyfa_rotation_element(100, 0, 0, &element) == ZYFA_UNSUPPORTED);

    void* buffers[] = {args.x.data, args.codes.data, device_mean, device_lse};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; ++i)
        OK(zyfa_device_release(context, buffers[i]));
    free(k);
}

/* Of a job of one rank: its bytes are everyone's. */
static int broadcast(void* user, zyfa_bytes* bytes, int root) {
    int* calls = user;
    ++*calls;
    return root == 0 && (zyfa_bytes_size(bytes) == 0 || zyfa_bytes_data(bytes)) ? 0 : 1;
}

static int broken_broadcast(void* user, zyfa_bytes* bytes, int root) {
    (void)user, (void)bytes, (void)root;
    return 7;
}

static void shapes(zyfa_context* context) {
    zyfa_problem problem;
    OK(zyfa_problem_contiguous(&problem, ZYFA_BF16, 1, heads_q, heads_kv, seq_q, seq_kv, dim, dim,
                               ZYFA_MASK_CAUSAL, ZYFA_BHSD));
    char text[200];
    size_t needed = 0;
    OK(zyfa_problem_text(&problem, text, sizeof text, &needed));
    CHECK(needed == strlen(text) + 1 && strstr(text, "bf16 causal"));
    OK(zyfa_problem_text(&problem, text, 5, NULL));
    CHECK(strcmp(text, "bf16") == 0);

    zyfa_explanation* explanation = NULL;
    OK(zyfa_explain(context, &problem, 0, &explanation));
    CHECK(*zyfa_explanation_get(explanation, ZYFA_EXPLANATION_REASON) != '\0');
    zyfa_explanation_destroy(explanation);

    OK(zyfa_prepare(context, &problem, 0, &explanation));
    zyfa_stage_times stages = {sizeof stages, 0, 0, 0, 0, 0, 0};
    OK(zyfa_explanation_stages(explanation, &stages));
    printf("%s by %s\n", zyfa_explanation_get(explanation, ZYFA_EXPLANATION_SCHEDULE),
           zyfa_explanation_get(explanation, ZYFA_EXPLANATION_TOOLCHAIN));
    CHECK(zyfa_explanation_resident(explanation) &&
          *zyfa_explanation_get(explanation, ZYFA_EXPLANATION_KERNEL));
    zyfa_explanation_destroy(explanation);

    int calls = 0;
    OK(zyfa_agree(context, &problem, 0, 0, 1, broadcast, &calls, NULL));
    CHECK(zyfa_agree(context, &problem, 0, 2, 1, broadcast, &calls, NULL) == ZYFA_INVALID_ARGUMENT);
    CHECK(zyfa_agree(context, &problem, 0, 0, 1, NULL, NULL, NULL) == ZYFA_INVALID_ARGUMENT);
    CHECK(zyfa_agree(context, &problem, 0, 1, 2, broken_broadcast, NULL, NULL) == ZYFA_IO_ERROR);
    CHECK(strstr(zyfa_last_message(), "returned 7"));

    zyfa_tune_request request = ZYFA_TUNE_REQUEST_INIT;
    request.budget_s = -1;
    CHECK(zyfa_tune(context, &problem, 0, &request, NULL) == ZYFA_INVALID_ARGUMENT);
    CHECK(strcmp(zyfa_last_argument(), "budget_s") == 0);

    problem.dim_qk = 100;
    CHECK(zyfa_prepare(context, &problem, 0, NULL) != ZYFA_OK);
}

static void rulings(zyfa_context* context) {
    zyfa_problem problem;
    OK(zyfa_problem_contiguous(&problem, ZYFA_BF16, 1, 2, 1, 64, 64, 128, 128, ZYFA_MASK_CAUSAL, ZYFA_BHSD));
    zyfa_explanation* explanation = NULL;
    OK(zyfa_explain(context, &problem, 0, &explanation));
    const char* schedule = zyfa_explanation_get(explanation, ZYFA_EXPLANATION_SCHEDULE);
    OK(zyfa_ban(context, &problem, 0, schedule, "slow here"));
    zyfa_rulings* list = NULL;
    OK(zyfa_context_rulings(context, &problem, 0, &list));
    CHECK(zyfa_rulings_count(list) == 1);
    zyfa_ruling ruling = {.struct_size = sizeof ruling};
    OK(zyfa_rulings_get(list, 0, &ruling));
    CHECK(ruling.kind == ZYFA_BAN && strcmp(ruling.schedule, schedule) == 0);
    CHECK(strcmp(ruling.reason, "slow here") == 0);
    CHECK(zyfa_rulings_get(list, 1, &ruling) == ZYFA_INVALID_ARGUMENT);
    zyfa_rulings_destroy(list);
    CHECK(zyfa_pin(context, &problem, 0, schedule, NULL) == ZYFA_INVALID_ARGUMENT); /* is banned */
    CHECK(zyfa_ban(context, &problem, 0, NULL, NULL) == ZYFA_INVALID_ARGUMENT);
    int was = 0;
    OK(zyfa_unban(context, &problem, 0, schedule, &was));
    CHECK(was == 1);
    OK(zyfa_pin(context, &problem, 0, schedule, NULL));
    OK(zyfa_unpin(context, &problem, 0, &was));
    CHECK(was == 1);
    OK(zyfa_unpin(context, &problem, 0, &was));
    CHECK(was == 0);
    CHECK(zyfa_roll_back(context, &problem, 0, NULL) ==
          ZYFA_INVALID_ARGUMENT); /* there is no former winner */
    zyfa_explanation_destroy(explanation);
}

static void knowledge(zyfa_context* context) {
    zyfa_counters counters = {0};
    CHECK(zyfa_context_counters(context, &counters) == ZYFA_INVALID_ARGUMENT);
    counters.struct_size = sizeof counters;
    OK(zyfa_context_counters(context, &counters));
    CHECK(counters.assembled >= 1);

    zyfa_devices* devices = NULL;
    zyfa_device device = {.struct_size = sizeof device};
    OK(zyfa_context_devices(context, &devices));
    CHECK(zyfa_devices_count(devices) >= 1);
    OK(zyfa_devices_get(devices, 0, &device));
    CHECK(device.simulated && strstr(device.target, "gfx950"));
    CHECK(zyfa_devices_get(devices, 1000, &device) == ZYFA_INVALID_ARGUMENT);
    zyfa_devices_destroy(devices);

    zyfa_layers* layers = NULL;
    zyfa_layer layer = {.struct_size = sizeof layer};
    OK(zyfa_context_layers(context, &layers));
    for (size_t i = 0; i < zyfa_layers_count(layers); ++i) {
        OK(zyfa_layers_get(layers, i, &layer));
        CHECK(*layer.name != '\0');
    }
    zyfa_layers_destroy(layers);
}

static void* other_thread(void* unused) {
    (void)unused;
    CHECK(*zyfa_last_message() == '\0');
    CHECK(zyfa_problem_text(NULL, NULL, 0, NULL) == ZYFA_INVALID_ARGUMENT);
    CHECK(strcmp(zyfa_last_argument(), "problem") == 0);
    return NULL;
}

static void count_line(void* user, const char* line) {
    ++*(int*)user;
    printf("log: %s\n", line);
}

int main(void) {
    int lines = 0;
    zyfa_options* options = NULL;
    OK(zyfa_options_create(&options));
    OK(zyfa_options_set(options, "device", "sim"));
    OK(zyfa_options_set(options, "cache_dir", ":memory:"));
    OK(zyfa_options_set(options, "mode", "replay"));
    OK(zyfa_options_set(options, "tune_budget_s", "1.5"));
    OK(zyfa_options_set_log(options, count_line, &lines));
    CHECK(zyfa_options_set(options, "mode", "quick") == ZYFA_INVALID_ARGUMENT);
    OK(zyfa_options_set(options, "stable", "1"));
    OK(zyfa_options_set(options, "tune_memory_bytes", "1000000000"));
    CHECK(zyfa_options_set(options, "tune_memory_bytes", "much") == ZYFA_INVALID_ARGUMENT);
    CHECK(zyfa_options_set(options, "background_tuning", "yes") == ZYFA_INVALID_ARGUMENT);
    CHECK(zyfa_options_set(options, "colour", "red") == ZYFA_INVALID_ARGUMENT);
    CHECK(strstr(zyfa_last_message(), "cache_layers") != NULL);

    zyfa_context* context = NULL;
    OK(zyfa_context_create(options, &context));
    zyfa_options_destroy(options);
    printf("zyfa %s\n", zyfa_version());
    attention(context);
    quantization(context);
    shapes(context);
    rulings(context);
    knowledge(context);

    pthread_t thread;
    CHECK(zyfa_options_set(NULL, "mode", "off") == ZYFA_INVALID_ARGUMENT);
    CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(strcmp(zyfa_last_argument(), "options") == 0);
    CHECK(strcmp(zyfa_status_name(ZYFA_CACHE_MISS), "cache_miss") == 0 &&
          strcmp(zyfa_status_name(ZYFA_OK), "ok") == 0);
    printf("%d log lines\n", lines);
    zyfa_context_destroy(context);
    puts("ok");
    return 0;
}
