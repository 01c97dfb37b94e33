// The forms that texts of the configuration must have: addresses, networks, host names, URLs. Checked for form alone;
// proxy/ turns them into sockaddrs. Pure functions, linear in the text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace bloomwall::conf {

// One form: what the error message asks for, and the check. The check may normalise the value (lower case); its error
// is empty where `expected` is the whole message, else it is the particular reason.
struct Form {
  std::string_view expected;
  tl::expected<void, std::string> (*check)(std::string& value);
};

bool is_ip(std::string_view text);               // "192.0.2.1", "2001:db8::1"; no zone, no brackets
bool is_of_this_host(std::string_view address);  // a kListenAddress that no other host can reach: 127.0.0.0/8, ::1
bool is_host_name(std::string_view text);        // labels of a-z A-Z 0-9 - _, at most 63 octets each and 253 in all

extern const Form kListenAddress;   // ip:port, [ip6]:port or :port; port 0 allowed
extern const Form kFoundText;       // one line for Postfix, not empty
extern const Form kAnswersAddress;  // the same, or unix:/path
extern const Form kDnsServer;       // ip, ip:port, [ip6]:port
extern const Form kPacProxy;        // host:port, or https://host:port of a listener with TLS; names made lower-case
extern const Form kHostPort;        // host:port, ip:port, [ip6]:port; port 1 to 65535
extern const Form kNetwork;         // CIDR or address, no bits beyond the prefix
extern const Form kDestination;     // the same or a group name
extern const Form kNat64Prefix;     // an IPv6 network of 32, 40, 48, 56, 64 or 96 bits
extern const Form kBypass;          // a host name, or a CIDR or address; names made lower-case
extern const Form kHostName;        // made lower-case
extern const Form kResolvedName;    // the same, and nothing that is an address to some: addresses are not looked up
extern const Form kIp;
extern const Form kLabel;            // [A-Za-z0-9._-]{1,64}: names of filters
extern const Form kEngine;           // the same: names of search engines
extern const Form kUser;             // 1 to 255 octets, neither control octets nor a colon; no blank at either end
extern const Form kUserGroup;        // 1 to 64 octets likewise, and no comma
extern const Form kDeviceName;       // 1 to 64 octets, no control octets; no blank at either end
extern const Form kCertificateName;  // cn:, dns:, uri: or email:, and 1 to 255 octets; dns made lower-case
extern const Form kRealm;            // 1 to 64 letters, digits, blanks or .-_, and no blank at either end
extern const Form kScheme;           // negotiate or basic; made lower-case
extern const Form kArgument;         // of a command: 1 to 4096 octets, no control octets
extern const Form kToken;            // RFC 9110 token of at most 64 octets
extern const Form kContact;          // mail address or http(s) URL; empty: none
extern const Form kReportUrl;        // http(s) or mailto URL, braces allowed; empty: none
extern const Form kKeyHash;          // SHA-256 in 64 hexadecimal digits; made lower-case
extern const Form kHttpUrl;          // http(s) URL; empty: none
extern const Form kListUrl;          // http(s) URL of a list, without a fragment
extern const Form kCertificatesUrl;  // http(s) URL without a login and fragment, or an absolute path
extern const Form kListFormat;       // a name of a list's format
extern const Form kCategory;         // of an archive of lists: "adult", "hobby/cooking"
extern const Form kColumn;           // of a table: a number from 1, or a name in its header
extern const Form kSha256;           // 64 hexadecimal digits; made lower-case
extern const Form kCanary;           // a host name, or an http(s) URL
extern const Form kUpdateProxy;      // "direct", or an http(s) URL of nothing but a host and a port
extern const Form kTimes;            // of a schedule: schedule_text.h
extern const Form kDates;            // of a calendar: schedule_text.h
extern const Form kZone;             // the name of a time zone that this system has
extern const Form kTimeZone;         // the same, or "system"

}  // namespace bloomwall::conf
