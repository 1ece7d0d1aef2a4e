// SPDX-License-Identifier: Apache-2.0
#include "core/profile_key.hpp"

#include <cstdlib>
#include <cstring>

namespace zyfa {

namespace {

constexpr std::string_view field = " profile=";

bool is_plain(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && std::strchr("_.:*+-", c) != nullptr);
}

} // namespace

std::string key_with_profile(std::string_view winner_key, std::string_view profile) {
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string text(winner_key);
    text += field;
    for (const char c : profile) {
        const auto byte = static_cast<unsigned char>(c);
        if (is_plain(c))
            text += c;
        else
            (text += '%').append({digits[byte >> 4], digits[byte & 15]});
    }
    return text;
}

std::string_view key_without_profile(std::string_view key_text) {
    return key_text.substr(0, key_text.find(field));
}

std::string profile_of_key(std::string_view key_text) {
    const std::size_t at = key_text.find(field);
    if (at == std::string_view::npos)
        return {};
    std::string profile;
    for (std::size_t i = at + field.size(); i < key_text.size(); ++i) {
        if (key_text[i] == '%' && i + 2 < key_text.size()) {
            const std::string code(key_text.substr(i + 1, 2));
            profile += static_cast<char>(std::strtol(code.c_str(), nullptr, 16));
            i += 2;
        } else {
            profile += key_text[i];
        }
    }
    return profile;
}

} // namespace zyfa
