// SPDX-License-Identifier: Apache-2.0
//
// Paths, methods, content types, keys and CORS, through real sockets.
#include <gtest/gtest.h>

#include "host/server/server_fixture.h"

namespace tandem::server {
namespace {

using test::completion_body;
using test::error_of;
using test::HttpClient;
using test::Reply;
using test::RunningServer;

TEST(Api, UnknownPathsAndMethodsSayWhatThereIs) {
  RunningServer running;
  HttpClient client(running.port());
  for (const char* path : {"/", "/v1", "/v1/models/", "/v1/embeddings", "/health/"}) {
    const Reply reply = client.get(path);
    EXPECT_EQ(reply.status, 404) << path;
    error_of(reply);
  }
  const Reply wrong = client.get("/v1/completions");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.at("allow"), "POST, OPTIONS");
  EXPECT_EQ(client.post("/health", std::string("{}")).headers.at("allow"), "GET, HEAD, OPTIONS");
  client.send("OPTIONS /v1/models HTTP/1.1\r\nHost: h\r\n\r\n");
  const Reply options = client.read_reply();
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.headers.at("allow"), "GET, HEAD, OPTIONS");
}

TEST(Api, BodiesMustBeDeclaredJson) {
  RunningServer running;
  HttpClient client(running.port());
  const std::string body = completion_body().dump();
  for (const char* type : {"", "Content-Type: text/plain\r\n"}) {
    client.send(std::string("POST /v1/completions HTTP/1.1\r\nHost: h\r\n") + type +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    EXPECT_EQ(client.read_reply().status, 415);
  }
  client.send(
      "POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Type: Application/JSON ; "
      "charset=utf-8\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_EQ(client.read_reply().status, 200);
}

TEST(Api, MetricsAndStatusComeFromTheService) {
  RunningServer running;
  HttpClient client(running.port());
  const Reply metrics = client.get("/metrics");
  EXPECT_EQ(metrics.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(metrics.body, running.service.metrics_text());
  EXPECT_EQ(client.get("/status").body, running.service.status_json());
}

TEST(Api, KeysGuardEveryRouteButHealth) {
  ServerOptions options;
  options.routes.api_keys = {"secret"};
  RunningServer running({}, options);
  HttpClient client(running.port());
  EXPECT_EQ(client.get("/health").status, 200);
  for (const char* path :
       {"/metrics", "/status", "/v1/models", "/v1/models/fake", "/v1/completions", "/nothing"}) {
    const Reply reply = client.get(path);
    EXPECT_EQ(reply.status, 401) << path;
    EXPECT_EQ(reply.headers.at("www-authenticate"), "Bearer");
    EXPECT_EQ(error_of(reply)["code"], "invalid_api_key");
    const Reply wrong = client.get(path, "Authorization: Bearer wrong\r\n");
    EXPECT_EQ(wrong.status, 401) << path;
    EXPECT_NE(error_of(reply)["message"].dump().find("needs an API key"), std::string::npos);
    EXPECT_NE(error_of(wrong)["message"].dump().find("is not valid here"), std::string::npos);
  }
  EXPECT_EQ(client.get("/v1/models", "Authorization: Bearer secret\r\n").status, 200);
  EXPECT_EQ(client.post("/v1/completions", completion_body().dump()).status, 401);
  EXPECT_EQ(
      client.post("/v1/completions", completion_body().dump(), "Authorization: Bearer secret\r\n")
          .status,
      200);
}

TEST(Api, OtherOriginsAreNotInvitedUnlessConfigured) {
  RunningServer closed;
  HttpClient client(closed.port());
  const Reply plain = client.get("/v1/models", "Origin: https://app.example\r\n");
  EXPECT_FALSE(plain.headers.contains("access-control-allow-origin"));
  client.send(
      "OPTIONS /v1/completions HTTP/1.1\r\nHost: h\r\nOrigin: https://app.example\r\n"
      "Access-Control-Request-Method: POST\r\n\r\n");
  EXPECT_FALSE(client.read_reply().headers.contains("access-control-allow-origin"));
}

TEST(Api, AnOriginSeesNothingOfOperatorsWithoutKeys) {
  ServerOptions options;
  options.routes.cors_origin = "*";
  options.routes.admin_from_loopback = true;
  RunningServer running({}, options);
  HttpClient client(running.port());
  const Reply config = client.get("/admin/config", "Origin: https://evil.example\r\n");
  EXPECT_FALSE(config.headers.contains("access-control-allow-origin"));
  const Reply model = client.get("/v1/models", "Origin: https://evil.example\r\n");
  EXPECT_EQ(model.headers.at("access-control-allow-origin"), "*");
  client.send(
      "OPTIONS /admin/drain HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://evil.example\r\n"
      "Access-Control-Request-Method: POST\r\n\r\n");
  EXPECT_FALSE(client.read_reply().headers.contains("access-control-allow-origin"));
}

TEST(Api, AConfiguredOriginMayAskAndUse) {
  ServerOptions options;
  options.routes.cors_origin = "https://app.example";
  options.routes.api_keys = {"secret"};
  RunningServer running({}, options);
  HttpClient client(running.port());
  client.send(
      "OPTIONS /v1/completions HTTP/1.1\r\nHost: h\r\nOrigin: https://app.example\r\n"
      "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: "
      "authorization\r\n\r\n");
  const Reply preflight = client.read_reply();
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.headers.at("access-control-allow-origin"), "https://app.example");
  EXPECT_EQ(preflight.headers.at("access-control-allow-headers"), "authorization");
  const Reply refused = client.get("/v1/models", "Origin: https://app.example\r\n");
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.headers.at("access-control-allow-origin"), "https://app.example");
  const Reply other = client.get("/health", "Origin: https://evil.example\r\n");
  EXPECT_FALSE(other.headers.contains("access-control-allow-origin"));
  for (const Reply& reply : {refused, other, client.get("/health")}) {
    EXPECT_EQ(reply.headers.at("vary"), "Origin") << "a cache keeps the answers apart";
  }
}

}  // namespace
}  // namespace tandem::server
