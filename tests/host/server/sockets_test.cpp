// SPDX-License-Identifier: Apache-2.0
//
// Unix sockets, inherited sockets, the options of accepted ones, and the limit of open files.
#include "server/http/sockets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/error.h"
#include "host/server/server_fixture.h"
#include "server/descriptor_limit.h"

namespace tandem::server {
namespace {

using test::HttpClient;
using test::RunningServer;

class UnixSocket : public testing::Test {
 protected:
  UnixSocket() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tandem-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    options_.listen.host.clear();
    options_.listen.unix_path = path();
  }
  ~UnixSocket() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return (folder_ / "s").string(); }

  test::ConnectedSocket connect() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path().c_str());
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      throw test::ClosedByServer("cannot connect");
    }
    return {socket};
  }

  std::string refusal() {
    test::FakeService service;
    try {
      HttpServer server(options_, service, nullptr);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  // A socket file without a listener, as a killed process leaves it.
  void leave_a_socket_behind() const {
    boost::asio::io_context io;
    http::Acceptor acceptor = http::listen_on_path(io, path(), 0600);
  }

  std::filesystem::path folder_;
  ServerOptions options_;
};

TEST_F(UnixSocket, AnswersThereAndLeavesNoFileBehind) {
  {
    RunningServer running({}, options_);
    EXPECT_EQ(running.port(), 0);
    EXPECT_EQ(running.server->urls(), std::vector<std::string>{"unix:" + path()});
    HttpClient client(connect());
    EXPECT_EQ(client.post("/v1/completions", test::completion_body()).status, 200);
    EXPECT_EQ(client.get("/livez").status, 200);
  }
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(UnixSocket, ServesTcpBesideIt) {
  options_.listen.host = "127.0.0.1";
  RunningServer running({}, options_);
  EXPECT_EQ(HttpClient(running.port()).get("/livez").status, 200);
  EXPECT_EQ(HttpClient(connect()).get("/livez").status, 200);
}

TEST_F(UnixSocket, HasTheModeThatIsAskedForWhateverTheMaskIs) {
  const mode_t before = ::umask(0077);
  for (const int mode : {0600, 0660, 0666}) {
    options_.listen.unix_mode = mode;
    RunningServer running({}, options_);
    struct stat found {};
    ASSERT_EQ(::stat(path().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777, static_cast<mode_t>(mode));
  }
  ::umask(before);
}

TEST_F(UnixSocket, ReplacesTheFileOfADeadProcess) {
  leave_a_socket_behind();
  ASSERT_TRUE(std::filesystem::is_socket(path()));
  EXPECT_THROW(connect(), test::ClosedByServer);
  RunningServer running({}, options_);
  EXPECT_EQ(HttpClient(connect()).get("/livez").status, 200);
}

TEST_F(UnixSocket, LeavesAListenerAndItsFileAlone) {
  RunningServer running({}, options_);
  EXPECT_NE(refusal().find("another process listens there"), std::string::npos) << refusal();
  EXPECT_EQ(HttpClient(connect()).get("/livez").status, 200);
}

TEST_F(UnixSocket, LeavesOtherFilesAlone) {
  std::ofstream(path()) << "precious";
  EXPECT_NE(refusal().find("not a socket"), std::string::npos) << refusal();
  EXPECT_EQ(std::filesystem::file_size(path()), 8u);
  std::filesystem::remove(path());
  std::filesystem::create_symlink("/nowhere", path());
  EXPECT_NE(refusal().find("not a socket"), std::string::npos) << "a link is not followed";
  EXPECT_TRUE(std::filesystem::is_symlink(path()));
}

TEST_F(UnixSocket, RefusesAPathThatIsTooLongOrInNoFolder) {
  options_.listen.unix_path = path() + std::string(200, 'x');
  EXPECT_NE(refusal().find("at most 107"), std::string::npos) << refusal();
  options_.listen.unix_path = (folder_ / "none" / "s").string();
  EXPECT_NE(refusal().find("there is no folder"), std::string::npos) << refusal();
}

TEST_F(UnixSocket, NothingToListenOnIsRefused) {
  options_.listen.unix_path.clear();
  EXPECT_NE(refusal().find("nothing to listen on"), std::string::npos);
}

TEST(InheritedSockets, AreUsedInsteadOfHostAndPort) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(socket, 10), 0);
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ServerOptions options;
  options.listen.host = "192.0.2.1";  // would fail
  options.listen.inherited = {socket};
  RunningServer running({}, options);
  EXPECT_EQ(running.port(), ntohs(address.sin_port));
  EXPECT_EQ(HttpClient(running.port()).get("/livez").status, 200);
}

TEST(InheritedSockets, OtherFilesAreRefused) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const int unbound = ::socket(AF_INET, SOCK_STREAM, 0);
  for (const int descriptor : {pipe[0], unbound, 9999}) {
    ServerOptions options;
    options.listen.inherited = {descriptor};
    const auto found = problems(options);  // before a model is loaded
    ASSERT_EQ(found.size(), 1u) << descriptor;
    EXPECT_NE(std::string(found[0].what()).find("ListenStream="), std::string::npos);
  }
  for (const int descriptor : {pipe[0], pipe[1], unbound}) ::close(descriptor);
}

