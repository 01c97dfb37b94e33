// A doubly linked list of objects that carry their own link: joining and leaving are O(1) and allocate nothing, and an
// object that is destroyed leaves its list by itself. T derives from ListLink<Tag> once per list it can be in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace bloomwall::proxy {

template <typename Tag>
class ListLink {
 public:
  ListLink() = default;
  ~ListLink() { leave(); }
  ListLink(const ListLink&) = delete;
  ListLink& operator=(const ListLink&) = delete;
  void leave() {
    if (next_ == nullptr) return;
    prev_->next_ = next_;
    next_->prev_ = prev_;
    prev_ = next_ = nullptr;
  }

 private:
  template <typename T, typename U>
  friend class IntrusiveList;
  ListLink* prev_ = nullptr;
  ListLink* next_ = nullptr;
};

template <typename T, typename Tag>
class IntrusiveList {
 public:
  IntrusiveList() { head_.prev_ = head_.next_ = &head_; }
  ~IntrusiveList() {
    while (!empty()) front().ListLink<Tag>::leave();
    head_.prev_ = head_.next_ = nullptr;
  }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  bool empty() const { return head_.next_ == &head_; }
  T& front() { return static_cast<T&>(*head_.next_); }
  T& back() { return static_cast<T&>(*head_.prev_); }
  void push_back(T& item) {
    item.ListLink<Tag>::leave();  // first: it may be the last one
    insert(*head_.prev_, item);
  }
  void push_front(T& item) {
    item.ListLink<Tag>::leave();
    insert(head_, item);
  }
  // The one after `item`, nullptr at the end.
  T* after(T& item) {
    ListLink<Tag>& link = item;
    return link.next_ == &head_ ? nullptr : &static_cast<T&>(*link.next_);
  }
  template <typename Visit>
  void for_each(Visit visit) const {  // which must not change the list
    for (const ListLink<Tag>* at = head_.next_; at != &head_; at = at->next_) visit(static_cast<const T&>(*at));
  }

 private:
  void insert(ListLink<Tag>& before, ListLink<Tag>& link) {
    link.prev_ = &before;
    link.next_ = before.next_;
    before.next_->prev_ = &link;
    before.next_ = &link;
  }
  ListLink<Tag> head_;
};

}  // namespace bloomwall::proxy
