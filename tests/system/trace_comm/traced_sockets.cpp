// SPDX-License-Identifier: Apache-2.0
//
// Two ranks that send over TCP in every way that the C library has: traced_sockets LIBGLOO.
//
// LIBGLOO: any library with that name, which makes the process one of gloo's. Rank 0 sends to rank
// 1: by send, sendto, sendmsg, sendmmsg, writev, sendfile and splice; over a descriptor that
// becomes that of other connections by dup2(), dup3(), close_range() and fcntl(); and, once it has
// become this program again by execl(), over the descriptor that it inherits. Between them it
// closes a connection by fclose() and writes a file under its number.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr char kBytes[2048] = {};

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::_Exit(5);
}

struct Ends {
  int sender = -1, receiver = -1;
};

Ends new_connection() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, plain, bytes) != 0 || listen(listener, 1) != 0) fail("listen");
  getsockname(listener, plain, &bytes);
  Ends ends;
  ends.sender = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(ends.sender, plain, bytes) != 0) fail("connect");
  ends.receiver = accept(listener, nullptr, nullptr);
  close(listener);
  return ends;
}

void send_in_every_way(int to) {
  send(to, kBytes, 1, 0);
  sendto(to, kBytes, 10, 0, nullptr, 0);
  iovec part{const_cast<char*>(kBytes), 100};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  sendmsg(to, &message, 0);
  mmsghdr messages[2] = {};
  iovec parts[2] = {{const_cast<char*>(kBytes), 200}, {const_cast<char*>(kBytes), 300}};
  for (int i = 0; i < 2; ++i) {
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  sendmmsg(to, messages, 2, 0);
  (void)!writev(to, parts, 2);
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  sendfile(to, file, nullptr, 1000);
  close(file);
  int ends[2];
  if (pipe(ends) != 0) fail("pipe");
  (void)!write(ends[1], kBytes, 30);
  splice(ends[0], nullptr, to, nullptr, 30, 0);
  close(ends[0]);
  close(ends[1]);
}

// A connection that fclose() ends, and a file of its number.
void write_a_file_in_place_of(int sender) {
  std::FILE* const stream = fdopen(sender, "w");
  (void)!write(sender, kBytes, 7);
  std::fclose(stream);
  int file = -1;
  do {
    file = open("/dev/null", O_WRONLY | O_CLOEXEC);
  } while (file >= 0 && file < sender);
  if (file != sender) fail("the number of the closed connection is in use");
  (void)!write(file, kBytes, 2000);
  close(file);
}

// Answers first, so that the other end of each connection is in a record too: no connection ends
// while this process has its copy of the sender's end.
[[noreturn]] void receive(const Ends* ends, int count) {
  setenv("RANK", "1", 1);
  for (int i = 0; i < count; ++i) (void)!write(ends[i].receiver, kBytes, 1);
  for (int i = 0; i < count; ++i) {
    close(ends[i].sender);
    char buffer[4096];
    while (read(ends[i].receiver, buffer, sizeof buffer) > 0) {
    }
  }
  std::exit(0);
}

int run(char** arguments) {
  constexpr int kConnections = 5;
  Ends ends[kConnections];
  for (Ends& each : ends) each = new_connection();
  const pid_t receiver = fork();
  if (receiver == 0) receive(ends, kConnections);
  for (const Ends& each : ends) close(each.receiver);
  send_in_every_way(ends[0].sender);
  // The number of the first connection becomes those of the others.
  if (dup2(ends[1].sender, ends[0].sender) < 0) fail("dup2");
  send(ends[0].sender, kBytes, 2000, 0);
  if (dup3(ends[3].sender, ends[0].sender, O_CLOEXEC) < 0) fail("dup3");
  send(ends[0].sender, kBytes, 300, 0);
  close_range(static_cast<unsigned>(ends[0].sender), static_cast<unsigned>(ends[0].sender), 0);
  if (fcntl(ends[4].sender, F_DUPFD, ends[0].sender) != ends[0].sender) fail("F_DUPFD");
  send(ends[0].sender, kBytes, 50, 0);
  for (const int at : {0, 1, 3, 4}) close(ends[at].sender);
  const int inherited = dup(ends[2].sender);
  write_a_file_in_place_of(ends[2].sender);
  const std::string number = std::to_string(inherited), child = std::to_string(receiver);
  execl(arguments[0], arguments[0], arguments[1], number.c_str(), child.c_str(), nullptr);
  fail("execl");
}

int go_on(int inherited, pid_t receiver) {
  send(inherited, kBytes, 40, 0);
  close(inherited);
  int status = 0;
  waitpid(receiver, &status, 0);
  return status == 0 ? 0 : 6;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || dlopen(argv[1], RTLD_NOW) == nullptr) {
    std::fprintf(stderr, "traced_sockets: %s\n", argc < 2 ? "LIBGLOO is missing" : dlerror());
    return 3;
  }
  setenv("WORLD_SIZE", "2", 1);
  setenv("RANK", "0", 1);
  return argc > 3 ? go_on(std::atoi(argv[2]), std::atoi(argv[3])) : run(argv);
}
