// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/report_webhook.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <pthread.h>

#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/handles.h"
#include "proxy/log/log.h"
#include "proxy/state/json_members.h"

namespace bloomwall::proxy {
namespace {

using CurlPtr = std::unique_ptr<CURL, FreeWith<curl_easy_cleanup>>;
using CurlListPtr = std::unique_ptr<curl_slist, FreeWith<curl_slist_free_all>>;

constexpr long kMostAnswer = 64L << 10;  // octets; a receiver that says more has answered all the same

std::size_t take_answer(char*, std::size_t, std::size_t octets, void* taken) {
  auto& sum = *static_cast<long*>(taken);
  sum += static_cast<long>(octets);
  return sum > kMostAnswer ? 0 : octets;
}

int look_around(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

}  // namespace

// What libcurl has of its own for the process is not given back.
ReportWebhook::ReportWebhook() { curl_global_init(CURL_GLOBAL_DEFAULT); }

ReportWebhook::~ReportWebhook() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void ReportWebhook::send(const std::string& url, const ReportItem& report) {
  if (url.empty()) return;
  Message message{url, json_line({{"event", "report"}, {"report", to_json(report)}})};
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() >= kMostWaiting) {
      ++dropped_;
      return;
    }
    waiting_.push_back(std::move(message));
  }
  wanted_.notify_one();
  if (thread_.joinable()) return;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  } catch (const std::system_error& error) {  // tried again with the next report
    log::error("reports.webhook: no thread: {}", error.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ReportWebhook::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "webhook");
  for (;;) {
    Message message;
    {
      std::unique_lock lock(mutex_);
      if (!wanted_.wait(lock, stop, [this] { return !waiting_.empty(); }) || stop.stop_requested()) return;
      message = std::move(waiting_.front());
      waiting_.pop_front();
    }
    deliver(message, stop);
  }
}

bool ReportWebhook::wait(const std::stop_token& stop, Milliseconds pause) {
  std::unique_lock lock(mutex_);
  wanted_.wait_for(lock, stop, pause, [] { return false; });
  return !stop.stop_requested();
}

void ReportWebhook::deliver(const Message& message, const std::stop_token& stop) {
  for (std::size_t tries = 0;; ++tries) {
    std::string why;
    const Outcome outcome = post(message, stop, why);
    if (stop.stop_requested()) return;
    if (outcome == Outcome::done) {
      ++sent_;
      return;
    }
    if (outcome == Outcome::refused || tries == kPauses.size()) {
      ++failed_;
      return log::warning("reports.webhook: a report was not taken: {}", why);
    }
    if (!wait(stop, kPauses[tries])) return;
  }
}

ReportWebhook::Outcome ReportWebhook::post(const Message& message, const std::stop_token& stop, std::string& why) {
  const CurlPtr curl(curl_easy_init());
  const CurlListPtr fields(curl_slist_append(nullptr, "Content-Type: application/json"));
  if (curl == nullptr || fields == nullptr) {
    why = "no memory";
    return Outcome::again;
  }
  long taken = 0;
  const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(curl.get(), option, value); };
  set(CURLOPT_URL, message.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_POST, 1L);
  set(CURLOPT_POSTFIELDS, message.body.data());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(message.body.size()));
  set(CURLOPT_HTTPHEADER, fields.get());
  set(CURLOPT_USERAGENT, "bloomwall/" BLOOMWALL_VERSION);
  set(CURLOPT_PROXY, "");  // none of the environment
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(kLongest.count()));
  set(CURLOPT_WRITEFUNCTION, &take_answer);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&taken));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &look_around);
  set(CURLOPT_XFERINFODATA, static_cast<const void*>(&stop));
  const CURLcode code = curl_easy_perform(curl.get());
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  const bool has_answer = code == CURLE_OK || taken > kMostAnswer;
  if (has_answer && status >= 200 && status < 300) return Outcome::done;
  why = has_answer ? fmt::format("status {}", status) : curl_easy_strerror(code);
  return has_answer && status >= 400 && status < 500 && status != 408 && status != 429 ? Outcome::refused
                                                                                       : Outcome::again;
}

}  // namespace bloomwall::proxy
