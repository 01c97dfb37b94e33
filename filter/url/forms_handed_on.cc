// The handed-on forms of FormReader.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "filter/url/forms.h"
#include "filter/url/odd_escapes.h"
#include "filter/url/percent.h"

namespace bloomwall::filter {
namespace {

// Where Node's url.parse() ends a host that follows a user's name.
std::size_t find_octet_of_no_host(std::string_view text, std::size_t from) {
  const auto is_of_host = [](char c) {
    return is_alpha(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80 ||
           std::string_view(".-+_:").find(c) != std::string_view::npos;
  };
  const std::string_view behind = text.substr(from);
  return from + static_cast<std::size_t>(std::find_if_not(behind.begin(), behind.end(), is_of_host) - behind.begin());
}

}  // namespace

// H1.
void FormReader::read_authority(std::string_view rest) {
  const std::size_t begin = rest.find_first_not_of("/\\");
  if (begin == 0 || begin == std::string_view::npos || rest[begin] == '?') return;
  const std::size_t end = std::min(rest.find_first_of("/\\?", begin), rest.size());
  const bool has_slash = end != rest.size() && rest[end] != '?';
  read_spelling(rest.substr(has_slash ? end + 1 : end));
  const std::size_t at = rest.substr(0, end).rfind('@');
  if (at == std::string_view::npos || at < begin) return;
  const std::size_t host_end = std::min(find_octet_of_no_host(rest, at + 1), end);
  if (host_end != end) read_spelling(rest.substr(host_end));
}

// H4.
void FormReader::read_loose_escapes(std::string_view rest) {
  loose_.clear();
  if (append_loose_escapes_made_strict(rest, loose_)) {
    read_spelling(loose_);
    read_authority(loose_);
    // A '?' that is a digit does not end the path.
    const std::string_view path = std::string_view(loose_).substr(0, loose_.find('?'));
    has_odd_escape_ = has_odd_escape_ || holds_odd_escape(path, decoded_);
  }
  deep_loose_.clear();
  append_decoded_fully(loose_, deep_loose_);
  if (!holds_loose_escape(deep_loose_)) return;
  loose_.clear();
  append_loosely_decoded(deep_loose_, loose_);
  read_spelling(loose_);
}

// H5.
void FormReader::read_handed_on(std::string_view rest) {
  const std::size_t mark = std::min(rest.find('?'), rest.size());
  const std::string_view path = rest.substr(0, mark);
  const std::string_view name = path.substr(std::min(path.find_first_not_of('/'), path.size()));
  once_.clear();
  append_decoded_once(name.substr(0, name.find('/')), once_);
  if (once_ != "." && is_plain(path)) return;
  for (const Order order : {Order::collapse_first, Order::resolve_first}) {
    once_.clear();
    append_decoded_once(path, once_);
    write_handed_on(once_, order);
    handed_on_.append(rest.substr(mark));
    const std::string_view handed_on = std::string_view(handed_on_).substr(1);
    read_spelling(handed_on);
    read_authority(handed_on);
    if (handed_on.find('%') != std::string_view::npos) read_loose_escapes(handed_on);
  }
}

// H6.
void FormReader::read_decoded_twice(std::string_view rest) {
  const std::size_t mark = std::min(rest.find('?'), rest.size());
  once_.clear();
  append_decoded_once(rest.substr(0, mark), once_);
  if (once_.find('%') == std::string::npos) return;
  deep_.clear();
  append_decoded_fully(once_, deep_);
  if (deep_ == once_) return;
  for (const Order order : {Order::collapse_first, Order::resolve_first}) {
    write_handed_on(deep_, order);
    for (std::size_t at = 0; (at = handed_on_.find('?', at)) != std::string::npos;) handed_on_.replace(at, 1, "%3F");
    handed_on_.append(rest.substr(mark));
    const std::string_view handed_on = std::string_view(handed_on_).substr(1);
    read_spelling(handed_on);
    read_authority(handed_on);
  }
}

void FormReader::write_handed_on(std::string_view decoded, Order order) {
  handed_on_.clear();
  PathWriter writer(order, handed_on_);
  for (std::size_t begin = 0, end = 0; begin <= decoded.size(); begin = end + 1) {
    end = std::min(decoded.find('/', begin), decoded.size());
    const std::string_view segment = decoded.substr(begin, end - begin);
    if (writer.step(kind_of(segment), end == decoded.size())) handed_on_.append(segment);
  }
  writer.finish_uncollapsed();
}

// H2. `path` is the path as spelt.
void FormReader::read_cut_targets(std::string_view path) {
  if (path.find('%') == std::string_view::npos) return;
  decoded_.clear();
  append_decoded_fully(path, decoded_);
  const bool has_escaped_mark = decoded_.find('?') != std::string::npos;
  for (std::size_t i = 0, all = count_; i < all; ++i) {
    const Form form = found_[i];
    if (const std::size_t at = target_end(view(form.path)); at != std::string_view::npos) {
      cut_target(form, at);
      continue;
    }
    const std::size_t at =
        has_escaped_mark && form.has_query_mark ? target_end(view(form.query)) : std::string_view::npos;
    if (at == std::string_view::npos) continue;
    Form cut = form;
    cut.query.size = at;
    add(cut);
  }
}

void FormReader::cut_target(const Form& form, std::size_t at) {
  const bool is_trimmed = view(form.path).substr(at).find_first_not_of("%20") == std::string_view::npos;
  bare_.assign(view(form.path).substr(0, at));
  Form cut{.path = {.begin = text_.size()}};
  PathWriter writer(Order::collapse_first, text_);
  for_each_segment(std::string_view(bare_).substr(1), [&](std::string_view segment, bool last) {
    if (writer.step(kind_of(segment), last)) text_.append(segment);
  });
  writer.finish();
  cut.path.size = text_.size() - cut.path.begin;
  Form with_query = cut;
  with_query.query = form.query;
  with_query.has_query_mark = form.has_query_mark;
  add(cut);
  if (is_trimmed && form.has_query_mark) add(with_query);
}

// H2, of a server that writes the path decoded, once or again, and leaves its dots to the next: "/evil.html%23/..", and
// "/%2fx/evil.html%3f/.." with H1.
void FormReader::read_unresolved_target(std::string_view path) {
  handed_on_.clear();
  append_decoded_fully(path, handed_on_);
  if (handed_on_.find("..") == std::string::npos) return;  // as nearly always
  for (const bool is_deep : {false, true}) {
    handed_on_.clear();
    if (is_deep) {
      append_decoded_fully(path, handed_on_);
    } else {
      append_decoded_once(path, handed_on_);
    }
    const std::size_t end = decoded_target_end(handed_on_);
    if (handed_on_.find("..", std::min(end, handed_on_.find('?'))) == std::string::npos) continue;
    handed_on_.resize(end);
    read_spelling(handed_on_);
    read_authority(handed_on_);
    if (handed_on_.find('%') != std::string::npos) read_loose_escapes(handed_on_);
  }
}

// H3.
void FormReader::read_query_escapes() {
  Form form = found_[0];
  if (view(form.query).find("%25u") == std::string_view::npos &&
      view(form.query).find("%25U") == std::string_view::npos) {
    return;
  }
  once_.clear();
  append_unicode_escapes_decoded(view(form.query), once_);
  decoded_.clear();
  append_decoded_fully(once_, decoded_);
  form.query.begin = text_.size();
  append_escaped(decoded_, Separators::plain, text_);
  form.query.size = text_.size() - form.query.begin;
  add(form);
}

}  // namespace bloomwall::filter
