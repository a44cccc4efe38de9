// SPDX-License-Identifier: Apache-2.0
//
// TLS, with curl and openssl as the clients.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "common/error.h"
#include "host/server/server_fixture.h"

namespace tandem::server {
namespace {

using test::RunningServer;

struct Ran {
  int code = 0;
  std::string output;
};

Ran run(const std::string& command) {
  Ran ran;
  std::FILE* pipe = ::popen(("(" + command + ") 2>&1").c_str(), "r");
  char buffer[4096];
  for (std::size_t size; (size = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    ran.output.append(buffer, size);
  }
  ran.code = WEXITSTATUS(::pclose(pipe));
  return ran;
}

class Tls : public testing::Test {
 protected:
  void SetUp() override {
    if (run("curl --version && openssl version").code != 0) GTEST_SKIP() << "needs curl, openssl";
    std::string pattern = (std::filesystem::temp_directory_path() / "tandem-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    make_certificate("one");
    make_certificate("two");
    use("one");
    options_.tls = {file("cert"), file("key")};
    options_.routes.allowed_hosts = {"*"};
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  void make_certificate(const std::string& name,
                        const std::string& kind = "ec -pkeyopt ec_paramgen_curve:P-256") const {
    const Ran made = run("openssl req -x509 -newkey " + kind +
                         " -nodes "
                         "-days 2 -subj /CN=" +
                         name +
                         " -addext subjectAltName=DNS:localhost "
                         "-keyout " +
                         file(name + ".key") + " -out " + file(name + ".cert"));
    ASSERT_EQ(made.code, 0) << made.output;
  }

  void use(const std::string& name) const {
    const auto replace = std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy_file(file(name + ".cert"), file("cert"), replace);
    std::filesystem::copy_file(file(name + ".key"), file("key"), replace);
  }

  Ran curl(const RunningServer& running, const std::string& options,
           const std::string& path = "/v1/models", const std::string& trusted = "cert") const {
    return run("curl -sS --noproxy '*' --max-time 60 --cacert " + file(trusted) + " " + options +
               " https://localhost:" + std::to_string(running.port()) + path);
  }

  Ran s_client(const RunningServer& running, const std::string& options) const {
    return run(
        "printf 'GET /livez HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' | "
        "openssl s_client -ign_eof -connect 127.0.0.1:" +
        std::to_string(running.port()) + " -CAfile " + file("cert") + " " + options);
  }

  std::string refusal() {
    test::FakeService service;
    options_.listen.port = 0;
    try {
      HttpServer server(options_, service, nullptr);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path folder_;
  ServerOptions options_;
};

TEST_F(Tls, CurlIsAnsweredAndKeepsItsConnection) {
  RunningServer running({}, options_);
  EXPECT_EQ(running.server->urls().front().substr(0, 8), "https://");
  const Ran models = curl(running, "");
  EXPECT_EQ(models.code, 0) << models.output;
  EXPECT_NE(models.output.find(R"("object":"list")"), std::string::npos) << models.output;
  const Ran twice =
      curl(running, "-v", "/livez https://localhost:" + std::to_string(running.port()) + "/readyz");
  EXPECT_EQ(twice.code, 0) << twice.output;
  EXPECT_NE(twice.output.find("Re-using existing connection"), std::string::npos) << twice.output;
}

TEST_F(Tls, BodiesOfAMegabyteAndStreamsArrive) {
  options_.limits.max_stream_buffer_bytes = 64 << 20;  // the fake is faster than any client
  RunningServer running({.max_request_tokens = 1 << 21, .padding_bytes = 100'000}, options_);
  const test::Json body = test::completion_body(
      {{"prompt", std::string(1'000'000, 'x')}, {"stream", true}, {"max_tokens", 17}});
  std::FILE* out = std::fopen(file("body").c_str(), "w");
  const std::string text = body.dump();
  std::fwrite(text.data(), 1, text.size(), out);
  std::fclose(out);
  for (const char* version : {"--http1.1", "--http1.0"}) {  // chunked, and until the end
    const Ran ran = curl(running,
                         std::string(version) +
                             " -H 'Content-Type: application/json' --data-binary @" + file("body"),
                         "/v1/completions");
    EXPECT_EQ(ran.code, 0) << version << ran.output.substr(0, 500);
    EXPECT_EQ(test::sse_objects(ran.output).size(), 17u) << version;
  }
}

TEST_F(Tls, OpensslIsAnsweredWithVersionsThatAreSafe) {
  RunningServer running({}, options_);
  for (const char* version : {"-tls1_2", "-tls1_3"}) {
    const Ran ran = s_client(running, version);
    EXPECT_EQ(ran.code, 0) << ran.output;
    EXPECT_NE(ran.output.find(R"({"status":"ok"})"), std::string::npos) << version << ran.output;
    EXPECT_NE(ran.output.find("Verify return code: 0"), std::string::npos) << ran.output;
    EXPECT_EQ(ran.output.find("unexpected eof"), std::string::npos) << "an end without an alert";
  }
  for (const char* version :
       {"-tls1 -cipher ALL:@SECLEVEL=0", "-tls1_1 -cipher ALL:@SECLEVEL=0",
        "-tls1_2 -cipher NULL:@SECLEVEL=0", "-tls1_2 -cipher RC4:3DES:@SECLEVEL=0"}) {
    const Ran ran = s_client(running, version);
    EXPECT_EQ(ran.output.find(R"({"status":"ok"})"), std::string::npos) << version << ran.output;
  }
}

TEST_F(Tls, AnRsaCertificateServesNoWeakCipher) {
  make_certificate("rsa", "rsa:2048");
  use("rsa");
  RunningServer running({}, options_);
  const std::string answer = R"({"status":"ok"})";
  for (const char* cipher : {"ECDHE+AESGCM", "ECDHE+CHACHA20"}) {
    const Ran ran = s_client(running, std::string("-tls1_2 -cipher ") + cipher);
    EXPECT_NE(ran.output.find(answer), std::string::npos) << cipher << ran.output;
  }
  for (const char* cipher : {"kRSA", "AES128-SHA", "ECDHE+AES:!AESGCM:!AESCCM", "ALL:!ECDHE"}) {
    const Ran ran = s_client(running, std::string("-tls1_2 -cipher ") + cipher + ":@SECLEVEL=0");
    EXPECT_EQ(ran.output.find(answer), std::string::npos) << cipher << ran.output;
    EXPECT_NE(ran.output.find("handshake failure"), std::string::npos) << cipher << ran.output;
  }
}

TEST_F(Tls, NobodyRenegotiates) {
  RunningServer running({}, options_);
  // The client's input stays open, so it ends only when the server refuses.
  const Ran ran = run("mkfifo " + file("input") + "; exec 3<>" + file("input") +
                      "; echo R >&3; timeout 60 openssl s_client -tls1_2 -connect 127.0.0.1:" +
                      std::to_string(running.port()) + " <&3");
  EXPECT_NE(ran.output.find("RENEGOTIATING"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("no renegotiation"), std::string::npos) << ran.output;
}

TEST_F(Tls, OfTheOfferedProtocolsHttp11IsChosen) {
  RunningServer running({}, options_);
  EXPECT_NE(s_client(running, "-alpn h2,http/1.1").output.find("ALPN protocol: http/1.1"),
            std::string::npos);
  EXPECT_EQ(s_client(running, "-alpn h2").output.find(R"({"status":"ok"})"), std::string::npos);
}

TEST_F(Tls, AClientThatDoesNotSpeakItDisturbsNobody) {
  RunningServer running({}, options_);
  test::HttpClient plain(running.port());
  plain.send(test::get_request("/livez"));
  EXPECT_THROW(plain.read_reply(), std::exception);
  test::HttpClient silent(running.port());
  test::HttpClient half(running.port());
  half.send(std::string("\x16\x03\x01\x02\x00\x01", 6));
  half.finish_sending();
  EXPECT_EQ(curl(running, "").code, 0);
}

TEST_F(Tls, ASilentHandshakeIsClosed) {
  options_.limits.first_byte_timeout = std::chrono::milliseconds(50);
  RunningServer running({}, options_);
  test::HttpClient half(running.port());
  half.send(std::string("\x16\x03\x01\x02\x00\x01", 6));
  EXPECT_TRUE(half.closed_by_server());
}

TEST_F(Tls, AReloadIsForNewConnectionsAndABadOneChangesNothing) {
  RunningServer running({}, options_);
  ASSERT_EQ(curl(running, "", "/livez", "one.cert").code, 0);
  use("two");
  EXPECT_EQ(curl(running, "", "/livez", "one.cert").code, 0) << "not before the reload";
  running.server->reload();
  EXPECT_EQ(curl(running, "", "/livez", "two.cert").code, 0);
  EXPECT_NE(curl(running, "", "/livez", "one.cert").code, 0);
  std::filesystem::copy_file(file("one.key"), file("key"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THROW(running.server->reload(), Error);
  EXPECT_EQ(curl(running, "", "/livez", "two.cert").code, 0);
}

TEST_F(Tls, FilesThatAreOfNoUseAreNamed) {
  options_.tls.key = file("two.key");
  EXPECT_NE(refusal().find("two.key' is not that of the certificate"), std::string::npos)
      << refusal();
  ASSERT_EQ(run("openssl genrsa -out " + file("rsa.key") + " 2048").code, 0);
  options_.tls.key = file("rsa.key");
  EXPECT_NE(refusal().find("rsa.key' is not that of the certificate"), std::string::npos)
      << refusal();
  options_.tls.key = file("none");
  EXPECT_NE(refusal().find("--tls-key '" + file("none") + "': No such file or directory;"),
            std::string::npos)
      << refusal();
  options_.tls = {file("key"), file("key")};  // a key is no certificate
  EXPECT_NE(refusal().find("--tls-cert '" + file("key")), std::string::npos) << refusal();
  options_.tls = {file("cert"), ""};
  EXPECT_NE(refusal().find("both --tls-cert and --tls-key"), std::string::npos);
}

TEST_F(Tls, AKeyWithAPassphraseIsRefusedWithoutAsking) {
  const Ran made =
      run("openssl ec -in " + file("key") + " -aes128 -passout pass:secret -out " + file("locked"));
  ASSERT_EQ(made.code, 0) << made.output;
  options_.tls.key = file("locked");
  EXPECT_NE(refusal().find("--tls-key '" + file("locked")), std::string::npos) << refusal();
}

}  // namespace
}  // namespace tandem::server
