// Prometheus metric families, built one row at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/metric_family.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bloomwall::proxy {

using Label = std::pair<std::string_view, std::string_view>;

class MetricFamilies {
 public:
  // Opens a family; the rows that follow are its samples. `name` without the prefix "bloomwall_".
  void counter(std::string_view name, std::string_view help);
  void gauge(std::string_view name, std::string_view help);
  void process_gauge(std::string_view name, std::string_view help);  // with the prefix "process_"
  void process_counter(std::string_view name, std::string_view help);
  void row(double value, std::initializer_list<Label> labels = {});
  // Likewise of distributions. `counts` holds one count a bucket, not cumulative, the last beyond every bound.
  void histogram(std::string_view name, std::string_view help);
  void distribution(const std::vector<double>& bounds, const std::vector<std::uint64_t>& counts, double sum,
                    std::initializer_list<Label> labels = {});

  std::string text() const;

 private:
  void open(std::string name, std::string_view help, prometheus::MetricType type);
  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace bloomwall::proxy
