// SPDX-License-Identifier: Apache-2.0
// Calls, and what is said about them.
#include "capi/context.hpp"
#include "capi/status.hpp"
#include "capi/values.hpp"
#include "zyfa/agree.hpp"
#include "zyfa/tuning.hpp"

struct zyfa_bytes {
    std::vector<std::byte>& bytes;
};
struct zyfa_explanation {
    zyfa::Explanation explanation;
};

namespace {

using namespace zyfa;

/// `explain` gives an Explanation; it goes to `*out` if that is asked for.
template <class Explain>
zyfa_status explained(zyfa_explanation** out, Explain&& explain) {
    return capi::guarded([&] {
        auto handle = std::make_unique<zyfa_explanation>(zyfa_explanation{explain()});
        if (out)
            *out = handle.release();
    });
}

} // namespace

zyfa_status zyfa_attention(zyfa_context* context, const zyfa_attention_args* args) {
    return capi::guarded([&] { capi::context_of(context).attention(capi::arguments_of(args)); });
}

zyfa_status zyfa_prepare(zyfa_context* context, const zyfa_problem* problem, int device,
                         zyfa_explanation** explanation) {
    return explained(explanation,
                     [&] { return capi::context_of(context).prepare(capi::problem_of(problem), device); });
}

zyfa_status zyfa_explain(zyfa_context* context, const zyfa_problem* problem, int device,
                         zyfa_explanation** explanation) {
    return explained(explanation,
                     [&] { return capi::context_of(context).explain(capi::problem_of(problem), device); });
}

zyfa_status zyfa_tune(zyfa_context* context, const zyfa_problem* problem, int device,
                      const zyfa_tune_request* request, zyfa_explanation** explanation) {
    return explained(explanation, [&] {
        TuneRequest tune_request;
        if (request) {
            const zyfa_tune_request& c = capi::sized(request, "request");
            tune_request.budget_s = c.budget_s;
            tune_request.retune = c.retune != 0;
            tune_request.fresh = c.fresh != 0;
            tune_request.q = c.q;
            tune_request.k = c.k;
            tune_request.v = c.v;
            if (c.profile)
                tune_request.profile = c.profile;
        }
        return tune(capi::context_of(context), capi::problem_of(problem), device, tune_request);
    });
}

const char* zyfa_explanation_get(const zyfa_explanation* explanation, zyfa_explanation_text text) {
    if (!explanation)
        return "";
    const Explanation& e = explanation->explanation;
    switch (text) {
    case ZYFA_EXPLANATION_KERNEL:
        return e.kernel.c_str();
    case ZYFA_EXPLANATION_SCHEDULE:
        return e.schedule.c_str();
    case ZYFA_EXPLANATION_LAYER:
        return e.layer.c_str();
    case ZYFA_EXPLANATION_KEY:
        return e.key.c_str();
    case ZYFA_EXPLANATION_REASON:
        return e.reason.c_str();
    case ZYFA_EXPLANATION_EVIDENCE:
        return e.evidence_json.c_str();
    case ZYFA_EXPLANATION_BINARY_DIGEST:
        return e.binary_digest.c_str();
    case ZYFA_EXPLANATION_TOOLCHAIN:
        return e.toolchain.c_str();
    }
    return "";
}

zyfa_cache_result zyfa_explanation_cache(const zyfa_explanation* explanation) {
    return explanation ? static_cast<zyfa_cache_result>(explanation->explanation.cache) : ZYFA_CACHE_OFF;
}

int zyfa_explanation_resident(const zyfa_explanation* explanation) {
    return explanation && explanation->explanation.resident;
}

zyfa_status zyfa_explanation_stages(const zyfa_explanation* explanation, zyfa_stage_times* stages) {
    return capi::guarded([&] {
        const StageTimes& s = capi::required(explanation, "explanation").explanation.stages;
        zyfa_stage_times& out = capi::sized(stages, "stages");
        out = {sizeof out, s.instantiate, s.assemble, s.gate, s.tune, s.load, s.launch};
    });
}

void zyfa_explanation_destroy(zyfa_explanation* explanation) {
    delete explanation;
}

void* zyfa_bytes_data(zyfa_bytes* bytes) {
    return bytes ? bytes->bytes.data() : nullptr;
}

size_t zyfa_bytes_size(const zyfa_bytes* bytes) {
    return bytes ? bytes->bytes.size() : 0;
}

zyfa_status zyfa_bytes_resize(zyfa_bytes* bytes, size_t size) {
    return capi::guarded([&] { capi::required(bytes, "bytes").bytes.resize(size); });
}

zyfa_status zyfa_agree(zyfa_context* context, const zyfa_problem* problem, int device, int rank, int count,
                       zyfa_broadcast_function broadcast, void* user, zyfa_explanation** explanation) {
    return explained(explanation, [&] {
        Ranks ranks;
        ranks.rank = rank;
        ranks.count = count;
        if (broadcast)
            ranks.broadcast = [&](std::vector<std::byte>& bytes, int root) {
                zyfa_bytes handle{bytes};
                if (const int failed = broadcast(user, &handle, root); failed != 0)
                    throw Error(ErrorCode::io_error, "broadcast",
                                "broadcast from rank " + std::to_string(root) + " returned " +
                                    std::to_string(failed) + "; accepted: 0");
            };
        return agree(capi::context_of(context), capi::problem_of(problem), device, ranks);
    });
}
