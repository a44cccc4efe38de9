// SPDX-License-Identifier: Apache-2.0
//
// TLS over Boost.Asio's stream. finish() sends close_notify and then ends the TCP direction, so
// that a client can tell the end of an answer from a cut.
#include "server/http/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <boost/asio/ssl.hpp>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>

#include "common/error.h"

namespace tandem::server::http {
namespace asio = boost::asio;

class TlsKeys {
 public:
  TlsKeys() : context(asio::ssl::context::tls_server) {}
  asio::ssl::context context;
};

namespace {

// TLS 1.2: only key exchanges with forward secrecy, and ciphers with authentication.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr std::size_t kTlsPieceBytes = 4 * 1024;

int choose_protocol(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned int offered_size, void* /*unused*/) {
  constexpr std::string_view kOurs = "\x08http/1.1\x08http/1.0";
  unsigned char* out = nullptr;
  const int result =
      SSL_select_next_proto(&out, chosen_size, reinterpret_cast<const unsigned char*>(kOurs.data()),
                            static_cast<unsigned int>(kOurs.size()), offered, offered_size);
  *chosen = out;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// OpenSSL has no text for a file that cannot be opened.
[[noreturn]] void refuse_file(const char* what, const std::string& path,
                              const boost::system::error_code& error) {
  errno = 0;
  const bool opens = std::ifstream(path).is_open();
  const std::string reason = opens ? error.message() : std::generic_category().message(errno);
  throw Error("server", std::string("cannot use ") + what + " '" + path + "': " + reason +
                            "; give a PEM file that this user can read");
}

class TlsStream final : public Stream {
 public:
  TlsStream(Socket socket, std::shared_ptr<TlsKeys> keys)
      : keys_(std::move(keys)), stream_(std::move(socket), keys_->context) {}

  asio::any_io_executor get_executor() override { return stream_.get_executor(); }

  void handshake(std::function<void(const ErrorCode&)> done) override {
    stream_.async_handshake(asio::ssl::stream_base::server, std::move(done));
  }

  void read_some(std::string& into, Handler done) override {
    const auto take = [this, &into, done = std::move(done)](const ErrorCode& error,
                                                            std::size_t size) {
      into.append(piece_.data(), size);
      done(error, size);
    };
    if (finished_) return stream_.next_layer().async_read_some(asio::buffer(piece_), take);
    stream_.async_read_some(asio::buffer(piece_), take);
  }

  void write_some(asio::const_buffer data, Handler done) override {
    stream_.async_write_some(data, std::move(done));
  }

  bool peer_left() override { return http::peer_left(stream_.next_layer()); }

  void finish() override {
    // OpenSSL has nothing else to send: the alert is one record in its buffer, and the socket's
    // buffer takes it or the client has left so much unread that it will not see the alert anyway.
    std::array<unsigned char, 256> alert;
    SSL* const ssl = stream_.native_handle();
    BIO* const memory = BIO_new(BIO_s_mem());
    if (memory != nullptr) {
      BIO_up_ref(SSL_get_wbio(ssl));
      BIO* const before = SSL_get_wbio(ssl);
      SSL_set0_wbio(ssl, memory);
      SSL_shutdown(ssl);
      const int size = BIO_read(memory, alert.data(), static_cast<int>(alert.size()));
      SSL_set0_wbio(ssl, before);
      ErrorCode ignored;
      stream_.next_layer().non_blocking(true, ignored);
      if (size > 0) {
        stream_.next_layer().write_some(asio::buffer(alert.data(), static_cast<std::size_t>(size)),
                                        ignored);
      }
    }
    ERR_clear_error();
    ErrorCode ignored;
    stream_.next_layer().shutdown(Socket::shutdown_send, ignored);
    finished_ = true;
  }

  void close() override {
    ErrorCode ignored;
    stream_.next_layer().close(ignored);
  }

 private:
  std::shared_ptr<TlsKeys> keys_;
  asio::ssl::stream<Socket> stream_;
  std::array<char, kTlsPieceBytes> piece_;
  bool finished_ = false;
};

}  // namespace

std::shared_ptr<TlsKeys> load_tls_keys(const TlsFiles& files) {
  auto keys = std::make_shared<TlsKeys>();
  asio::ssl::context& context = keys->context;
  SSL_CTX* const native = context.native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  if (SSL_CTX_set_cipher_list(native, kCiphers) != 1) {
    throw Error("server", "this OpenSSL knows none of the ciphers that TLS 1.2 needs here");
  }
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(native, choose_protocol, nullptr);
  boost::system::error_code error;
  // A key with a passphrase is refused; a daemon has no terminal to ask at.
  context.set_password_callback([](std::size_t, auto) { return std::string(); }, error);
  // The key comes first. OpenSSL then drops it if the certificate does not fit, for all types of
  // keys.
  context.use_private_key_file(files.key, asio::ssl::context::pem, error);
  if (error) refuse_file("--tls-key", files.key, error);
  context.use_certificate_chain_file(files.certificate, error);
  if (error) refuse_file("--tls-cert", files.certificate, error);
  if (SSL_CTX_check_private_key(native) != 1) {
    ERR_clear_error();
    throw Error("server", "the key in '" + files.key + "' is not that of the certificate in '" +
                              files.certificate + "'");
  }
  return keys;
}

std::unique_ptr<Stream> make_tls_stream(Socket socket, std::shared_ptr<TlsKeys> keys) {
  return std::make_unique<TlsStream>(std::move(socket), std::move(keys));
}

}  // namespace tandem::server::http
