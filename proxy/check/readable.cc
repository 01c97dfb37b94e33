// SPDX-License-Identifier: Apache-2.0
#include "proxy/check/readable.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "proxy/io/handles.h"

namespace bloomwall::proxy {
namespace {

struct Account {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
};

std::optional<Account> account_of(const std::string& name) {
  std::vector<char> text(std::size_t{1} << 16);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwnam_r(name.c_str(), &entry, text.data(), text.size(), &found) != 0 || found == nullptr)
    return std::nullopt;
  Account account{entry.pw_uid, entry.pw_gid, std::vector<gid_t>(1024)};
  auto count = static_cast<int>(account.groups.size());
  if (::getgrouplist(name.c_str(), entry.pw_gid, account.groups.data(), &count) < 0) count = 0;
  account.groups.resize(static_cast<std::size_t>(count));
  return account;
}

bool become(const Account& account) {
  if (::geteuid() == account.user) return true;
  return ::setgroups(account.groups.size(), account.groups.data()) == 0 && ::setgid(account.group) == 0 &&
         ::setuid(account.user) == 0;
}

// Runs in the child process, which writes one int per file: 0, or the errno of open().
[[noreturn]] void try_all(const Account& account, const std::vector<std::filesystem::path>& files, int out) {
  if (!become(account)) ::_exit(1);
  for (const auto& file : files) {
    const UniqueFd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    const int why = opened ? 0 : errno;
    if (::write(out, &why, sizeof why) != sizeof why) ::_exit(1);
  }
  ::_exit(0);
}

// The next int from the child; nothing at the end.
std::optional<int> next_answer(int from) {
  int why = 0;
  ssize_t got = 0;
  do {
    got = ::read(from, &why, sizeof why);
  } while (got < 0 && errno == EINTR);
  return got == sizeof why ? std::optional(why) : std::nullopt;
}

}  // namespace

std::vector<std::filesystem::path> named_files(const conf::Config& settings) {
  std::vector<std::filesystem::path> files = settings.included;
  files.insert(files.end(), settings.allow_lists.begin(), settings.allow_lists.end());
  for (const conf::Filter& filter : settings.filters) {
    files.insert(files.end(), {filter.file, filter.delta, filter.exact, filter.public_key});
  }
  for (const conf::Group& group : settings.groups) {
    files.insert(files.end(), group.allow_lists.begin(), group.allow_lists.end());
    files.push_back(group.block_page.html_template);
  }
  for (const conf::Calendar& calendar : settings.calendars) files.push_back(calendar.file);
  for (const conf::Listener& listener : settings.listeners) {
    files.insert(files.end(), {listener.tls.certificate, listener.tls.key, listener.tls.client_ca, listener.tls.crl});
  }
  files.insert(files.end(),
               {settings.block_page.html_template, settings.upstream.ca_file, settings.upstream.credentials_file,
                settings.authentication.users_file, settings.admin.users_file});
  if (conf::greatest_inspection_mode(settings) != conf::TlsInspection::Mode::off) {
    const conf::TlsInspection& tls = settings.tls_inspection;
    for (const conf::Group& group : settings.groups) {
      files.insert(files.end(), group.tls_inspection.never.begin(), group.tls_inspection.never.end());
    }
    files.insert(files.end(), tls.never.begin(), tls.never.end());
    files.insert(files.end(), tls.ech_public_names.begin(), tls.ech_public_names.end());
    files.insert(files.end(), {tls.ca.certificate, tls.ca.key, tls.ca.passphrase_file, tls.ca.next, tls.verify.ca_file,
                               tls.verify.extra_ca_file, tls.verify.intermediates_file, tls.verify.crl_file,
                               tls.verify.trust_exceptions});
  }
  if (settings.admin.tls.internal) {
    const conf::InspectionCa& ca = settings.tls_inspection.ca;
    files.insert(files.end(), {ca.certificate, ca.key, ca.passphrase_file});
  }
  std::erase_if(files, [](const auto& file) { return file.empty(); });
  return files;
}

tl::expected<std::vector<std::string>, std::string> unreadable_for(const std::string& user,
                                                                   const std::vector<std::filesystem::path>& files) {
  const auto account = account_of(user);
  if (!account) return tl::unexpected(fmt::format("there is no user {}", user));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return tl::unexpected(std::generic_category().message(errno));
  const UniqueFd from(ends[0]);
  UniqueFd into(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return tl::unexpected(std::generic_category().message(errno));
  if (child == 0) try_all(*account, files, into.get());
  into.reset();
  std::vector<std::string> lines;
  std::size_t answered = 0;
  for (std::optional<int> why; answered < files.size() && (why = next_answer(from.get())); ++answered) {
    if (*why == 0) continue;
    lines.push_back(fmt::format("{}: the user {} cannot read it: {}", files[answered].string(), user,
                                std::generic_category().message(*why)));
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (answered < files.size()) return tl::unexpected(fmt::format("only root can ask what the user {} can read", user));
  return lines;
}

bool service_user_may_differ() {
  if (::geteuid() != 0) return false;
  const auto account = account_of(kServiceUser);
  return account && account->user != 0;
}

}  // namespace bloomwall::proxy
