// SPDX-License-Identifier: Apache-2.0
//
// Key files in both forms, and how a key of a request is found.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "common/error.h"
#include "host/server/event_log.h"
#include "host/server/key_file.h"
#include "server/access/key_store.h"
#include "server/auth.h"

namespace tandem::server {
namespace {

using test::key_table;
using test::KeyFile;
using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal_of(const std::string& text) {
  const KeyFile file(text);
  try {
    load_api_keys(file.path());
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

// A store that was filled from a file.
KeyStore store_of(const KeyFile& file) {
  return KeyStore(load_api_keys(file.path()).keys, file.path());
}

std::string name_of(const KeyStore& store, const std::string& authorization) {
  const Caller caller = store.find(authorization);
  return caller ? caller.key->name : "";
}

TEST(HashKey, IsSha256) {  // the vector of FIPS 180-2 appendix B.1
  EXPECT_EQ(hex_text(hash_key("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(RandomKey, IsLongAndNeverTheSame) {
  EXPECT_GE(random_key().size(), 48u);
  EXPECT_NE(random_key(), random_key());
}

TEST(ApiKeys, AreReadOnePerLineWithTheRolesThatSuchKeysAlwaysHad) {
  const KeyFile file("# comment\n\n  first \r\nsecond\n#last");
  const auto keys = load_api_keys(file.path()).keys;
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0].hash, hash_key("first"));
  EXPECT_EQ(keys[1].hash, hash_key("second"));
  EXPECT_EQ(keys[0].name, "key-" + hex_text(hash_key("first")).substr(0, 8));
  EXPECT_TRUE(keys[0].may(Role::kUse) && keys[0].may(Role::kMetrics));
  EXPECT_FALSE(keys[0].may(Role::kAdmin));
}

TEST(ApiKeys, ALineMayHoldAHashInsteadOfTheKey) {
  const KeyFile file("sha256:" + hex_text(hash_key("hidden")) + "\n");
  EXPECT_FALSE(name_of(store_of(file), "Bearer hidden").empty());
  EXPECT_THAT(refusal_of("good\nsha256:12ab\n"), HasSubstr("line 2"));
}

TEST(ApiKeys, LinesOfATableWhoseFirstLineIsWrongAreNoKeys) {
  const std::string problem =
      "this is a part of a table, not a key; the first line of a table is [[key]]";
  EXPECT_THAT(refusal_of("[key]\nname=\"alice\"\n"), HasSubstr("line 1: " + problem));
  EXPECT_THAT(refusal_of("# people\n\nname=\"alice\"\n"), HasSubstr("line 3: " + problem));
  EXPECT_THAT(refusal_of("good\nrole='admin'\n"), HasSubstr("line 2: " + problem));
  EXPECT_EQ(refusal_of("c2VjcmV0IGtleQ==\n"), "accepted") << "base64";
}

TEST(ApiKeys, TablesGiveNameRolesAndLimits) {
  const KeyFile file("# people\n" +
                     key_table("alice", "a",
                               "role = [\"use\", \"metrics\"]\nrequests-per-minute = 60\n"
                               "tokens-per-minute = 9000\nconcurrent-requests = 3\n"
                               "max-choices = 2\nmax-tokens = 100\nbest-priority = -10\n") +
                     key_table("boss", "b", "role = \"admin\"\n") + key_table("carol", "c"));
  const auto keys = load_api_keys(file.path()).keys;
  ASSERT_EQ(keys.size(), 3u);
  EXPECT_EQ(keys[0].name, "alice");
  EXPECT_EQ(keys[0].role_text(), "use and metrics");
  EXPECT_EQ(keys[0].limits.requests_per_minute, 60);
  EXPECT_EQ(keys[0].limits.tokens_per_minute, 9000);
  EXPECT_EQ(keys[0].limits.concurrent_requests, 3);
  EXPECT_EQ(keys[0].limits.max_choices, 2);
  EXPECT_EQ(keys[0].limits.max_tokens, 100);
  EXPECT_EQ(keys[0].limits.best_priority, -10);
  EXPECT_TRUE(keys[1].may(Role::kUse) && keys[1].may(Role::kMetrics) && keys[1].may(Role::kAdmin));
  EXPECT_TRUE(keys[2].may(Role::kUse));
  EXPECT_FALSE(keys[2].may(Role::kMetrics) || keys[2].may(Role::kAdmin));
  EXPECT_EQ(keys[2].limits.concurrent_requests, 0);
  EXPECT_EQ(keys[2].limits.best_priority, std::nullopt);
}

TEST(ApiKeys, AnEmptyFileIsAnErrorNotAnOpenServer) {
  EXPECT_THAT(refusal_of(""), HasSubstr("has no key"));
  EXPECT_THAT(refusal_of("# only a comment\n"), HasSubstr("has no key"));
  EXPECT_THROW(load_api_keys("/nonexistent/keys"), Error);
  EXPECT_THROW(load_api_keys("/tmp"), Error);
}

TEST(ApiKeys, AWrongEntryNamesItsLineAndKeepsKeysSecret) {
  const std::string hash = "hash = \"sha256:" + std::string(64, 'a') + "\"\n";
  const std::pair<std::string, std::string> wrong[] = {
      {"good\ntwo words\n", "line 2"},
      {"same\n\nsame\n", "line 3: this key is already in line 1"},
      {key_table("a", "x") + key_table("a", "y"), "the name 'a' is already in line 1"},
      {key_table("a", "x") + key_table("b", "x"), "this key is already in line 1"},
      {key_table("a b", "x"), "line 2"},
      {key_table("other", "x"), "line 2"},
      {key_table("a", "x", "role = \"king\"\n"), "line 4: 'role' must be"},
      {key_table("a", "x", "role = []\n"), "line 4"},
      {key_table("a", "x", "max-token = 4\n"), "(did you mean 'max-tokens'?)"},
      {key_table("a", "x", "max-tokens = 0\n"), "line 4: 'max-tokens' must be an integer from 1"},
      {key_table("a", "x", "max-tokens = \"4\"\n"), "line 4"},
      {key_table("a", "x", "best-priority = \"4\"\n"),
       "line 4: 'best-priority' must be an integer"},
      {key_table("a", "x", "best-priority = 1000001\n"), "from -1000000 to 1000000"},
      {key_table("a", "x", "best-priority = -1000001\n"), "from -1000000 to 1000000"},
      {key_table("a", "x", "requests-per-minute = 99999999999\n"), "line 4"},
      {"[[key]]\nname = \"a\"\n", "line 1: this key lacks 'hash'"},
      {"[[key]]\n" + hash, "line 1: this key lacks 'name'"},
      {"[[key]]\nname = \"a\"\nhash = \"words\"\n", "line 3: 'hash' must be"},
      {"[[key]]\nname = \"a\"\nkey = \"words\"\n" + hash, "`tandem key --stdin`"},
      {"[[keys]]\nname = \"a\"\n" + hash, "not 'keys'"},
      {"[[key]]\nname = \"words\n", "line 2: this is not valid TOML"},
  };
  for (const auto& [text, expected] : wrong) {
    const std::string refusal = refusal_of(text);
    EXPECT_THAT(refusal, HasSubstr(expected)) << text;
    EXPECT_THAT(refusal, Not(HasSubstr("words"))) << text;
  }
}

std::string warning_at(const KeyFile& file, mode_t mode) {
  EXPECT_EQ(chmod(file.path().c_str(), mode), 0);
  return load_api_keys(file.path()).warning;
}

TEST(ApiKeys, UnhashedKeysThatOthersCanReadAreWarnedOf) {
  const KeyFile file("plain\n");
  const std::string read = " of this machine can read the key file '" + file.path() +
                           "', and it holds keys that are not hashed (mode ";
  EXPECT_EQ(warning_at(file, 0600), "");
  EXPECT_EQ(warning_at(file, 0604), "every user" + read + "604): chmod 600 '" + file.path() + "'");
  EXPECT_THAT(warning_at(file, 0644), HasSubstr("every user" + read));
  EXPECT_THAT(warning_at(file, 0640), HasSubstr("a group of users" + read));
  EXPECT_THAT(warning_at(file, 0602), HasSubstr("every user of this machine can write the key"));
}

TEST(ApiKeys, HashesMayBeReadButNotWritten) {
  const KeyFile file(key_table("a", "alpha"));
  EXPECT_EQ(warning_at(file, 0644), "");
  EXPECT_THAT(warning_at(file, 0646), HasSubstr("can write"));
}

TEST(KeyStore, AReloadWarnsInTheLog) {
  const KeyFile file("plain\n");
  KeyStore store = store_of(file);
  test::EventLog log(LogFormat::kText);
  store.reload();
  EXPECT_EQ(log.text(), "");
  chmod(file.path().c_str(), 0644);
  store.reload();
  EXPECT_THAT(log.text(), HasSubstr("can read the key file"));
}

TEST(KeyStore, FindsOnlyItsKeys) {
  const KeyFile file(key_table("a", "alpha") + key_table("b", "beta"));
  const KeyStore store = store_of(file);
  EXPECT_TRUE(store.required());
  EXPECT_EQ(name_of(store, "Bearer alpha"), "a");
  EXPECT_EQ(name_of(store, "bearer beta"), "b");
  EXPECT_EQ(name_of(store, "BEARER  alpha "), "a");
  const std::string hash = hex_text(hash_key("alpha"));
  for (const std::string& bad :
       {std::string(), std::string("Bearer"), std::string("Bearer "), std::string("alpha"),
        std::string("Bearer alph"), std::string("Bearer alphaa"), std::string("Bearer Alpha"),
        std::string("Basic alpha"), std::string("Bearer alpha beta"), "Bearer " + hash,
        "Bearer sha256:" + hash}) {
    EXPECT_EQ(name_of(store, bad), "") << bad;
  }
}

TEST(KeyStore, AKeyMustFitInAllBytesOfItsHash) {
  const KeyHash hash = hash_key("alpha");
  std::string alike;  // the first two bytes of the hash
  for (int i = 0; alike.empty(); ++i) {
    const std::string text = "x" + std::to_string(i);
    const KeyHash other = hash_key(text);
    if (other[0] == hash[0] && other[1] == hash[1]) alike = text;
  }
  const KeyFile file(key_table("a", "alpha"));
  EXPECT_EQ(name_of(store_of(file), "Bearer " + alike), "");
}

TEST(KeyStore, WithoutKeysNoneIsNeededEvenAfterAReload) {
  KeyStore store({}, "");
  EXPECT_FALSE(store.required());
  EXPECT_EQ(store.reload(), 0u);
  EXPECT_FALSE(store.required());
}

TEST(KeyStore, AReloadTakesEffectAtOnceAndAWrongFileChangesNothing) {
  const KeyFile file(key_table("a", "alpha") + key_table("b", "beta"));
  KeyStore store = store_of(file);
  const Caller before = store.find("Bearer alpha");
  file.write(key_table("b", "beta") + key_table("c", "gamma"));
  EXPECT_EQ(store.reload(), 2u);
  EXPECT_EQ(name_of(store, "Bearer alpha"), "");
  EXPECT_EQ(name_of(store, "Bearer gamma"), "c");
  EXPECT_EQ(before.key->name, "a") << "a request in progress keeps its key";
  file.write("");
  EXPECT_THROW(store.reload(), Error);
  EXPECT_EQ(name_of(store, "Bearer gamma"), "c");
}

TEST(KeyStore, AReloadDoesNotForgetWhatAKeyHasUsed) {
  const std::string limit = "requests-per-minute = 1\n";
  const KeyFile file(key_table("a", "alpha", limit));
  const VirtualClock clock;
  KeyStore store(load_api_keys(file.path()).keys, file.path(), clock);
  const Caller first = store.find("Bearer alpha");
  EXPECT_FALSE(first.usage->begin(first.key->limits));
  store.reload();
  const Caller second = store.find("Bearer alpha");
  EXPECT_TRUE(second.usage->begin(second.key->limits));
}

}  // namespace
}  // namespace tandem::server
