// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/fetch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/handles.h"
#include "base/text.h"
#include "filter/lists/decoder.h"
#include "proxy/update/handles.h"
#include "proxy/update/write_all.h"

namespace bloomwall::proxy {
namespace {

constexpr long kMostRedirects = 5;
constexpr long kConnectSeconds = 30, kSilentSeconds = 60;
constexpr std::size_t kMostSecretBytes = 8192, kMostValidatorBytes = 512;
constexpr std::uint64_t kMostDropped = std::uint64_t{1} << 20;  // octets of a page that says an error

void set_up_curl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

bool is_field_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
}

constexpr std::size_t kUnpackedBytes = std::size_t{64} << 10;

// Where the body goes. It is unpacked here: libcurl takes a compressed one that was cut for a whole one.
struct Body {
  int file = -1;
  std::uint64_t bytes = 0, most = 0;
  const std::atomic<bool>* stop = nullptr;
  CURL* easy = nullptr;
  bool is_too_large = false, is_endless_page = false;
  int error = 0;
  bool has_begun = false;
  std::unique_ptr<filter::Decoder> decoder = {};  // null: it is not compressed
  std::string damage = {};                        // what is wrong with its compression

  long status() const {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
  }

  // False: the transfer ends, and one of the members above says why.
  bool take(std::string_view piece) {
    if (!std::exchange(has_begun, true)) begin();
    if (!damage.empty()) return false;
    return decoder == nullptr ? keep(piece) : unpack(piece);
  }
  bool is_whole() const { return decoder == nullptr || decoder->at_end(); }

 private:
  void begin() {
    curl_header* field = nullptr;
    if (curl_easy_header(easy, "Content-Encoding", 0, CURLH_HEADER, -1, &field) != CURLHE_OK) return;
    const std::string_view coding = trim(field->value);
    if (coding.empty() || equals_ignoring_case(coding, "identity")) return;
    const bool is_gzip = equals_ignoring_case(coding, "gzip") || equals_ignoring_case(coding, "x-gzip");
    if (is_gzip && field->amount == 1) decoder = filter::make_decoder(filter::Compression::gzip);
    if (decoder == nullptr) damage = "the server compresses it in a way that was not asked for (Content-Encoding)";
  }
  bool unpack(std::string_view piece) {
    std::vector<char> out(kUnpackedBytes);
    for (;;) {
      const auto step = decoder->step(piece, out, false);
      if (!step) {
        damage = "its compression (Content-Encoding: gzip) is damaged: " + step.error();
        return false;
      }
      if (!keep({out.data(), step->produced})) return false;
      piece.remove_prefix(step->consumed);
      if (step->produced < out.size()) return true;
    }
  }
  bool keep(std::string_view octets) {
    bytes += octets.size();
    is_too_large = is_too_large || bytes > most;
    if (is_too_large) return false;
    if (write_all(file, octets)) return true;
    error = errno;
    return false;
  }
};

// A page that says an error, or that goes with a redirect, is no list: it is dropped.
std::size_t on_body(const char* data, std::size_t size, std::size_t count, void* self) {
  auto& body = *static_cast<Body*>(self);
  const std::size_t wanted = size * count;
  if (body.status() != 200) return wanted;
  return body.take({data, wanted}) ? wanted : 0;
}

// `came`: octets as they were sent, also those that unpack to nothing or are dropped. 1: that is enough.
int on_progress(void* self, curl_off_t, curl_off_t came, curl_off_t, curl_off_t) {
  auto& body = *static_cast<Body*>(self);
  if (body.stop != nullptr && body.stop->load(std::memory_order_relaxed)) return 1;
  const auto octets = static_cast<std::uint64_t>(came);
  if (octets <= kMostDropped) return 0;
  if (body.status() != 200) body.is_endless_page = true;
  if (octets - kMostDropped > body.most) body.is_too_large = true;
  return body.is_endless_page || body.is_too_large ? 1 : 0;
}

std::string validator(CURL* easy, const char* name) {
  curl_header* field = nullptr;
  if (curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &field) != CURLHE_OK) return {};
  const std::string_view value = field->value;
  if (value.size() > kMostValidatorBytes || !is_field_text(value)) return {};
  return std::string(value);
}

