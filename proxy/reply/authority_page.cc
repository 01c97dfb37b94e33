// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/authority_page.h"

#include <fmt/format.h>

#include "proxy/http/escape.h"
#include "proxy/reply/reply_message.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kAuthorityHtml = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="robots" content="noindex">
<title>Certificate of this network's web filter</title><style>
:root{{color-scheme:light dark;--ground:#eef1f5;--card:#fff;--ink:#18202c;--soft:#556072;--line:#dde2ea;--well:#f4f6f9}}
@media(prefers-color-scheme:dark){{:root{{--ground:#0f1319;--card:#181d26;--ink:#e9edf3;--soft:#9aa6b8;--line:#2a3240;
--well:#11161d}}}}
*{{box-sizing:border-box}}body{{margin:0;padding:1.5rem;background:var(--ground);color:var(--ink);
font:1rem/1.6 system-ui,sans-serif}}main{{max-width:52rem;margin:auto;padding:2rem;background:var(--card);
border:1px solid var(--line);border-radius:16px}}h1{{font-size:1.6rem;margin:0 0 .4rem}}h2{{font-size:1.15rem;
margin:2rem 0 .4rem}}code{{font:.88rem/1.5 ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere}}
.well{{background:var(--well);border:1px solid var(--line);border-radius:10px;padding:.7rem 1rem;margin:.6rem 0}}
table{{border-collapse:collapse;width:100%}}th,td{{text-align:left;vertical-align:top;padding:.45rem .8rem .45rem 0;
border-top:1px solid var(--line)}}th{{font-weight:600;min-width:9rem}}small{{color:var(--soft)}}a{{color:inherit}}
@media(max-width:38rem){{body{{padding:0}}main{{border:0;border-radius:0;padding:1.5rem 1.25rem}}
table,tbody,tr,th,td{{display:block;width:auto}}th{{min-width:0;padding-bottom:0}}td{{border-top:0;overflow-wrap:anywhere}}}}
</style></head><body><main><h1>Certificate of this network's web filter</h1>
<p><strong>A device that trusts this certificate lets the filter of this network read HTTPS on it.</strong> {reads}</p>
<p>{logs} {contact}</p>
<h2>Certificate</h2>
{authorities}
<p>This page is not encrypted and could be forged: compare the fingerprint with the one that your administrator gives
you (<code>bloomwall ca show</code>) before you install it.</p>
<p><a href="/ca.crt">ca.crt</a> (PEM) &middot; <a href="/ca.der">ca.der</a> (DER) &middot;
<a href="/ca.mobileconfig">ca.mobileconfig</a> (profile for iOS and macOS)</p>
<h2>How to install it</h2>
<table>{lines}</table></main></body></html>
)";

std::string_view reads_sentence(AuthorityPage::Reads reads) {
  switch (reads) {
    case AuthorityPage::Reads::nothing:
      return "At the moment it reads nothing: inspection is off.";
    case AuthorityPage::Reads::blocked_hosts:
      return "It decrypts connections to blocked sites only, to show why they are blocked. Nothing that is sent to "
             "other sites is read.";
    case AuthorityPage::Reads::listed_hosts:
      return "It decrypts connections to blocked sites and to sites of which single pages are listed. All other "
             "connections stay encrypted from end to end.";
    case AuthorityPage::Reads::all_hosts:
      return "It decrypts connections to all sites but those that its operator has excepted.";
  }
  return "";
}

std::string logs_sentence(const AuthorityPage& page) {
  std::string out = "Contents, passwords and cookies are not kept. ";
  out += page.logs_all_urls ? "The addresses of all pages on decrypted sites are logged."
                            : "Of decrypted sites the log holds the name, and the address of pages that were blocked.";
  if (!page.kept_for.empty()) out.append(" Requests are stored for ").append(page.kept_for).append(".");
  return out;
}

std::string contact_sentence(const AuthorityPage& page) {
  return page.contact.empty() ? std::string() : fmt::format("Ask {} about it.", page.contact);
}

std::string escaped(std::string_view text) {
  std::string out;
  append_html(out, text);
  return out;
}

std::string html_of_page(const AuthorityPage& page) {
  std::string authorities, lines;
  for (const auto& one : page.authorities) {
    authorities += fmt::format(
        "<div class=\"well\"><strong>{}</strong>: {}<br><small>SHA-256</small> <code>{}</code><br><small>valid until "
        "{}</small></div>\n",
        escaped(one.role), escaped(one.subject), escaped(one.fingerprint), escaped(one.ends));
  }
  for (const InstallLine& line : install_lines()) {
    lines += fmt::format("<tr><th>{}</th><td><code>{}</code></td></tr>\n", escaped(line.system), escaped(line.how));
  }
  return fmt::format(fmt::runtime(kAuthorityHtml), fmt::arg("reads", reads_sentence(page.reads)),
                     fmt::arg("logs", escaped(logs_sentence(page))),
                     fmt::arg("contact", escaped(contact_sentence(page))), fmt::arg("authorities", authorities),
                     fmt::arg("lines", lines));
}

std::string json_of_page(const AuthorityPage& page) {
  std::string out = R"({"authorities":[)";
  const auto member = [&](const char* key, std::string_view value) {
    out.append("\"").append(key).append("\":\"");
    append_json(out, value);
    out.append("\"");
  };
  for (const auto& one : page.authorities) {
    out.append(out.back() == '[' ? "{" : ",{");
    member("role", one.role);
    out.push_back(',');
    member("subject", one.subject);
    out.push_back(',');
    member("sha256", one.fingerprint);
    out.push_back(',');
    member("not_after", one.ends);
    out.push_back('}');
  }
  out.append("],");
  member("reads", reads_sentence(page.reads));
  return out.append(R"(,"pem":"/ca.crt","der":"/ca.der","mobileconfig":"/ca.mobileconfig"})"
                    "\n");
}

std::string text_of_page(const AuthorityPage& page) {
  std::string out = fmt::format(
      "Certificate of this network's web filter\n\nA device that trusts this certificate lets the filter of this "
      "network read HTTPS on it.\n{}\n{} {}\n\n",
      reads_sentence(page.reads), logs_sentence(page), contact_sentence(page));
  for (const auto& one : page.authorities) {
    out += fmt::format("{}: {}\n  SHA-256 {}\n  valid until {}\n", one.role, one.subject, one.fingerprint, one.ends);
  }
  out +=
      "\nCompare the fingerprint with the one that your administrator gives you (bloomwall ca show).\n"
      "Files: /ca.crt (PEM), /ca.der, /ca.mobileconfig (iOS, macOS)\n\n";
  for (const InstallLine& line : install_lines()) out += fmt::format("{}\n  {}\n", line.system, line.how);
  return out;
}

}  // namespace

std::optional<AuthorityResource> authority_resource(std::string_view path) {
  path = path.substr(0, path.find('?'));
  if (path == "/ca") return AuthorityResource::page;
  if (path == "/ca.crt") return AuthorityResource::pem;
  if (path == "/ca.der") return AuthorityResource::der;
  if (path == "/ca.mobileconfig") return AuthorityResource::profile;
  return std::nullopt;
}

std::string authority_page_text(const AuthorityPage& page, MediaType type) {
  switch (type) {
    case MediaType::html:
      return html_of_page(page);
    case MediaType::json:
      return json_of_page(page);
    case MediaType::text:
      return text_of_page(page);
  }
  return {};
}

AuthorityFileKind authority_file_kind(AuthorityResource file) {
  switch (file) {
    case AuthorityResource::page:
    case AuthorityResource::pem:
      return {"application/x-x509-ca-cert", "Content-Disposition: attachment; filename=\"ca.crt\"\r\n"};
    case AuthorityResource::der:
      return {"application/x-x509-ca-cert", "Content-Disposition: attachment; filename=\"ca.der\"\r\n"};
    case AuthorityResource::profile:
      return {"application/x-apple-aspen-config", {}};
  }
  return {};
}

void write_authority_page(std::string& out, const AuthorityPage& page, const ReplyContext& context) {
  const MediaType type = choose_media(context.accept);
  const std::string body = authority_page_text(page, type);
  write_reply_message(
      out, {.status = 200, .content_type = content_type(type), .body = body, .is_page = type == MediaType::html},
      context);
}

void write_authority_file(std::string& out, AuthorityResource resource, std::string_view body,
                          const ReplyContext& context) {
  const AuthorityFileKind kind = authority_file_kind(resource);
  write_reply_message(
      out, {.status = 200, .content_type = kind.content_type, .body = body, .more_fields = kind.more_fields}, context);
}

const std::vector<InstallLine>& install_lines() {
  static const std::vector<InstallLine> lines{
      {"Windows, Edge, Chrome",
       "Group policy: Public Key Policies > Trusted Root Certification Authorities; or, as administrator: certutil "
       "-addstore -f Root ca.crt"},
      {"macOS",
       "MDM profile; or: sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain ca.crt"},
      {"iOS, iPadOS",
       "install ca.mobileconfig, then Settings > General > About > Certificate Trust Settings: switch it on"},
      {"Android",
       "Settings > Security > Encryption & credentials > Install a certificate > CA certificate. Apps since Android 7 "
       "ignore it unless they say otherwise; managed devices: by MDM"},
      {"Firefox",
       "Windows and macOS: takes the system's roots by itself since version 120. Linux, ESR: policies.json: "
       R"({"policies": {"Certificates": {"ImportEnterpriseRoots": true, "Install": ["/path/to/ca.crt"]}}})"},
      {"Chrome, Chromium on Linux",
       "certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n bloomwall -i ca.crt; or the policy CACertificates"},
      {"Debian, Ubuntu",
       "sudo cp ca.crt /usr/local/share/ca-certificates/bloomwall.crt && sudo update-ca-certificates"},
      {"RHEL, Fedora", "sudo cp ca.crt /etc/pki/ca-trust/source/anchors/bloomwall.crt && sudo update-ca-trust"},
      {"Java",
       "keytool -importcert -cacerts -storepass changeit -alias bloomwall -file ca.crt; on Windows: "
       "-Djavax.net.ssl.trustStoreType=Windows-ROOT"},
      {"Node.js",
       "NODE_EXTRA_CA_CERTS=/path/to/ca.crt; from 23.9 --use-system-ca, or NODE_USE_SYSTEM_CA=1; proxy: "
       "NODE_USE_ENV_PROXY=1"},
      {"Python",
       "SSL_CERT_FILE, REQUESTS_CA_BUNDLE: a bundle with the public roots (bloomwall ca export --bundle); pip --cert"},
      {"Git", "git config --global http.sslCAInfo /path/to/bundle.pem"},
      {"curl", "CURL_CA_BUNDLE=/path/to/bundle.pem"},
      {"Cargo", "CARGO_HTTP_CAINFO=/path/to/bundle.pem, or http.cainfo in its config.toml"},
      {"Go, OpenSSL", "SSL_CERT_FILE=/path/to/bundle.pem, or SSL_CERT_DIR"},
      {"Deno", "DENO_TLS_CA_STORE=system"},
      {"AWS tools", "AWS_CA_BUNDLE=/path/to/bundle.pem"},
      {"Docker", "daemon: /etc/docker/certs.d/HOST/ca.crt or the system's store; images: install it in each of them"},
  };
  return lines;
}

}  // namespace bloomwall::proxy
