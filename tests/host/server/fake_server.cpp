// SPDX-License-Identifier: Apache-2.0
//
// The HTTP front over FakeService, to develop clients and the system test of the API without a
// model: fake_server [PORT] [API-KEY]. Ends with its standard input.
#include <cstdio>
#include <cstdlib>

#include "host/server/fake_service.h"
#include "server/http_server.h"

int main(int argc, char** argv) {
  tandem::test::FakeBehaviour behaviour;
  behaviour.model_id = "tandem-stories";
  behaviour.max_request_tokens = 2048;
  behaviour.hold_after = 200;  // longer outputs wait until they are cancelled
  tandem::test::FakeService service(behaviour);
  tandem::server::ServerOptions options;
  options.listen.port = static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 0);
  if (argc > 2) options.routes.api_keys = {argv[2]};
  tandem::server::HttpServer server(options, service, nullptr);
  server.start();
  std::printf("http://127.0.0.1:%d\n", server.port());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  server.drain(tandem::Deadline::after(std::chrono::seconds(5)));
  return 0;
}
