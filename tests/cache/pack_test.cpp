// SPDX-License-Identifier: Apache-2.0
// Packs: what is written is read, what was changed is refused, and who signed decides.
#include "cache/pack.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <random>

#include "cache/files.hpp"
#include "cache/records.hpp"
#include "cache/transfer.hpp"
#include "tests/cache/fixture.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::cache;
using namespace zyfa::cache::test;

namespace {

SecretKey key_number(std::uint8_t n) {
    std::array<std::uint8_t, 32> seed{};
    seed[0] = n;
    return SecretKey::from_seed(seed);
}

PackTrust trusting(const SecretKey& key) {
    PackTrust trust;
    trust.signers.trust(key.public_key(), "build machine");
    return trust;
}

Content some_content(std::uint64_t entries, std::size_t code_bytes = 6000) {
    Content content;
    for (std::uint64_t n = 0; n < entries; ++n) {
        content.winners.push_back(some_winner(n));
        content.binaries.push_back(some_binary(n));
        content.binaries.back().code_object = some_code(1, code_bytes); // variants of one kernel
        content.binaries.back().code_object[100] = static_cast<std::byte>(n);
        for (const MeasurementRecord& measurement : some_measurements(n))
            content.measurements.push_back(measurement);
    }
    return content;
}

/// The n of some_winner(n) and some_binary(n), for n below 10.
std::uint64_t number_of(const auto& record) {
    return static_cast<std::uint64_t>(record.key_text.back() - '0');
}

std::string refusal(std::vector<std::byte> bytes, const PackTrust& trust) {
    try {
        Pack::open(std::move(bytes), trust);
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

void save(const std::string& path, const std::vector<std::byte>& bytes) {
    write_file(path, bytes, 0644);
}

} // namespace

TEST_CASE("records survive their bytes, and nothing else does") {
    const BinaryRecord binary = some_binary(3);
    const auto bytes = encode(binary);
    CHECK(encode(*decode_binary(bytes)) == bytes);
    CHECK(encode(*decode_winner(encode(some_winner(3)))) == encode(some_winner(3)));
    CHECK(encode(*decode_measurement(encode(some_measurements(3)[0]))) == encode(some_measurements(3)[0]));
    CHECK_FALSE(decode_winner(bytes));
    for (std::size_t n = 0; n < 400; ++n)
        CHECK_FALSE(decode_binary(std::span(bytes).first(n)));
    auto longer = bytes;
    longer.push_back(std::byte{0});
    CHECK_FALSE(decode_binary(longer));
    for (std::size_t i = 0; i < 60; ++i) { // lengths of any size are within or refused
        auto bad = bytes;
        bad[14 + i % 8] = std::byte{0xff};
        bad[i] ^= std::byte{0x80};
        CHECK_FALSE(decode_binary(bad));
    }
}

TEST_CASE("a pack gives back its content, and the same content gives the same pack") {
    const SecretKey key = key_number(1);
    Content content = some_content(5);
    const auto bytes = write_pack(content, &key, 1'700'000'000);
    std::swap(content.winners[0], content.winners[4]);
    std::swap(content.measurements[0], content.measurements[3]);
    CHECK(write_pack(content, &key, 1'700'000'000) == bytes);

    const Pack pack = Pack::open(bytes, trusting(key));
    CHECK(pack.origin() == "pack:" + key.public_key().hex());
    CHECK(pack.unix_time() == 1'700'000'000);
    CHECK(pack.counts().winners == 5);
    std::vector<std::string> damage;
    const Content read = pack.content(damage);
    CHECK(damage.empty());
    CHECK(read.binaries.size() == 5);
    CHECK(read.measurements.size() == 10);
    const auto winner = pack.winner(some_winner(2).key);
    REQUIRE(winner);
    CHECK(winner->schedule == some_winner(2).schedule);
    CHECK(winner->origin == pack.origin());
    CHECK(pack.binary(winner->binary)->code_object == content.binaries[2].code_object);
    CHECK(pack.measurements(winner->key).size() == 2);
    CHECK_FALSE(pack.winner(some_winner(77).key));
}

TEST_CASE("an empty pack is a pack") {
    const SecretKey key = key_number(1);
    CHECK(Pack::open(write_pack({}, &key, 1), trusting(key)).counts().winners == 0);
}

TEST_CASE("variants of a kernel cost little more than one") {
    const SecretKey key = key_number(1);
    const std::size_t one = write_pack(some_content(1, 30'000), &key, 1).size();
    const std::size_t forty = write_pack(some_content(40, 30'000), &key, 1).size();
    MESSAGE("a pack of 1 and of 40 variants: ", one, " and ", forty, " bytes");
    CHECK((forty - one) / 39 < 1000); // of 30,000: mostly the manifest's digests
}

TEST_CASE("packs of nobody, of strangers and of revoked signers are refused") {
    const SecretKey key = key_number(1), stranger = key_number(2);
    const Content content = some_content(1);
    const auto without = write_pack(content, nullptr, 1);
    CHECK(refusal(without, trusting(key)) == "pack: it is not signed");
    PackTrust lenient;
    lenient.unsigned_too = true;
    CHECK(Pack::open(without, lenient).origin() == "pack:unsigned");
    CHECK(Pack::open(without, lenient).winner(some_winner(0).key)->origin == "pack:unsigned");

    const auto strange = write_pack(content, &stranger, 1);
    CHECK(refusal(strange, trusting(key)).find("not in the list") != std::string::npos);
    CHECK(refusal(strange, lenient).find("not in the list") != std::string::npos); // signed, but by whom?
    PackTrust revoking = trusting(key);
    revoking.signers.revoke(key.public_key(), "laptop stolen");
    revoking.signers.trust(key.public_key(), "again"); // does not help
    CHECK(refusal(write_pack(content, &key, 1), revoking).find("revoked: laptop stolen") !=
          std::string::npos);
    // A stranger's signature under a trusted key.
    auto forged = strange;
    std::copy_n(write_pack(content, &key, 1).begin() + 24, 32, forged.begin() + 24);
    CHECK(refusal(forged, trusting(key)).find("signature does not hold") != std::string::npos);
}

TEST_CASE("another format version is told apart from damage") {
    const SecretKey key = key_number(1);
    auto bytes = write_pack(some_content(1), &key, 1);
    bytes[8] = std::byte{2};
    try {
        Pack::open(bytes, trusting(key));
        FAIL_CHECK("opened");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::unsupported);
        CHECK(std::string(error.what()) == "pack: its format version is 2; accepted: 1");
    }
}

TEST_CASE("every byte of a pack changed in turn: refused as a whole or entry by entry, never believed") {
    const SecretKey key = key_number(1);
    const Content content = some_content(3, 3000);
    const auto good = write_pack(content, &key, 1);
    CHECK(good.size() <= 100 * 1024);
    const Folder folder;
    int refused = 0, partly = 0;
    for (std::size_t i = 0; i < good.size(); ++i) {
        auto bad = good;
        bad[i] ^= std::byte{0x10};
        std::vector<std::string> damage;
        try {
            const Pack pack = Pack::open(bad, trusting(key));
            const Content read = pack.content(damage);
            for (const BinaryRecord& record : read.binaries)
                CHECK(record.code_object == content.binaries.at(number_of(record)).code_object);
            for (const WinnerRecord& record : read.winners)
                CHECK(record.schedule == some_winner(number_of(record)).schedule);
            CHECK_FALSE(damage.empty());
            ++partly;
        } catch (const Error&) {
            ++refused;
        }
    }
    MESSAGE(good.size(), " bytes: ", refused, " refuse the pack, ", partly, " cost entries");
    CHECK(refused > 120);
    CHECK(partly > 0);
    for (std::size_t n = 0; n < good.size(); n += 7)
        CHECK_FALSE(
            refusal({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n)}, trusting(key)).empty());
    auto longer = good;
    longer.push_back(std::byte{0});
    CHECK(refusal(longer, trusting(key)).find("does not name") != std::string::npos);
}

TEST_CASE("an import takes all of a pack or nothing, a mount serves what is good") {
    const SecretKey key = key_number(1);
    const Folder folder;
    auto bytes = write_pack(some_content(4), &key, 1);
    save(folder / "good.zyfapack", bytes);
    bytes.back() ^= std::byte{1}; // the last measurement
    save(folder / "bad.zyfapack", bytes);
    CHECK(collect(*open_source(folder / "good.zyfapack", trusting(key)), {}).winners.size() == 4);
    CHECK_THROWS_AS(collect(*open_source(folder / "bad.zyfapack", trusting(key)), {}), Error);
    CHECK(open_source(folder / "bad.zyfapack", trusting(key))->verify().damaged == 1);

    trusting(key).signers.save(folder / "signers");
    Cache cache({":memory:", {folder / "bad.zyfapack"}, {}, folder / "signers"});
    for (std::uint64_t n = 0; n < 4; ++n)
        CHECK(cache.find(some_winner(n).key)->layer == folder / "bad.zyfapack");
    CHECK(cache.damaged() == 0); // entries are looked at when they are asked for
    std::size_t measurements = 0;
    for (std::uint64_t n = 0; n < 4; ++n)
        measurements += cache.measurements(some_winner(n).key).size();
    CHECK(measurements == 7);
    CHECK(cache.damaged() == 1);
    CHECK(cache.verify().at(1).damaged == 1);
    CHECK(cache.damaged() == 1); // once
    CHECK(cache.statistics().at(1).winners == 4);
    CHECK_FALSE(cache.statistics().at(1).writable);
}

TEST_CASE("a pack that is not trusted is not mounted, and the statistics say why") {
    const SecretKey key = key_number(1);
    const Folder folder;
    save(folder / "p.zyfapack", write_pack(some_content(1), &key, 1));
    Cache cache({folder / "c", {folder / "p.zyfapack", folder / "absent.zyfapack"}});
    CHECK_FALSE(cache.find(some_winner(0).key));
    CHECK(cache.statistics().at(1).note.find("not in the list of trusted signers") != std::string::npos);
    CHECK(cache.statistics().at(2).note.find("there is no") != std::string::npos);
    SignerList signers;
    signers.trust(key.public_key(), "x");
    signers.save(folder / "c/signers"); // the user layer's own list
    Cache again({folder / "c", {folder / "p.zyfapack"}});
    CHECK(again.find(some_winner(0).key));
    ::chmod((folder / "c/signers").c_str(), 0666); // a list that anybody may have written
    Cache third({folder / "c", {folder / "p.zyfapack"}});
    CHECK_FALSE(third.find(some_winner(0).key));
}

TEST_CASE("mutated manifests are refused or harmless, also where no signature protects them") {
    PackTrust lenient;
    lenient.unsigned_too = true;
    const auto good = write_pack(some_content(2, 500), nullptr, 1);
    std::mt19937 engine(3);
    for (int i = 0; i < 4000; ++i) {
        auto bad = good;
        for (int changes = 1 + static_cast<int>(engine() % 4); changes > 0; --changes) {
            const std::size_t at = 8 + engine() % (bad.size() - 8);
            switch (engine() % 3) {
            case 0:
                bad[at] = static_cast<std::byte>(engine());
                break;
            case 1:
                bad.erase(bad.begin() + static_cast<std::ptrdiff_t>(at));
                break;
            default:
                bad.insert(bad.begin() + static_cast<std::ptrdiff_t>(at),
                           static_cast<std::byte>('0' + engine() % 10));
            }
        }
        try {
            std::vector<std::string> damage;
            const Content content = Pack::open(bad, lenient).content(damage);
            for (const BinaryRecord& record : content.binaries)
                CHECK(is_consistent(record));
        } catch (const Error&) {
        }
    }
}

// Signers

TEST_CASE("Ed25519 gives RFC 8032's signature") {
    // RFC 8032, section 7.1, test 2.
    const SecretKey key = SecretKey::from_seed(
        Digest::from_hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb").bytes);
    CHECK(key.public_key().hex() == "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
    const std::byte message[1] = {std::byte{0x72}};
    const auto signature = key.sign(message);
    CHECK(signature[0] == 0x92);
    CHECK(signature[63] == 0x00);
    CHECK(is_signed_by(key.public_key(), message, signature));
    CHECK_FALSE(is_signed_by(key_number(1).public_key(), message, signature));
}

TEST_CASE("signer lists are text") {
    const std::string a = key_number(1).public_key().hex(), b = key_number(2).public_key().hex();
    const SignerList list = SignerList::parse("# ours\n\ntrust " + a + " the build machine\nrevoke " + b +
                                              " lost\ntrust " + b + " x\n");
    CHECK(list.standing(key_number(1).public_key()) == SignerList::Standing::trusted);
    CHECK(list.name(key_number(1).public_key()) == "the build machine");
    CHECK(list.standing(key_number(2).public_key()) == SignerList::Standing::revoked);
    CHECK(list.standing(key_number(3).public_key()) == SignerList::Standing::unknown);
    CHECK(SignerList::parse(list.text()).text() == list.text());
    for (const std::string& bad :
         {std::string("trust"), "allow " + a + " x", "trust " + a.substr(1) + " x", "trust  " + a})
        CHECK_THROWS_WITH_AS(SignerList::parse("\n" + bad), doctest::Contains("line 2"), Error);
}

TEST_CASE("a secret key is its owner's alone") {
    const Folder folder;
    const SecretKey key = SecretKey::generate();
    key.save(folder / "key");
    CHECK(SecretKey::load(folder / "key").public_key() == key.public_key());
    CHECK(SecretKey::generate().public_key() != key.public_key());
    ::chmod((folder / "key").c_str(), 0640);
    CHECK_THROWS_WITH_AS(SecretKey::load(folder / "key"), doctest::Contains("chmod 600"), Error);
    write_contents(folder / "other", {'x'});
    ::chmod((folder / "other").c_str(), 0600);
    CHECK_THROWS_AS(SecretKey::load(folder / "other"), Error);
    CHECK_THROWS_AS(SecretKey::load(folder / "absent"), Error);
}
