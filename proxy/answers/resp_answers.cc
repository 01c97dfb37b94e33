// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/resp_answers.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMostReplies = std::size_t{32} << 10;  // octets of replies that leave together

}  // namespace

// `arity` as Redis has it: the arguments with the name, or at least so many where it is negative.
struct RespAnswers::Command {
  std::string_view name;
  int arity;
  bool has_filter;  // its first argument
  void (RespAnswers::*run)();
};

const RespAnswers::Command RespAnswers::kCommands[] = {
    {"bf.exists", 3, true, &RespAnswers::exists}, {"bf.mexists", -3, true, &RespAnswers::exists},
    {"ping", -1, false, &RespAnswers::ping},      {"echo", 2, false, &RespAnswers::echo},
    {"hello", -1, false, &RespAnswers::hello},    {"command", -1, false, &RespAnswers::describe},
    {"select", 2, false, &RespAnswers::select},   {"reset", 1, false, &RespAnswers::reset},
    {"quit", -1, false, &RespAnswers::quit},
};

const RespAnswers::Command* RespAnswers::find(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(kCommands, [&](const Command& known) { return equals_ignoring_case(known.name, name); });
  return found == std::end(kCommands) ? nullptr : found;
}

std::size_t RespAnswers::on_data(std::span<const char> octets) {
  std::size_t used = 0;
  bool is_over = false;
  while (used < octets.size() && !is_over && !is_waiting() && out_.size() < kMostReplies) {
    const RespReader::Step step = reader_.feed(octets.subspan(used));
    used += step.consumed;
    if (step.event == RespReader::Event::error) {
      fail("ERR", reader_.error());
      asker_.finish();
      is_over = true;
    }
    if (step.event != RespReader::Event::command) continue;
    is_over = equals_ignoring_case(argument(0), "quit");
    run();
  }
  flush();
  return is_over ? octets.size() : used;
}

// The command that was read; again after a wait.
void RespAnswers::run() {
  static constexpr std::array<std::string_view, 10> kWrites{"bf.add",       "bf.madd",     "bf.insert", "bf.reserve",
                                                            "bf.loadchunk", "bf.scandump", "set",       "del",
                                                            "flushall",     "flushdb"};
  const Command* const command = find(argument(0));
  if (command != nullptr) return run(*command);
  if (is_one_of(argument(0), kWrites)) {
    fail("READONLY", "filters are files, which bloomwall-filter builds");
  } else {
    fail("ERR", std::string("unknown command '").append(argument(0).substr(0, 64)).append("'"));
  }
  end_command();
}

void RespAnswers::run(const Command& command) {
  const auto arguments = static_cast<int>(reader_.arguments());
  if (command.arity < 0 ? arguments < -command.arity : arguments != command.arity) {
    fail("ERR", std::string("wrong number of arguments for '").append(command.name).append("' command"));
  } else {
    (this->*command.run)();
  }
  if (!is_waiting()) end_command();
}

void RespAnswers::end_command() {
  members_.clear();
  next_key_ = 2;
  reader_.next();
}

void RespAnswers::on_keys_ready() {
  run();
  flush();
  if (!is_waiting()) asker_.on_waited();
}

void RespAnswers::flush() {
  if (out_.empty()) return;
  asker_.send(out_);
  out_.clear();
}

void RespAnswers::fail(std::string_view code, std::string_view text) {
  append_resp_error(out_, std::string(code).append(" ").append(text));
}

// --- commands

