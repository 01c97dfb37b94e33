// keygen and sign.
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/encoding.h"
#include "base/terminal.h"
#include "base/units.h"
#include "filter/cli/commands.h"
#include "filter/cli/header_json.h"
#include "filter/cli/progress.h"
#include "filter/file/filter_file.h"
#include "filter/file/header.h"
#include "filter/file/signature.h"
#include "filter/policy/delta.h"
#include "filter/policy/delta_signature.h"
#include "filter/policy/entry_text.h"
#include "filter/policy/list_exceptions.h"

namespace bloomwall::filter {
namespace {

void warn_of_readers(const std::filesystem::path& key, const Streams& io) {
  struct stat status{};
  if (stat(key.c_str(), &status) != 0 || (status.st_mode & 077U) == 0) return;
  io.err << fmt::format(
      "bloomwall-filter: warning: {}: others than its owner may read the private key; mode 0600 "
      "keeps it secret\n",
      printable(key.string()));
}

// Who trusts the key trusts the file alone.
void warn_of_exceptions(const SignCommand& command, const std::filesystem::path& target, const Streams& io) {
  const auto kind = file_kind(target);
  if (!kind || *kind == FileKind::delta) return;
  const auto signed_file = FilterFile::open(target);
  if (!signed_file) return;
  const FileId content = content_id((*signed_file)->header());
  for (const auto& filter : {command.file, target}) {
    const auto exceptions = exceptions_file(filter, content);
    std::error_code ignored;
    if (!std::filesystem::exists(exceptions, ignored)) continue;
    io.err << fmt::format(
        "bloomwall-filter: warning: {}: not signed, so that it does not count where public_key is set; build with "
        "--allow-out for a file for allow_lists\n",
        printable(exceptions.string()));
    return;
  }
}

std::vector<Error> sign(const SignCommand& command, const SigningKey& key, const Streams& io) {
  const auto& target = command.output.empty() ? command.file : command.output;
  const auto kind = file_kind(command.file);
  if (!kind) return {kind.error()};
  if (*kind == FileKind::delta) return sign_delta_file(command.file, target, key, command.access);
  ReadProgress progress(io);
  const auto show = [&](std::uint64_t read, std::uint64_t total) {
    progress.show(read, total);
    return true;
  };
  const auto done = sign_filter(command.file, target, key, show, command.access);
  return done ? std::vector<Error>{} : std::vector<Error>{done.error()};
}

}  // namespace

int run_keygen(const KeygenCommand& command, const Streams& io) {
  const auto public_file =
      command.public_file.empty() ? std::filesystem::path(command.private_file.string() + ".pub") : command.public_file;
  const SigningKey key = SigningKey::generate();
  if (const auto written = key.write(command.private_file, public_file); !written) {
    print_error(io.err, written.error());
    return kExitError;
  }
  io.out << fmt::format("key {}: private half in {}, public half in {}\n", to_hex(key.id()),
                        printable(command.private_file.string()), printable(public_file.string()));
  return kExitDone;
}

int run_sign(const SignCommand& command, const Streams& io) {
  const auto key = SigningKey::read(command.key);
  if (!key) {
    print_error(io.err, key.error());
    return kExitError;
  }
  warn_of_readers(command.key, io);
  const std::vector<Error> errors = sign(command, *key, io);
  for (const Error& error : errors) print_error(io.err, error);
  if (!errors.empty()) return status_of(errors.front());
  const auto& target = command.output.empty() ? command.file : command.output;
  warn_of_exceptions(command, target, io);
  io.out << fmt::format("{}: signed by {}\n", printable(target.string()), to_hex(key->id()));
  return kExitDone;
}

namespace {

// The signer, where a key was given.
using Verified = Result<std::optional<KeyId>>;

Verified verify_filter(const VerifyCommand& command, Form form, const TrustedKeys* trusted, const Streams& io) {
  const auto file = FilterFile::open(command.file, form);
  if (!file) return unexpected(file.error());
  std::optional<KeyId> signer;
  if (trusted != nullptr) {
    const auto checked = check_signature(**file, *trusted);
    if (!checked) return unexpected(checked.error());
    signer = *checked;
  }
  ReadProgress progress(io);
  const auto whole = (*file)->verify(FilterFile::Depth::tampering, [&](std::uint64_t done, std::uint64_t total) {
    progress.show(done, total);
    return true;
  });
  if (!whole) return unexpected(whole.error());
  const auto info = (*file)->info();
  if (!info) return unexpected(info.error());
  return signer;
}

Verified verify_delta(const VerifyCommand& command, const TrustedKeys* trusted) {
  const std::string name = command.file.string();
  const auto text = read_entry_text(command.file);
  if (!text) return unexpected(text.error());
  std::optional<KeyId> signer;
  if (trusted != nullptr) {
    const auto parts = split_signatures(*text, name);
    if (!parts) return unexpected(parts.error());
    const auto checked = trusted->check(parts->signatures, signed_message(parts->text));
    if (!checked) return unexpected(Error{checked.error().code, name, checked.error().what});
    signer = *checked;
  }
  const auto delta = Delta::parse(*text, name, KeyMaker(SeriesKey{}), std::nullopt);
  if (!delta) return unexpected(delta.error().front());
  return signer;
}

Verified verify(const VerifyCommand& command, const Streams& io) {
  std::optional<TrustedKeys> trusted;
  if (!command.key.empty()) {
    auto keys = TrustedKeys::read(command.key);
    if (!keys) return unexpected(Error{Errc::usage, keys.error().where, keys.error().what});
    trusted = *std::move(keys);
  }
  const auto kind = file_kind(command.file);
  if (!kind) return unexpected(kind.error());
  const TrustedKeys* const keys = trusted ? &*trusted : nullptr;
  if (*kind == FileKind::delta) return verify_delta(command, keys);
  return verify_filter(command, *kind == FileKind::counting ? Form::counters : Form::bits, keys, io);
}

}  // namespace

int run_verify(const VerifyCommand& command, const Streams& io) {
  const Verified result = verify(command, io);
  const std::string signer = result && *result ? to_hex(**result) : std::string{};
  if (command.json) {
    nlohmann::ordered_json out{{"file", command.file.string()}, {"ok", result.has_value()}};
    if (!signer.empty()) out["signed_by"] = signer;
    if (!result) out["error"] = to_json(result.error());
    print_json(io.out, out);
  } else if (result) {
    io.out << printable(command.file.string()) << ": ok" << (signer.empty() ? "" : ", signed by " + signer) << '\n';
  }
  if (result) return kExitDone;
  print_error(io.err, result.error());
  return status_of(result.error());
}

}  // namespace bloomwall::filter
