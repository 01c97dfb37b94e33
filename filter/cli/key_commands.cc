// keygen and sign.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>

#include "base/text.h"
#include "base/units.h"
#include "filter/cli/commands.h"
#include "filter/cli/progress.h"
#include "filter/cli/terminal.h"
#include "filter/file/header.h"
#include "filter/file/signature.h"
#include "filter/policy/delta_signature.h"

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
  io.out << fmt::format("{}: signed by {}\n", printable(target.string()), to_hex(key->id()));
  return kExitDone;
}

}  // namespace bloomwall::filter