TEST(ServerOptions, TheLeastHeaderAndTheMostThreadsAreAllowed) {
  ServerOptions options;
  options.limits.max_header_bytes = 1024;
  options.num_workers = options.num_io_threads = 256;
  EXPECT_TRUE(problems(options).empty());
  options.limits.max_header_bytes = 1023;
  options.num_workers = 257;
  EXPECT_EQ(problems(options).size(), 2u);
}

// The server's end of a client's connection: this process has both.
int server_end(int client) {
  sockaddr_in own{};
  socklen_t size = sizeof own;
  ::getsockname(client, reinterpret_cast<sockaddr*>(&own), &size);
  for (int descriptor = 3; descriptor < 4096; ++descriptor) {
    sockaddr_in peer{};
    size = sizeof peer;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
        peer.sin_family == AF_INET && peer.sin_port == own.sin_port) {
      return descriptor;
    }
  }
  return -1;
}

int option(int socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  ::getsockopt(socket, level, name, &value, &size);
  return value;
}

TEST(ClientOptions, AClientThatTakesNothingHasItsFullPatience) {
  ServerOptions options;
  options.limits.vanished_timeout = std::chrono::seconds(40);
  options.limits.stall_timeout = std::chrono::seconds(100);
  RunningServer running({}, options);
  HttpClient client(running.port());
  ASSERT_EQ(client.get("/livez").status, 200);
  EXPECT_EQ(option(server_end(client.descriptor()), IPPROTO_TCP, TCP_USER_TIMEOUT), 100'000);
}

TEST(ClientOptions, TheKernelEndsAConnectionWhoseMachineHasVanished) {
  ServerOptions options;
  options.limits.vanished_timeout = std::chrono::seconds(40);
  RunningServer running({}, options);
  HttpClient client(running.port());
  ASSERT_EQ(client.get("/livez").status, 200);
  const int socket = server_end(client.descriptor());
  ASSERT_GT(socket, 0);
  EXPECT_EQ(option(socket, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(socket, IPPROTO_TCP, TCP_KEEPIDLE), 20);
  EXPECT_EQ(option(socket, IPPROTO_TCP, TCP_KEEPINTVL), 6);
  EXPECT_EQ(option(socket, IPPROTO_TCP, TCP_KEEPCNT), 3);
  EXPECT_EQ(option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT), 40'000);
  EXPECT_EQ(option(socket, IPPROTO_TCP, TCP_NODELAY), 1);
}

// Runs in a child process, whose limits are its own.
[[noreturn]] void check_descriptors(rlim_t soft, rlim_t hard, std::size_t connections,
                                    const char* expected) {
  const rlimit limit{soft, hard};
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) std::_Exit(2);
  std::string said;
  try {
    require_descriptors(connections);
  } catch (const Error& error) {
    said = error.what();
  }
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  const bool as_expected = *expected == '\0' ? said.empty() && now.rlim_cur >= connections
                                             : said.find(expected) != std::string::npos;
  if (!as_expected)
    std::fprintf(stderr, "said: '%s', soft limit %ju\n", said.c_str(),
                 static_cast<std::uintmax_t>(now.rlim_cur));
  std::_Exit(as_expected ? 0 : 1);
}

TEST(DescriptorLimit, IsRaisedAsFarAsNeeded) {
  EXPECT_EXIT(check_descriptors(100, 2000, 1000, ""), testing::ExitedWithCode(0), "");
}

TEST(DescriptorLimit, ATooLowOneIsNamedWithTheNumbers) {
  EXPECT_EXIT(check_descriptors(100, 500, 1000,
                                "1000 needs 1192 open files, but this process may "
                                "have 500"),
              testing::ExitedWithCode(0), "");
  EXPECT_EXIT(check_descriptors(100, 500, 1000, "at most 308"), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tandem::server
