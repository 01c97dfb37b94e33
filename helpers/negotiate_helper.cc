// negotiate-helper: says whose a Kerberos ticket is, in Squid's helper protocol. It keeps the libraries that read what
// strangers send, and the keytab, out of the proxy.
//   in    [channel ]YR ticket                        base64, SPNEGO or Kerberos as GSSAPI takes it
//         [channel ]KK ticket                        the next leg of what was answered TT on that channel
//   out   [channel ]OK token=... user=alice@REALM    token: for the client, base64; user is %-escaped
//         [channel ]TT token=...                     the client is to answer that
//         [channel ]ERR message="..."                anonymous
//         [channel ]BH message="..."                 no ticket for this service, expired, used before
// One question after the other; a channel is sent back as it came. Contexts wait for their next leg on kMostOpen
// channels at most; a channel has one. Ends with its stdin, or at a line of over 64 KiB.
// Exit status: 0 the end of stdin; 1 no key, or a line that is no question; 2 wrong options.
// Source: RFC 4559, RFC 2743.
// SPDX-License-Identifier: Apache-2.0
#include <gssapi/gssapi.h>
#include <gssapi/gssapi_krb5.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace {

constexpr std::size_t kMostLine = std::size_t{64} << 10;
constexpr std::size_t kMostOpen = 1000;  // contexts: as many channels as the proxy has at most
constexpr std::string_view kDigits64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUsage =
    "Usage: negotiate-helper [--keytab FILE] [--service HTTP@host]\n"
    "Says whose Kerberos tickets are, in Squid's helper protocol: for authentication.negotiate_helper of bloomwall.\n"
    "  --keytab FILE        keys of the service; default: that of the system\n"
    "  --service HTTP@HOST  tickets for this service alone; default: for any in the keytab\n";

// What GSSAPI hands out.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() {
    OM_uint32 minor = 0;
    gss_release_buffer(&minor, &buffer_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  gss_buffer_t get() { return &buffer_; }
  std::string_view text() const { return {static_cast<const char*>(buffer_.value), buffer_.length}; }

 private:
  gss_buffer_desc buffer_ = GSS_C_EMPTY_BUFFER;
};

std::string encode(std::string_view octets) {
  std::string out;
  for (std::size_t i = 0; i < octets.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t j = i; j < i + 3; ++j) {
      bits = bits << 8U | (j < octets.size() ? static_cast<unsigned char>(octets[j]) : 0U);
    }
    for (std::size_t digit = 0; digit < 4; ++digit) {
      out.push_back(i + digit > octets.size() ? '=' : kDigits64[(bits >> (18 - 6 * digit)) & 63U]);
    }
  }
  return out;
}

std::optional<std::string> decode(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  std::string out;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const std::size_t value = kDigits64.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>(bits >> count & 255U));
  }
  return out;
}

std::string escape(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (c > ' ' && c <= '~' && c != '%' && c != '"') {
      out.push_back(c);
    } else {
      const auto octet = static_cast<unsigned char>(c);
      out.append({'%', kHex[octet >> 4U], kHex[octet & 15U]});
    }
  }
  return out;
}

// Of both codes that a call has given.
std::string reason_of(OM_uint32 major, OM_uint32 minor) {
  std::string out;
  for (const auto& [code, kind] : {std::pair{major, GSS_C_GSS_CODE}, std::pair{minor, GSS_C_MECH_CODE}}) {
    OM_uint32 more = 0, ignored = 0;
    Buffer text;
    if (gss_display_status(&ignored, code, kind, GSS_C_NO_OID, &more, text.get()) != GSS_S_COMPLETE) continue;
    out.append(out.empty() ? "" : "; ").append(text.text());
  }
  for (char& c : out) {
    if (c < ' ' || c > '~' || c == '"' || c == '\\') c = '\'';
  }
  return out;
}

std::string failure(const char* word, std::string_view why) {
  return std::string(word).append(" message=\"").append(why).append("\"");
}

// A context that is being accepted.
class Acceptance {
 public:
  Acceptance() = default;
  ~Acceptance() {
    OM_uint32 minor = 0;
    if (context_ != GSS_C_NO_CONTEXT) gss_delete_sec_context(&minor, &context_, GSS_C_NO_BUFFER);
    if (client_ != GSS_C_NO_NAME) gss_release_name(&minor, &client_);
  }
  Acceptance(const Acceptance&) = delete;
  Acceptance& operator=(const Acceptance&) = delete;

