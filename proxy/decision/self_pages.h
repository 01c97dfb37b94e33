// The proxy's own pages that a worker answers alone: the home page, /setup, and the file for automatic configuration.
// Where the proxy is reached, as those pages say it: under the Host that was asked for; on the self host's name, which
// no client can resolve, at the listener's own address. A Host that is no host name and no address counts for nothing.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "proxy/io/endpoint.h"
#include "proxy/reply/replies.h"
#include "proxy/reply/self_path.h"
#include "proxy/reply/setup_lines.h"

namespace bloomwall::proxy {

struct ClientInfo;
struct ExchangeContext;
struct RequestHead;
struct Snapshot;

Endpoint reached_endpoint(const ClientInfo& client);  // where the client has connected to
std::string host_in_url(const Endpoint& endpoint);    // "192.0.2.1", "[::1]"
// Of a request for the proxy itself: its path, with the query.
std::string_view self_target(const RequestHead& head);
// Whether a request in origin-form is for the listener itself: the home page under an address alone.
bool is_for_listener(const RequestHead& head);
// Whether one in absolute-form is for /setup or the file, under the listener's own address.
bool asks_listener_by_itself(const RequestHead& head, const ClientInfo& client, const Snapshot& snapshot);
ProxyAddress proxy_address(const ExchangeContext& context);
// Whether it is one of these pages: a GET or HEAD of home, setup or pac.
bool is_self_page(const ExchangeContext& context);
// Call it where is_self_page(). `url`: as of report_address().
void write_self_page(std::string& out, const ExchangeContext& context, std::string_view url, const ReplyContext& reply);

}  // namespace bloomwall::proxy
