// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/http_answers.h"

#include <array>
#include <utility>

#include "base/text.h"
#include "proxy/decision/worker_state.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/local_reply.h"
#include "proxy/http/octets.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kEnvoyPrefix = "/ask/";
constexpr HttpError kNoQuestion{ErrorKind::bad_request,
                                "no question: X-Original-URL, X-Original-URI or X-Forwarded-Uri is missing"};
constexpr HttpError kTwoQuestions{ErrorKind::bad_request, "a question in several fields: only one of them may be sent"};
constexpr HttpError kTwice{ErrorKind::bad_request, "a field of the question is there more than once, or is a list"};
constexpr HttpError kNoHost{ErrorKind::bad_request, "a question without a host: Host or X-Forwarded-Host is missing"};
constexpr HttpError kTwoHosts{ErrorKind::bad_request, "X-Forwarded-Host is not the Host of the question"};
constexpr HttpError kBadPath{ErrorKind::bad_target, "the path of a question begins with /"};
constexpr HttpError kBadHost{ErrorKind::bad_target, "the host of a question is no host"};
constexpr HttpError kNoUrl{ErrorKind::bad_target, "X-Original-URL is no absolute URL of http or https"};
constexpr HttpError kBadScheme{ErrorKind::bad_target, "X-Forwarded-Proto is neither http nor https"};
constexpr HttpError kBadMethod{ErrorKind::bad_request, "the method of a question is no token, or is CONNECT"};
constexpr HttpError kBadClient{ErrorKind::bad_request, "X-Forwarded-For holds something else than addresses"};
constexpr HttpError kLongBody{ErrorKind::body_too_large, "a question needs no body"};

// The fields of a question, each of which may be there once. `is_repeated`: one of them was there more than once.
struct QuestionFields {
  std::optional<std::string_view> url, uri, forwarded_uri, forwarded_host, proto, original_method, forwarded_method,
      user;
  bool is_repeated = false;
  std::optional<std::string> forwarded_for;  // all its lines

  explicit QuestionFields(const RequestHead& head) {
    const std::array<std::pair<std::string_view, std::optional<std::string_view>*>, 8> known{
        {{"x-original-url", &url},
         {"x-original-uri", &uri},
         {"x-forwarded-uri", &forwarded_uri},
         {"x-forwarded-host", &forwarded_host},
         {"x-forwarded-proto", &proto},
         {"x-original-method", &original_method},
         {"x-forwarded-method", &forwarded_method},
         {"x-forwarded-user", &user}}};
    for (const Field& field : head.fields) {
      if (field.id == FieldId::x_forwarded_for) {
        if (forwarded_for) forwarded_for->append(",");
        if (!forwarded_for) forwarded_for.emplace();
        forwarded_for->append(field.value);
        continue;
      }
      if (field.name.size() < 2 || to_lower(field.name.front()) != 'x') continue;
      for (const auto& [name, value] : known) {
        if (!same_name(field.name, name)) continue;
        is_repeated = is_repeated || value->has_value();
        *value = field.value;
      }
    }
    // An empty field is how a server is told to send none.
    for (const auto& [name, value] : known) {
      if (*value && (*value)->empty()) value->reset();
    }
    if (forwarded_for && forwarded_for->empty()) forwarded_for.reset();
  }
};

// "http" or "https"; empty: neither. WebSockets are asked about by their own names.
std::string_view spoken_scheme(std::string_view proto) {
  if (same_name(proto, "http") || same_name(proto, "ws")) return "http";
  if (same_name(proto, "https") || same_name(proto, "wss")) return "https";
  return {};
}

std::optional<std::string> as_http(std::string_view url) {
  const std::size_t end = url.find("://");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view scheme = spoken_scheme(url.substr(0, end));
  if (scheme.empty() || url.size() == end + 3) return std::nullopt;
  return std::string(scheme).append(url.substr(end));
}

tl::expected<std::string, HttpError> join(const QuestionFields& fields, std::string_view host, std::string_view path) {
  const std::string_view scheme = fields.proto ? spoken_scheme(*fields.proto) : "http";
  if (scheme.empty()) return tl::unexpected(kBadScheme);
  if (host.empty()) return tl::unexpected(kNoHost);
  if (host.find(',') != std::string_view::npos) return tl::unexpected(kTwice);
  if (!parse_authority(host)) return tl::unexpected(kBadHost);
  if (!path.starts_with('/')) return tl::unexpected(kBadPath);
  return std::string(scheme).append("://").append(host).append(path);
}

// The text of the Host field, which must not be another host than X-Forwarded-Host says where that is there.
tl::expected<std::string_view, HttpError> host_of(const QuestionFields& fields, const RequestHead& head) {
  const Field* const host = find_field(head.fields, FieldId::host);
  if (host == nullptr || host->value.empty()) return tl::unexpected(kNoHost);
  if (fields.forwarded_host && !same_name(*fields.forwarded_host, host->value)) return tl::unexpected(kTwoHosts);
  return host->value;
}