  // The answer to a leg.
  std::string answer(std::string& ticket, gss_cred_id_t keys) {
    is_open_ = false;
    gss_buffer_desc input{.length = ticket.size(), .value = ticket.data()};
    OM_uint32 minor = 0, flags = 0;
    Buffer output;
    const OM_uint32 major = gss_accept_sec_context(&minor, &context_, keys, &input, GSS_C_NO_CHANNEL_BINDINGS, &client_,
                                                   nullptr, output.get(), &flags, nullptr, nullptr);
    if (GSS_ERROR(major)) return failure("BH", reason_of(major, minor));
    if (major != GSS_S_COMPLETE) {
      is_open_ = !output.text().empty();
      return is_open_ ? "TT token=" + encode(output.text())
                      : failure("BH", "another leg is needed, and nothing to ask");
    }
    if ((flags & GSS_C_ANON_FLAG) != 0) return failure("ERR", "an anonymous ticket");
    Buffer name;
    const OM_uint32 shown = gss_display_name(&minor, client_, name.get(), nullptr);
    if (GSS_ERROR(shown) || name.text().empty()) return failure("BH", reason_of(shown, minor));
    const std::string token = output.text().empty() ? "AA==" : encode(output.text());
    return std::string("OK token=").append(token).append(" user=").append(escape(name.text()));
  }
  bool is_open() const { return is_open_; }  // for another leg

 private:
  gss_ctx_id_t context_ = GSS_C_NO_CONTEXT;
  gss_name_t client_ = GSS_C_NO_NAME;
  bool is_open_ = false;
};
using Acceptances = std::map<std::string, Acceptance, std::less<>>;  // by channel; all of them are open

struct Options {
  std::string keytab, service;
};

std::optional<Options> read_options(int count, char** words) {
  Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = words[i];
    if (name != "--keytab" && name != "--service") return std::nullopt;
    (name == "--keytab" ? options.keytab : options.service) = words[i + 1];
  }
  return count % 2 == 1 ? std::optional(options) : std::nullopt;
}

// The keys of the service; nothing: stderr says why.
std::optional<gss_cred_id_t> acquire_keys(const Options& options) {
  OM_uint32 minor = 0, major = GSS_S_COMPLETE;
  if (!options.keytab.empty()) major = krb5_gss_register_acceptor_identity(options.keytab.c_str());
  gss_name_t name = GSS_C_NO_NAME;
  if (!GSS_ERROR(major) && !options.service.empty()) {
    std::string service = options.service;
    gss_buffer_desc text{.length = service.size(), .value = service.data()};
    major = gss_import_name(&minor, &text, GSS_C_NT_HOSTBASED_SERVICE, &name);
  }
  gss_cred_id_t keys = GSS_C_NO_CREDENTIAL;
  if (!GSS_ERROR(major)) {
    major = gss_acquire_cred(&minor, name, GSS_C_INDEFINITE, GSS_C_NO_OID_SET, GSS_C_ACCEPT, &keys, nullptr, nullptr);
  }
  if (!GSS_ERROR(major)) return keys;
  std::cerr << "negotiate-helper: " << reason_of(major, minor) << '\n' << std::flush;
  return std::nullopt;
}

std::string answer_leg(Acceptances& open, std::string_view channel, bool is_first, std::string& ticket,
                       gss_cred_id_t keys) {
  auto at = open.find(channel);
  if (is_first) {  // whatever was begun there before is over
    if (at != open.end()) open.erase(at);
    if (open.size() >= kMostOpen) open.erase(open.begin());
    at = open.try_emplace(std::string(channel)).first;
  }
  if (at == open.end()) return failure("BH", "no login waits for a leg here");
  std::string answer = at->second.answer(ticket, keys);
  if (!at->second.is_open()) open.erase(at);
  return answer;
}

// False: the line is no question.
bool answer_line(std::string_view line, Acceptances& open, gss_cred_id_t keys) {
  std::string_view channel;
  if (!line.empty() && line.front() >= '0' && line.front() <= '9') {
    channel = line.substr(0, line.find(' ') + 1);
    line.remove_prefix(channel.size());
  }
  if (!line.starts_with("YR ") && !line.starts_with("KK ")) return false;
  auto ticket = decode(line.substr(3));
  const std::string answer =
      ticket ? answer_leg(open, channel, line.front() == 'Y', *ticket, keys) : failure("BH", "no base64");
  std::cout << channel << answer << '\n' << std::flush;
  return static_cast<bool>(std::cout);
}

}  // namespace

int main(int count, char** words) {
  if (count == 2 && std::string_view(words[1]) == "--help") {
    std::cout << kUsage;
    return 0;
  }
  const auto options = read_options(count, words);
  if (!options) {
    std::cerr << kUsage;
    return 2;
  }
  const auto keys = acquire_keys(*options);
  if (!keys) return 1;
  std::ios::sync_with_stdio(false);
  std::string line(kMostLine, '\0');
  Acceptances open;
  while (std::cin.getline(line.data(), static_cast<std::streamsize>(line.size()))) {
    const auto taken = static_cast<std::size_t>(std::cin.gcount());
    const std::size_t length = std::cin.eof() ? taken : taken - 1;  // without the line feed
    if (!answer_line(std::string_view(line.data(), length), open, *keys)) return 1;
  }
  return std::cin.eof() ? 0 : 1;
}