// One reply, whole or an error: what is known of some members alone is not said.
void RespAnswers::exists() {
  const std::string_view filter = argument(1);
  const bool is_one = reader_.arguments() == 3 && equals_ignoring_case(argument(0), "bf.exists");
  if (filter.empty()) return fail("ERR", "the name of the filter is empty");
  for (; next_key_ < reader_.arguments(); ++next_key_) {
    const std::optional<KeyAnswer> answer =
        desk_.ask({.key = argument(next_key_), .filter = filter, .method = is_one ? "BF.EXISTS" : "BF.MEXISTS"});
    if (!answer) return;
    if (answer->kind == KeyAnswer::Kind::unknown) return fail("TRYAGAIN", answer->why);
    if (answer->kind == KeyAnswer::Kind::wrong) return fail("ERR", answer->why);
    append_resp_boolean(members_, version_, answer->kind == KeyAnswer::Kind::listed);
  }
  if (!is_one) append_resp_array(out_, reader_.arguments() - 2);
  out_ += members_;
}

void RespAnswers::ping() {
  if (reader_.arguments() > 2) return fail("ERR", "wrong number of arguments for 'ping' command");
  reader_.arguments() == 2 ? append_resp_bulk(out_, argument(1)) : append_resp_simple(out_, "PONG");
}

void RespAnswers::echo() { append_resp_bulk(out_, argument(1)); }

// HELLO [2|3 [SETNAME name]]: there are no users here, and names of connections are shown nowhere.
void RespAnswers::hello() {
  unsigned version = version_;
  if (reader_.arguments() > 1) {
    if (argument(1) != "2" && argument(1) != "3") return fail("NOPROTO", "unsupported protocol version");
    version = argument(1) == "3" ? 3 : 2;
  }
  for (std::size_t place = 2; place < reader_.arguments(); place += 2) {
    const bool is_name = equals_ignoring_case(argument(place), "setname") && place + 1 < reader_.arguments();
    if (!is_name) return fail("ERR", "HELLO takes a version and SETNAME here; there are no passwords");
  }
  version_ = version;
  append_resp_map(out_, version_, 7);
  const auto text = [&](std::string_view name, std::string_view value) {
    append_resp_bulk(out_, name);
    append_resp_bulk(out_, value);
  };
  text("server", "bloomwall");
  text("version", BLOOMWALL_VERSION);
  append_resp_bulk(out_, "proto");
  append_resp_integer(out_, version_);
  append_resp_bulk(out_, "id");
  append_resp_integer(out_, 1);
  text("mode", "standalone");
  text("role", "master");
  append_resp_bulk(out_, "modules");
  append_resp_array(out_, 0);
}

void RespAnswers::append_description(std::string& out, const Command& command) {
  append_resp_array(out, 6);
  append_resp_bulk(out, command.name);
  if (command.arity < 0) {
    out.append(":-").append(std::to_string(-command.arity)).append("\r\n");
  } else {
    append_resp_integer(out, static_cast<std::uint64_t>(command.arity));
  }
  append_resp_array(out, 1);
  append_resp_simple(out, command.has_filter ? "readonly" : "fast");
  const std::uint64_t key = command.has_filter ? 1 : 0;
  for (int i = 0; i < 3; ++i) append_resp_integer(out, key);  // first, last, step
}

// COMMAND, COMMAND COUNT, and COMMAND DOCS, which redis-cli asks for help on its prompt: there is none.
void RespAnswers::describe() {
  if (reader_.arguments() == 1) {
    append_resp_array(out_, std::size(kCommands));
    for (const Command& command : kCommands) append_description(out_, command);
  } else if (equals_ignoring_case(argument(1), "count") && reader_.arguments() == 2) {
    append_resp_integer(out_, std::size(kCommands));
  } else if (equals_ignoring_case(argument(1), "docs")) {
    append_resp_map(out_, version_, 0);
  } else {
    fail("ERR", "of COMMAND there is the list, COUNT and DOCS");
  }
}

void RespAnswers::select() {
  if (argument(1) != "0") return fail("ERR", "DB index is out of range");
  append_resp_simple(out_, "OK");
}

void RespAnswers::reset() {
  version_ = 2;
  append_resp_simple(out_, "RESET");
}

void RespAnswers::quit() {
  append_resp_simple(out_, "OK");
  asker_.finish();
}

}  // namespace bloomwall::proxy
