// SPDX-License-Identifier: Apache-2.0
#include "proxy/update/shared_fetches.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "base/units.h"
#include "proxy/update/write_all.h"

namespace bloomwall::proxy {
namespace {

bool is_version(const FetchRequest& request, const Fetched& fetched) {
  const bool has_any = !fetched.etag.empty() || !fetched.last_modified.empty();
  return has_any && request.etag == fetched.etag && request.last_modified == fetched.last_modified;
}

// The error; 0: all of `from` is in `into`.
int copy_all(int from, int into) {
  std::array<char, 65536> piece{};
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(from, piece.data(), piece.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return 0;
    if (!write_all(into, {piece.data(), static_cast<std::size_t>(got)})) return errno;
    at += got;
  }
}

tl::expected<Fetched, FetchFailure> take_over(const Fetched& fetched, int body, const FetchRequest& request, int into) {
  struct stat status{};
  const auto fail = [&](int error) {
    return tl::unexpected(FetchFailure{.what = fmt::format("{}: the copy cannot be written: {}", request.url,
                                                           std::generic_category().message(error))});
  };
  if (::fstat(body, &status) != 0) return fail(errno);
  if (static_cast<std::uint64_t>(status.st_size) > request.most_bytes) {
    return tl::unexpected(
        FetchFailure{.kind = FetchFailure::Kind::too_large,
                     .what = fmt::format("larger than guards.most_bytes ({})", format_size(request.most_bytes))});
  }
  if (const int error = copy_all(body, into); error != 0) return fail(error);
  return fetched;
}

}  // namespace

SharedFetches::SharedFetches(const std::vector<const conf::Filter*>& filters) {
  std::set<std::string> seen;
  for (const conf::Filter* const filter : filters) {
    for (const conf::Source& source : filter->sources) {
      if (!seen.insert(source.url).second) shared_.insert(source.url);
    }
  }
}

tl::expected<Fetched, FetchFailure> SharedFetches::fetch(const FetchRequest& request, const FetchWay& way, int into) {
  if (!shared_.contains(request.url)) return proxy::fetch(request, way, into);
  const auto at = known_.find(Key(request.url, request.secret_header, request.allows_http));
  if (at == known_.end()) return fetch_and_keep(request, way, into);
  const Known& known = at->second;
  if (!known.result) return known.result;
  if (is_version(request, *known.result)) return Fetched{.is_unchanged = true};
  // Another filter has this version, and this one has not.
  if (known.result->is_unchanged) return fetch_and_keep(request, way, into);
  return take_over(*known.result, known.body.get(), request, into);
}

tl::expected<Fetched, FetchFailure> SharedFetches::fetch_and_keep(const FetchRequest& request, const FetchWay& way,
                                                                  int into) {
  auto result = proxy::fetch(request, way, into);
  Known known{.result = result};
  if (!result) {
    // The next filter may take more, and a run that ends asks no further.
    if (result.error().kind != FetchFailure::Kind::failed) return result;
  } else if (result->is_unchanged) {
    known.result->etag = request.etag;
    known.result->last_modified = request.last_modified;
  } else {
    known.body = UniqueFd(::fcntl(into, F_DUPFD_CLOEXEC, 0));
    if (!known.body) return result;
  }
  known_.insert_or_assign(Key(request.url, request.secret_header, request.allows_http), std::move(known));
  return result;
}

}  // namespace bloomwall::proxy
