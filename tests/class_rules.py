"""Rules about classes and headers: how large they are and in which files they lie. Breaches that are older than a rule stand in a list here,
which may only shrink: what is mended is taken off it. Part of repository_rules.py.
SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re

FOLDERS = ("base/", "conf/", "filter/", "proxy/")
MAX_MEMBERS = 25   # data members of a class
MAX_BEHIND = 60    # headers of this repository that a header includes, directly or not; of proxy/cli and proxy/daemon any number
FREE_OF_BEHIND = ("proxy/cli/", "proxy/daemon/")

# Classes with more data members, and how many they may have.
LARGE = {
    "conf/config.h": {"Config": 30},
    "filter/builder/builder.h": {"BuildOptions": 29},
    "filter/file/header.h": {"Header": 31},
    "filter/lists/list_report.h": {"FileReport": 31},
    "proxy/decision/worker_state.h": {"WorkerState": 48},
    "proxy/log/line_writer.cc": {"State": 28},
    "proxy/telemetry/access_record.h": {"AccessRecord": 50},
}

# Sources with members of a class whose header has another name.
AWAY = {
    "conf/list_reader.cc",
    "conf/name_reader.cc",
    "filter/file/header_bytes.cc",
    "filter/lists/block_parser.cc",
    "filter/policy/dialled_address.cc",
    "filter/policy/explain.cc",
    "filter/url/forms_handed_on.cc",
    "proxy/api/editable_lists.cc",
    "proxy/auth/helper_pool_answers.cc",
    "proxy/auth/helper_pool_legs.cc",
    "proxy/cli/env_command.cc",
    "proxy/cli/service_commands.cc",
    "proxy/client/client_session_certificate.cc",
    "proxy/client/client_session_tunnels.cc",
    "proxy/daemon/daemon_takeover.cc",
    "proxy/daemon/daemon_upgrade.cc",
    "proxy/decision/decision_end.cc",
    "proxy/decision/decision_names.cc",
    "proxy/decision/decision_safe_search.cc",
    "proxy/exchange/exchange_page.cc",
    "proxy/exchange/exchange_question.cc",
    "proxy/exchange/exchange_self.cc",
    "proxy/exchange/exchange_user.cc",
    "proxy/http2/http2_callbacks.cc",
    "proxy/import/import.cc",
    "proxy/state/build_store.cc",
    "proxy/state/report_store.cc",
    "proxy/state/state_export.cc",
    "proxy/state/state_ownership.cc",
    "proxy/state/switch_store.cc",
    "proxy/state/token_store.cc",
    "proxy/tunnel/tunnel_inside.cc",
    "proxy/tunnel/tunnel_review.cc",
    "proxy/worker/worker_admission.cc",
}

# Headers that may have fewer behind them: what a newcomer reads first.
LIGHT = {
    "proxy/daemon/daemon.h": 39,
    "proxy/exchange/exchange.h": 34,
}

# Headers with more behind them, and how many they may have.
DEEP = {
    "proxy/api/editable.h": 100,
    "proxy/api/edits_api.h": 70,
    "proxy/api/exceptions_api.h": 70,
    "proxy/api/explain_api.h": 70,
    "proxy/api/figures_api.h": 70,
    "proxy/api/groups_api.h": 80,
    "proxy/api/lists_api.h": 80,
    "proxy/api/metrics.h": 150,
    "proxy/api/reload_api.h": 90,
    "proxy/api/reports_api.h": 70,
    "proxy/api/state_api.h": 70,
    "proxy/api/status_api.h": 130,
    "proxy/api/stream_api.h": 70,
    "proxy/api/tls_metrics.h": 80,
    "proxy/api/traffic_service.h": 80,
    "proxy/check/settings_check.h": 80,
    "proxy/client/client_session.h": 160,
    "proxy/decision/decision.h": 90,
    "proxy/decision/snapshot.h": 80,
    "proxy/decision/worker_state.h": 120,
    "proxy/exchange/http2_client_stream.h": 140,
    "proxy/exchange/http2_end.h": 130,
    "proxy/exchange/http2_origin.h": 130,
    "proxy/exchange/http2_session.h": 150,
    "proxy/explain/allowed_urls.h": 80,
    "proxy/explain/client_view.h": 90,
    "proxy/explain/name_review.h": 80,
    "proxy/explain/policy_of_files.h": 100,
    "proxy/explain/verdict_end.h": 100,
    "proxy/reload/drop_in_file.h": 90,
    "proxy/reload/loading.h": 90,
    "proxy/reload/reload_job.h": 90,
    "proxy/reload/running_socket.h": 90,
    "proxy/tunnel/implicit_tunnel.h": 130,
    "proxy/tunnel/interception.h": 90,
    "proxy/tunnel/tunnel.h": 130,
    "proxy/tunnel/tunnel_peek.h": 130,
    "proxy/upstream/bound_upstreams.h": 70,
    "proxy/upstream/upstream.h": 70,
    "proxy/worker/server.h": 90,
    "proxy/worker/worker.h": 180,
}

PLAIN = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|R"(\w*)\((?:.|\n)*?\)\1"|/\*(?:.|\n)*?\*/')
CLASS = re.compile(r"\b(?<!enum )(?:class|struct)\s+((?:\w+::)*\w+)\s*(?:final\s*)?(?::[^;{()]*)?\{")
NO_DATA = re.compile(r"(using|friend|static|typedef|enum|struct|class|template|explicit|virtual|constexpr|inline|union)\b")
DEFINITION = re.compile(r"^(?!\s|return|using|namespace|static_assert|template|#)[\w:<>,*&\s\[\]]*?\b(\w+)::(?:\w+::)*(?:~?\w+|operator[^\s(]+)\(",
                        re.MULTILINE)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def without_text(source):
    """Without comments, and with empty strings and characters."""
    return PLAIN.sub(lambda m: " " if m.group(0).startswith("/") else "0" if m.group(0).startswith("'") else '""', source)


def classes(source):
    """Names, bodies and whether they lie in another class, of a source without text."""
    end_of_outer = 0
    for match in CLASS.finditer(source):
        depth, at = 1, match.end()
        while depth and at < len(source):
            depth += {"{": 1, "}": -1}.get(source[at], 0)
            at += 1
        yield match.group(1), source[match.end():at - 1], match.start() < end_of_outer
        end_of_outer = max(end_of_outer, at)


def at_depth_zero(body):
    out, depth = [], 0
    for piece in re.split(r"([{}])", body):
        if piece == "{":
            out.append("{" if depth == 0 else "")
            depth += 1
        elif piece == "}":
            depth -= 1
            out.append("}" if depth == 0 else "")
        elif depth == 0:
            out.append(piece)
    return "".join(out)


def data_members(body):
    """Names of the data members that a class has itself, of its body without text."""
    body = re.sub(r"^\s*#.*$", "", at_depth_zero(body), flags=re.MULTILINE)
    body = re.sub(r"\b(public|private|protected)\s*:(?!:)", "", body)
    body = re.sub(r"\}(?!\s*[;,=])", "};", body)  # after a function's body stands no semicolon
    names = []
    for statement in body.split(";"):
        statement, before = statement.strip(), None
        while before != statement:
            before, statement = statement, re.sub(r"<[^<>{}]*>", "", statement)
        first = re.split(r"=|\{", statement, maxsplit=1)[0]
        if NO_DATA.match(statement) or "(" in first or re.search(r"\boperator\b", first):
            continue
        statement = re.sub(r"\{\}|\([^()]*\)|\[[^\]]*\]", "", statement)
        words = [part.split("=")[0].split() for part in statement.split(",")]
        names += [each[-1] for each in words if each and re.fullmatch(r"[a-z]\w*", each[-1])]
    return names


def behind(header, includes):
    seen, to_do = set(), list(includes[header])
    while to_do:
        each = to_do.pop()
        if each not in seen:
            seen.add(each)
            to_do += includes.get(each, [])
    return len(seen)


def check_members(sources):
    for path, text in sources.items():
        allowed = dict(LARGE.get(path, {}))
        for name, body, _ in classes(text):
            name = name.split("::")[-1]
            count, most = len(data_members(body)), max(allowed.pop(name, 0), MAX_MEMBERS)
            if count > most:
                yield f"{path}:1: {name} has {count} data members; at most {most}"
            elif most > MAX_MEMBERS and count <= MAX_MEMBERS:
                yield f"{path}:1: {name} has {count} data members: take it off LARGE in class_rules.py"
        for name in allowed:
            yield f"{path}:1: there is no {name}: take it off LARGE in class_rules.py"
    for path in LARGE.keys() - sources.keys():
        yield f"{path}:1: is gone: take it off LARGE in class_rules.py"


def check_places(sources):
    headers = {}  # by folder and class
    for path, text in sources.items():
        if path.endswith(".h"):
            folder, stem = path.rsplit("/", 1)[0], pathlib.PurePosixPath(path).stem
            for name, _, is_nested in classes(text):
                if not is_nested:
                    headers.setdefault((folder, name), set()).add(stem)
    away = set()
    for path, text in sources.items():
        if not path.endswith(".cc"):
            continue
        folder, stem = path.rsplit("/", 1)[0], pathlib.PurePosixPath(path).stem
        own = {name for name, _, _ in classes(text)}
        others = {name for name in DEFINITION.findall(text)
                  if name not in own and (folder, name) in headers and stem not in headers[(folder, name)]}
        if others:
            away.add(path)
            if path not in AWAY:
                yield f"{path}:1: members of {', '.join(sorted(others))}, whose header has another name"
    for path in sorted(AWAY - away):
        yield f"{path}:1: has no members of such a class, or is gone: take it off AWAY in class_rules.py"


def check_headers(sources):
    includes = {path: [each for each in INCLUDE.findall(text) if each in sources] for path, text in sources.items()}
    for path in sources:
        if not path.endswith(".h") or (path.startswith(FREE_OF_BEHIND) and path not in LIGHT):
            continue
        count, most = behind(path, includes), LIGHT.get(path, DEEP.get(path, MAX_BEHIND))
        if count > most:
            yield f"{path}:1: {count} headers stand behind it; at most {most}: declare classes ahead, or include less"
        elif path in DEEP and count <= MAX_BEHIND - 10:  # not as soon as it is below, so that one include more is no breach
            yield f"{path}:1: only {count} headers stand behind it: take it off DEEP in class_rules.py"
    for path in (DEEP.keys() | LIGHT.keys()) - sources.keys():
        yield f"{path}:1: is gone: take it off DEEP or LIGHT in class_rules.py"


def check_itself():
    """Breaches if the rules misread a class."""
    body = """ public:
  explicit Example(int a);  // a comment; with a semicolon
  enum class Kind : int { one, two };
  struct Inner { int x, y; };
  static constexpr int kMost = 3;
  int one() const { return a_; }
  bool operator==(const Example&) const = default;
  std::function<void(int, std::string)> call_;
  std::map<std::string, std::pair<int, int>> map_{{"a", {1, 2}}};
  int a_ = 0, b_ = f(1, 2);
  Count counts_[3];
  const char* text_ = "; int no = 1;";
"""
    source = without_text("class Example final : public Base {" + body + "};")
    found = [(name, data_members(inner)) for name, inner, is_nested in classes(source) if not is_nested]
    wanted = [("Example", ["call_", "map_", "a_", "b_", "counts_", "text_"])]
    if found != wanted:
        yield f"class_rules.py: reads {found} where {wanted} stand"
    definitions = DEFINITION.findall("int Example::one() {\nExample::Inner::Inner()\n  Example::two();\nreturn Example::three();\n")
    if definitions != ["Example", "Example"]:
        yield f"class_rules.py: finds definitions of {definitions}"


def check(root, paths):
    sources = {path: (root / path).read_text(encoding="utf-8") for path in paths if path.startswith(FOLDERS) and path.endswith((".h", ".cc"))}
    plain = {path: without_text(text) for path, text in sources.items()}
    return [*check_itself(), *check_members(plain), *check_places(plain), *check_headers(sources)]
