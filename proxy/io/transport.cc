// SPDX-License-Identifier: Apache-2.0

#include "proxy/io/transport.h"

#include <cerrno>

namespace bloomwall::proxy {

void Transport::pause(PauseReason reason) {
  gate_.pause(reason);
  on_gate_closed();
}

void Transport::resume(PauseReasons reasons) {
  if (gate_.open() || !gate_.resume(reasons) || !is_open_ || end_told_) return;
  on_gate_opened();
}

void Transport::send(std::string_view text) {
  const iovec piece{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
  send(std::span(&piece, 1));
}

// Offers octets until the handler pauses, closes, or has used them all; returns how many were used. If the handler puts
// another transport over this one, that transport is offered the rest.
std::size_t Transport::deliver(std::span<const char> bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && is_open_ && gate_.open()) {
    const Handler* const asked = handler_;
    const std::size_t taken = handler_->on_data(bytes.subspan(used));
    if (taken == 0 && is_open_ && gate_.open() && handler_ == asked) fail_read(EPROTO);  // else this loop would not end
    used += taken;
  }
  return used;
}

void Transport::deliver_inbox() {
  while (!inbox_.empty() && is_open_ && gate_.open()) {
    const std::size_t used = deliver(inbox_.front());
    if (is_open_) inbox_.consume(used);  // else close() has emptied it
  }
}

void Transport::take(std::span<const char> bytes) {
  bytes_in_ += bytes.size();
  const std::size_t used = inbox_.empty() ? deliver(bytes) : 0;
  if (!is_open_ || used == bytes.size()) return;
  if (!inbox_.append(bytes.subspan(used), Bound::served)) fail_read(ENOBUFS);
}

void Transport::tell_end() {
  if (!is_open_ || !read_ended_ || end_told_ || !inbox_.empty() || !gate_.open()) return;
  end_told_ = true;
  handler_->on_end();
}

void Transport::fail_read(int error) {
  close();
  handler_->on_failed(error);
}

}  // namespace bloomwall::proxy
