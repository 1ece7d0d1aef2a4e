// SPDX-License-Identifier: Apache-2.0
// As CBOR (RFC 8949): self-describing, with a binary string for the code object.
#include "attention/proposal.hpp"

#include <nlohmann/json.hpp>

#include "zyfa/error.hpp"

namespace zyfa::call {

namespace {

constexpr const char* format = "zyfa.agree/1";

} // namespace

std::vector<std::byte> encode(const Proposal& p) {
    const auto* code = reinterpret_cast<const std::uint8_t*>(p.code_object.data());
    const nlohmann::json json{
        {"format", format},
        {"failure", p.failure},
        {"problem", p.problem},
        {"schedule", p.schedule},
        {"binary", p.binary},
        {"kernel", p.kernel},
        {"toolchain", p.toolchain},
        {"evidence", p.evidence_json},
        {"reason", p.reason},
        {"unsuited", p.unsuited},
        {"code_object", nlohmann::json::binary({code, code + p.code_object.size()})},
    };
    const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(json);
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    return {data, data + bytes.size()};
}

Proposal decode_proposal(const std::vector<std::byte>& bytes) {
    try {
        const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
        const nlohmann::json json = nlohmann::json::from_cbor(data, data + bytes.size());
        if (json.at("format") != format)
            throw Error(ErrorCode::invalid_argument, "ranks",
                        "rank 0 speaks " + json.at("format").dump() + "; accepted: " + format);
        Proposal p;
        json.at("failure").get_to(p.failure);
        json.at("problem").get_to(p.problem);
        json.at("schedule").get_to(p.schedule);
        json.at("binary").get_to(p.binary);
        json.at("kernel").get_to(p.kernel);
        json.at("toolchain").get_to(p.toolchain);
        json.at("evidence").get_to(p.evidence_json);
        json.at("reason").get_to(p.reason);
        json.at("unsuited").get_to(p.unsuited);
        const auto& code = json.at("code_object").get_binary();
        const auto* first = reinterpret_cast<const std::byte*>(code.data());
        p.code_object.assign(first, first + code.size());
        return p;
    } catch (const nlohmann::json::exception& error) {
        throw Error(ErrorCode::invalid_argument, "ranks",
                    std::string("what rank 0 has sent is no proposal (") + error.what() +
                        "); accepted: zyfa::agree on every rank, in the same order");
    }
}

} // namespace zyfa::call