tl::expected<std::string, HttpError> target_of(const QuestionFields& fields, const RequestHead& head, bool is_envoy) {
  const int questions = static_cast<int>(fields.url.has_value()) + static_cast<int>(fields.uri.has_value()) +
                        static_cast<int>(fields.forwarded_uri.has_value()) + static_cast<int>(is_envoy);
  if (questions == 0) return tl::unexpected(kNoQuestion);
  if (questions > 1) return tl::unexpected(kTwoQuestions);
  if (fields.url) {
    auto url = as_http(*fields.url);
    if (!url) return tl::unexpected(kNoUrl);
    return *std::move(url);
  }
  if (fields.forwarded_uri) {
    return join(fields, fields.forwarded_host.value_or(std::string_view()), *fields.forwarded_uri);
  }
  const auto host = host_of(fields, head);
  if (!host) return tl::unexpected(host.error());
  if (fields.uri) return join(fields, *host, *fields.uri);
  return join(fields, *host, head.target.path_and_query.substr(kEnvoyPrefix.size() - 1));
}

}  // namespace

tl::expected<ForwardAuthQuestion, HttpError> read_forward_auth(const RequestHead& head) {
  const QuestionFields fields(head);
  if (fields.is_repeated) return tl::unexpected(kTwice);
  ForwardAuthQuestion question;
  question.is_envoy = head.target.form == TargetForm::origin && head.target.path_and_query.starts_with(kEnvoyPrefix);
  auto target = target_of(fields, head, question.is_envoy);
  if (!target) return tl::unexpected(target.error());
  question.target = *std::move(target);
  if (fields.original_method && fields.forwarded_method && *fields.original_method != *fields.forwarded_method) {
    return tl::unexpected(kTwoQuestions);
  }
  question.method = fields.original_method    ? *fields.original_method
                    : fields.forwarded_method ? *fields.forwarded_method
                                              : head.method_name;
  if (!all(octets::token, question.method) || method_of(question.method) == Method::connect) {
    return tl::unexpected(kBadMethod);
  }
  question.forwarded_for = fields.forwarded_for;
  question.user = fields.user.value_or(std::string_view());
  return question;
}

HttpAnswers::~HttpAnswers() { asker_.worker().request_readers.give(std::move(request_)); }

std::size_t HttpAnswers::on_data(std::span<const char> octets) {
  if (request_ == nullptr) begin();
  std::size_t used = 0;
  for (;;) {
    const auto step = request_->reader.feed(octets.subspan(used));
    if (!step) {
      fail(step.error());
      return octets.size();  // what follows a malformed request is not read
    }
    used += step->consumed;
    switch (step->event) {
      case ReadEvent::need_more:
        if (!request_->count()) fail(Exchange::kNoMemory);
        return octets.size();
      case ReadEvent::body:
        body_ += step->body.size();
        if (body_ <= LocalReply::kDrainBytes) break;
        fail(kLongBody);
        return octets.size();
      case ReadEvent::end:
        ask(request_->reader.head());
        return used;
      case ReadEvent::head:
      case ReadEvent::interim:
        break;
    }
  }
}

void HttpAnswers::begin() {
  request_ = asker_.worker().request_readers.take();
  body_ = 0;
}

void HttpAnswers::end() { asker_.worker().request_readers.give(std::move(request_)); }

void HttpAnswers::ask(const RequestHead& head) {
  Question question;
  question.is_head = head.method == Method::head;
  question.is_http10 = head.version == Version::http10;
  question.keep_alive = head.keep_alive;
  const auto read = read_forward_auth(head);
  if (!read) return asker_.refuse(read.error(), question, 0);
  if (read->forwarded_for && asker_.is_trusted()) {
    question.client =
        forwarded_client(*read->forwarded_for, [&](const Endpoint& client) { return asker_.is_trusted(client); });
    if (!question.client) return asker_.refuse(kBadClient, question, 0);
  }
  const auto value_of = [&](std::string_view name) {
    const Field* const field = find_field(head.fields, name);
    return field == nullptr ? std::string_view() : field->value;
  };
  question.target = read->target;
  question.method = read->method;
  question.user = read->user;
  question.accept = value_of("accept");
  question.accept_language = value_of("accept-language");
  question.user_agent = value_of("user-agent");
  if (read->is_envoy) question.pass_status = 200;  // the one status that it takes for a yes
  asker_.ask(question, 0);
}

void HttpAnswers::fail(const HttpError& error) {
  Question question;
  question.is_head = request_->reader.asks_by_head();
  question.keep_alive = false;
  asker_.refuse(error, question, 0);
}

void HttpAnswers::on_answer(std::uint64_t, const Answer& answer) {
  asker_.send(answer.message);
  if (answer.closes || answer.message.empty()) asker_.finish();
  end();
}

}  // namespace bloomwall::proxy
