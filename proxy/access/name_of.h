// The names that a request has. Its client chooses each of them, but for the address, and a server that answers for all
// of them with the same site serves what is listed for one under another. So the path of a request is asked under each
// name, as a URL, and the worst verdict counts: what frees one name frees no other.
//
//   door                              target                server_name     connect               address
//   plain HTTP to the proxy           URL (Host gives way)  -               -                     -
//   plain HTTP in CONNECT             Host or URL           -               what CONNECT named    -
//   decrypted TLS in CONNECT          Host or :authority    SNI, if sent    what CONNECT named    -
//   plain HTTP on a transparent       Host or URL           -               -                     where it went
//   decrypted TLS on a transparent    Host or :authority    SNI, if sent    -                     where it went
//
// HTTP/1 and HTTP/2 do not differ. A name that equals another one is asked once. `otherwise: deny` concerns the names
// that a client asks for, and so not the address of a transparent listener.
// TargetCheck asks about the target and the host that a tunnel is for, Decider about the others.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace bloomwall::proxy {

enum class NameOf : std::uint8_t { target, server_name, connect, address };

// As in the access log.
constexpr const char* to_string(NameOf name) {
  switch (name) {
    case NameOf::target:
      return "target";
    case NameOf::server_name:
      return "server_name";
    case NameOf::connect:
      return "connect";
    case NameOf::address:
      return "address";
  }
  return "unknown";
}

}  // namespace bloomwall::proxy
