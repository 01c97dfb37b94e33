// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/login_memory.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kIntroduction = "bloomwall logins 1\n";
constexpr std::size_t kMostName = 4096;                    // octets
constexpr std::size_t kMostOctets = std::size_t{1} << 30;  // of all

template <typename Number>
void append_number(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void append_name(std::string& out, std::string_view name) {
  append_number(out, static_cast<std::uint32_t>(name.size()));
  out.append(name);
}

void append_rows(std::string& out, const std::vector<CredentialCache::Row>& rows) {
  append_number(out, static_cast<std::uint32_t>(rows.size()));
  for (const CredentialCache::Row& row : rows) {
    const User& user = *row.result.user;
    out.append(reinterpret_cast<const char*>(row.key.data()), row.key.size());
    append_number(out, std::int64_t{row.result.since.count()});
    append_number(out, user.helpers);
    append_number(out, user.password);
    append_number(out, user.until);
    append_name(out, row.result.spelt);
    append_name(out, user.name);
    append_number(out, static_cast<std::uint32_t>(user.groups.size()));
    for (const std::string& group : user.groups) append_name(out, group);
  }
}

// Reads what append_...() wrote; once something is missing, all that follows is empty.
class MemoryReader {
 public:
  explicit MemoryReader(std::string_view octets) : rest_(octets) {}

  template <typename Number>
  Number number() {
    Number out{};
    take(&out, sizeof out);
    return out;
  }
  void take(void* out, std::size_t size) {
    if (rest_.size() < size) return fail();
    std::memcpy(out, rest_.data(), size);
    rest_.remove_prefix(size);
  }
  std::string name() {
    const auto size = number<std::uint32_t>();
    if (size > kMostName || size > rest_.size()) {
      fail();
      return {};
    }
    std::string out(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return out;
  }
  std::vector<CredentialCache::Row> rows() {
    std::vector<CredentialCache::Row> out;
    for (auto left = number<std::uint32_t>(); left > 0 && is_whole_; --left) out.push_back(row());
    return out;
  }
  bool has_ended_well() const { return is_whole_ && rest_.empty(); }

 private:
  void fail() {
    is_whole_ = false;
    rest_ = {};
  }
  CredentialCache::Row row() {
    CredentialCache::Row out;
    take(out.key.data(), out.key.size());
    out.result.since = Milliseconds(number<std::int64_t>());
    auto user = std::make_shared<User>();
    user->helpers = number<std::uint64_t>();
    user->password = number<std::uint64_t>();
    user->until = number<std::int64_t>();
    out.result.spelt = name();
    user->name = name();
    for (auto left = number<std::uint32_t>(); left > 0 && is_whole_; --left) user->groups.push_back(name());
    out.result.user = std::move(user);
    return out;
  }

  std::string_view rest_;
  bool is_whole_ = true;
};

bool write_all(int descriptor, std::string_view octets) {
  while (!octets.empty()) {
    const ssize_t written = ::write(descriptor, octets.data(), octets.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    octets.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool read_all(int descriptor, std::string& out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::pread(descriptor, out.data() + done, out.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

std::string encode(const LoginMemory& memory) {
  std::string out(kIntroduction);
  out.append(reinterpret_cast<const char*>(memory.secret.data()), memory.secret.size());
  append_rows(out, memory.passwords);
  append_rows(out, memory.groups);
  return out;
}

std::optional<LoginMemory> decode(std::string_view octets) {
  if (!octets.starts_with(kIntroduction)) return std::nullopt;
  MemoryReader reader(octets.substr(kIntroduction.size()));
  LoginMemory memory;
  reader.take(memory.secret.data(), memory.secret.size());
  memory.passwords = reader.rows();
  memory.groups = reader.rows();
  if (!reader.has_ended_well()) return std::nullopt;
  return memory;
}

UniqueFd write_memory(const LoginMemory& memory) {
  UniqueFd file(::memfd_create("logins", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  std::string octets = encode(memory);
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  const bool is_written = file && write_all(file.get(), octets) && ::fcntl(file.get(), F_ADD_SEALS, kSeals) == 0;
  OPENSSL_cleanse(octets.data(), octets.size());
  return is_written ? std::move(file) : UniqueFd();
}

std::optional<LoginMemory> read_memory(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || status.st_size <= 0) return std::nullopt;
  if (static_cast<std::size_t>(status.st_size) > kMostOctets) return std::nullopt;
  std::string octets(static_cast<std::size_t>(status.st_size), '\0');
  std::optional<LoginMemory> memory;
  if (read_all(descriptor, octets)) memory = decode(octets);
  OPENSSL_cleanse(octets.data(), octets.size());
  return memory;
}

}  // namespace bloomwall::proxy