class Transfer {
 public:
  Transfer(const FetchRequest& request, const FetchWay& way, int file)
      : request_(request),
        easy_(curl_easy_init()),
        body_{.file = file, .most = request.most_bytes, .stop = request.stop} {
    if (easy_ == nullptr) return;
    body_.easy = easy_.get();
    set_target();
    set_limits();
    set_way(way);
    set_headers();
  }

  tl::expected<Fetched, FetchFailure> run() {
    if (easy_ == nullptr) return tl::unexpected(FetchFailure{.what = "out of memory"});
    const CURLcode code = curl_easy_perform(easy_.get());
    const long status = body_.status();
    if (code == CURLE_FILESIZE_EXCEEDED && status != 200) body_.is_endless_page = true;
    if (code != CURLE_OK && !body_.is_endless_page) return tl::unexpected(failure(code));
    if (status == 304 && has_copy()) return Fetched{.is_unchanged = true};
    if (status == 200 && !body_.is_whole())
      return tl::unexpected(FetchFailure{.what = "its compression ends in the middle"});
    if (status == 200) {
      return Fetched{.etag = validator(easy_.get(), "ETag"),
                     .last_modified = validator(easy_.get(), "Last-Modified"),
                     .may_be_cut = may_be_cut()};
    }
    curl_off_t retry_after = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RETRY_AFTER, &retry_after);
    return tl::unexpected(FetchFailure{.what = fmt::format("the server answers {}{}", status,
                                                           body_.is_endless_page ? ", with a page without end" : ""),
                                       .retry_after = std::max<std::int64_t>(0, retry_after)});
  }

 private:
  template <typename T>
  void set(CURLoption option, T value) {
    curl_easy_setopt(easy_.get(), option, value);
  }
  // A body of HTTP/1 that ends with its connection ends in the same way where it was cut.
  bool may_be_cut() const {
    curl_off_t length = -1;
    long version = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    curl_easy_getinfo(easy_.get(), CURLINFO_HTTP_VERSION, &version);
    const bool is_http_1 = version == CURL_HTTP_VERSION_1_0 || version == CURL_HTTP_VERSION_1_1;
    return is_http_1 && length < 0 && !is_chunked() && body_.decoder == nullptr;
  }
  bool is_chunked() const {
    curl_header* field = nullptr;
    if (curl_easy_header(easy_.get(), "Transfer-Encoding", 0, CURLH_HEADER, -1, &field) != CURLHE_OK) return false;
    return equals_ignoring_case(trim(field->value), "chunked");
  }
  bool has_copy() const { return !request_.etag.empty() || !request_.last_modified.empty(); }

  void set_target() {
    set(CURLOPT_URL, request_.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, request_.allows_http ? "https,http" : "https");
    set(CURLOPT_REDIR_PROTOCOLS_STR, request_.allows_http ? "https,http" : "https");
    set(CURLOPT_FOLLOWLOCATION, request_.secret_header.empty() ? 1L : 0L);
    set(CURLOPT_MAXREDIRS, kMostRedirects);
    set(CURLOPT_USERAGENT, "bloomwall/" BLOOMWALL_VERSION);
    set(CURLOPT_ACCEPT_ENCODING, "gzip");
    set(CURLOPT_HTTP_CONTENT_DECODING, 0L);  // Body does that
    set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
  }
  void set_limits() {
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(request_.timeout.count()));
    set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
    set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(request_.most_bytes));
    set(CURLOPT_WRITEFUNCTION, &on_body);
    set(CURLOPT_WRITEDATA, &body_);
    set(CURLOPT_XFERINFOFUNCTION, &on_progress);
    set(CURLOPT_XFERINFODATA, &body_);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_ERRORBUFFER, error_.data());
  }
  void set_way(const FetchWay& way) {
    set(CURLOPT_PROXY, way.proxy.c_str());  // "" turns off those of the environment
    if (way.proxy.empty()) set(CURLOPT_NOPROXY, "*");
    if (!way.proxy.empty()) set(CURLOPT_NOPROXY, "");
    const auto colon = way.proxy_login.find(':');
    if (colon != std::string::npos) {
      set(CURLOPT_PROXYUSERNAME, way.proxy_login.substr(0, colon).c_str());
      set(CURLOPT_PROXYPASSWORD, way.proxy_login.substr(colon + 1).c_str());
      set(CURLOPT_PROXYAUTH, CURLAUTH_BASIC);
    }
    if (!way.proxy_ca.empty()) set(CURLOPT_PROXY_CAINFO, way.proxy_ca.c_str());
    if (!way.ca.empty()) set(CURLOPT_CAINFO, way.ca.c_str());
  }
  void add_header(const std::string& line) {
    curl_slist* const longer = curl_slist_append(headers_.get(), line.c_str());
    if (longer == nullptr) return;
    [[maybe_unused]] curl_slist* const beginning = headers_.release();  // of `longer`
    headers_.reset(longer);
  }
  void set_headers() {
    if (!request_.etag.empty()) add_header("If-None-Match: " + request_.etag);
    if (!request_.last_modified.empty()) add_header("If-Modified-Since: " + request_.last_modified);
    if (!request_.secret_header.empty()) add_header(request_.secret_header);
    set(CURLOPT_HTTPHEADER, headers_.get());
    set(CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));  // none of it to the proxy
  }

  FetchFailure failure(CURLcode code) const {
    using Kind = FetchFailure::Kind;
    const auto too_large = [&] {
      return FetchFailure{.kind = Kind::too_large,
                          .what = fmt::format("larger than guards.most_bytes ({})", format_size(request_.most_bytes))};
    };
    if (code == CURLE_FILESIZE_EXCEEDED || body_.is_too_large) return too_large();
    if (code == CURLE_ABORTED_BY_CALLBACK) return {.kind = Kind::stopped, .what = "interrupted"};
    if (!body_.damage.empty()) return {.what = body_.damage};
    if (body_.error != 0) {
      return {.what = fmt::format("the copy cannot be written: {}", std::generic_category().message(body_.error))};
    }
    return {.what = error_.front() == '\0' ? curl_easy_strerror(code) : error_.data()};
  }

  const FetchRequest& request_;
  CurlPtr easy_;
  CurlHeadersPtr headers_;
  Body body_;
  std::array<char, CURL_ERROR_SIZE> error_{};
};

}  // namespace

