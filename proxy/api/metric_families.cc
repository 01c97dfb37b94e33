// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/metric_families.h"

#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include <limits>

namespace bloomwall::proxy {
namespace {

std::string own(std::string_view name) { return fmt::format("bloomwall_{}", name); }
std::string process(std::string_view name) { return fmt::format("process_{}", name); }

}  // namespace

void MetricFamilies::open(std::string name, std::string_view help, prometheus::MetricType type) {
  prometheus::MetricFamily family;
  family.name = std::move(name);
  family.help = help;
  family.type = type;
  families_.push_back(std::move(family));
}

void MetricFamilies::counter(std::string_view name, std::string_view help) {
  open(own(name), help, prometheus::MetricType::Counter);
}
void MetricFamilies::gauge(std::string_view name, std::string_view help) {
  open(own(name), help, prometheus::MetricType::Gauge);
}
void MetricFamilies::process_gauge(std::string_view name, std::string_view help) {
  open(process(name), help, prometheus::MetricType::Gauge);
}
void MetricFamilies::process_counter(std::string_view name, std::string_view help) {
  open(process(name), help, prometheus::MetricType::Counter);
}

void MetricFamilies::row(double value, std::initializer_list<Label> labels) {
  prometheus::MetricFamily& family = families_.back();
  prometheus::ClientMetric metric;
  for (const auto& [name, text] : labels) metric.label.push_back({std::string(name), std::string(text)});
  if (family.type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family.metric.push_back(std::move(metric));
}

void MetricFamilies::histogram(std::string_view name, std::string_view help) {
  open(own(name), help, prometheus::MetricType::Histogram);
}

void MetricFamilies::distribution(const std::vector<double>& bounds, const std::vector<std::uint64_t>& counts,
                                  double sum, std::initializer_list<Label> labels) {
  prometheus::ClientMetric metric;
  for (const auto& [name, text] : labels) metric.label.push_back({std::string(name), std::string(text)});
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    const double bound = i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({total, bound});
  }
  metric.histogram.sample_count = total;
  metric.histogram.sample_sum = sum;
  families_.back().metric.push_back(std::move(metric));
}

std::string MetricFamilies::text() const { return prometheus::TextSerializer().Serialize(families_); }

}  // namespace bloomwall::proxy
