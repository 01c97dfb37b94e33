// A proxy that answers questions (`answers:`), and what asks it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {

// blocked.test is listed, and below http://mixed.test/ the folder /bad/.
class AnswersTest : public ProxyTest {
 protected:
  AnswersTest() {
    given.list = "blocked.test\nhttp://mixed.test/bad/\n";
    given.settings.access.clients = {"127.0.0.0/8"};
  }
  void give_door(conf::Answers::Protocol protocol, const std::string& address = "127.0.0.1:0",
                 const std::vector<std::string>& trust = {}) {
    conf::Answers& door = given.settings.answers.emplace_back();
    door.address = address;
    door.protocol = protocol;
    door.trust = trust;
  }
  // A new connection to the door that was given as the first, of the others by index; from another address where one is
  // named.
  ScriptedPeer asker(std::size_t door = 0, const std::string& from = "127.0.0.1") {
    return ScriptedPeer::connect_from(from, the_proxy().answer_addresses().at(door).port());
  }
  ScriptedPeer asker_at(const std::string& path) {
    the_proxy();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error(path + ": " + std::strerror(errno));
    }
    return ScriptedPeer(fd);
  }
};

}  // namespace bloomwall::test