tl::expected<Fetched, FetchFailure> fetch(const FetchRequest& request, const FetchWay& way, int file) {
  set_up_curl();
  return Transfer(request, way, file).run();
}

tl::expected<std::string, std::string> read_secret_line(const std::filesystem::path& file) {
  const auto refuse = [&](std::string_view why) { return tl::unexpected(fmt::format("{}: {}", file.string(), why)); };
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0) return refuse(std::generic_category().message(errno));
  if (!S_ISREG(status.st_mode)) return refuse("is no file");
  if ((status.st_mode & 037U) != 0) {
    return refuse(fmt::format("holds a secret, and others may read or write it (mode {:04o}): chmod 600, or 640",
                              status.st_mode & 07777U));
  }
  std::array<char, kMostSecretBytes + 1> bytes{};
  const ssize_t got = ::read(fd.get(), bytes.data(), bytes.size());
  if (got < 0) return refuse(std::generic_category().message(errno));
  std::string_view text(bytes.data(), static_cast<std::size_t>(got));
  if (text.size() > kMostSecretBytes) return refuse("longer than 8 KiB");
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  if (text.empty() || !is_field_text(text)) return refuse("must hold one line of text");
  return std::string(text);
}

tl::expected<FetchWay, std::string> fetch_way(const conf::Config& settings) {
  const conf::Update& update = settings.update;
  const conf::Upstream& upstream = settings.upstream;
  FetchWay way{.ca = update.ca_file};
  std::filesystem::path login = update.credentials_file;
  if (update.proxy && *update.proxy != "direct") {
    way.proxy = *update.proxy;
  } else if (!update.proxy && upstream.parent) {
    way.proxy = fmt::format("{}://{}", upstream.tls ? "https" : "http", *upstream.parent);
    way.proxy_ca = upstream.ca_file;
    login = upstream.credentials_file;
  }
  if (login.empty()) return way;
  auto line = read_secret_line(login);
  if (!line) return tl::unexpected(line.error());
  if (line->find(':') == std::string::npos) {
    return tl::unexpected(fmt::format("{}: expected user:password", login.string()));
  }
  way.proxy_login = *std::move(line);
  return way;
}

}  // namespace bloomwall::proxy
