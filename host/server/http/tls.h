// SPDX-License-Identifier: Apache-2.0
//
// TLS 1.2 and 1.3 by OpenSSL: certificate and key from files, and streams that use them. Only
// ciphers with forward secrecy and authenticated encryption are offered.
//
// The keys are immutable. A reload makes new ones, and connections keep those that they began with.
// ALPN accepts "http/1.1" and "http/1.0". Threads: any; a stream as stream.h says.
#pragma once

#include <memory>

#include "server/http/listen_options.h"
#include "server/http/stream.h"

namespace tandem::server::http {

class TlsKeys;

// Throws Error("server", ...) naming the file when one cannot be read or the key is of another
// certificate.
std::shared_ptr<TlsKeys> load_tls_keys(const TlsFiles& files);

std::unique_ptr<Stream> make_tls_stream(Socket socket, std::shared_ptr<TlsKeys> keys);

}  // namespace tandem::server::http
