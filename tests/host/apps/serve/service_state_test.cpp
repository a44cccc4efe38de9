// SPDX-License-Identifier: Apache-2.0
//
// The datagrams that a service manager reads.
#include "apps/serve/service_state.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "support/scratch_path.h"

namespace tandem::apps {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A socket as systemd has one; "@" begins an abstract name.
class Manager {
 public:
  explicit Manager(const std::string& name) : socket_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.front() == '@') address.sun_path[0] = 0;
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), length), 0);
  }
  ~Manager() { ::close(socket_); }

  std::string heard() const {
    char text[512];
    const ssize_t count = ::recv(socket_, text, sizeof text, MSG_DONTWAIT);
    return count < 0 ? "nothing" : std::string(text, static_cast<std::size_t>(count));
  }

 private:
  int socket_;
};

TEST(ServiceState, HearsWhatTheDaemonDoes) {
  const test::ScratchPath path("notify");
  const Manager manager(path.string());
  const ServiceState daemon(path.string());
  daemon.ready("serving stories");
  EXPECT_EQ(manager.heard(), "READY=1\nSTATUS=serving stories");
  daemon.reloading();
  EXPECT_THAT(manager.heard(), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
  daemon.stopping();
  EXPECT_THAT(manager.heard(), HasSubstr("STOPPING=1"));
}

TEST(ServiceState, MayHaveAnAbstractName) {
  const std::string name = "@tandem-notify-" + std::to_string(::getpid());
  const Manager manager(name);
  ServiceState(name).status("loading");
  EXPECT_EQ(manager.heard(), "STATUS=loading");
}

TEST(ServiceState, IsNotPassedOnToOtherPrograms) {
  const test::ScratchPath path("notify");
  const Manager manager(path.string());
  setenv("NOTIFY_SOCKET", path.string().c_str(), 1);
  const ServiceState daemon;
  EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr);
  daemon.ready("x");
  EXPECT_THAT(manager.heard(), HasSubstr("READY=1"));
}

TEST(ServiceState, MayBeAbsentOrGone) {
  ServiceState("").ready("x");
  ServiceState(std::string(200, 'a')).ready("x");
  ServiceState("/nowhere/notify").ready("x");
}

}  // namespace
}  // namespace tandem::apps
