// bw_seen for Python: the type Seen. What it offers is described in __init__.py.
// Threads: the interpreter's lock is released in what takes long: opening, saving, and many texts at once.
// SPDX-License-Identifier: Apache-2.0
#include "_bloomwall.h"

typedef struct {
  PyObject_HEAD bw_seen* seen;
} Seen;

static bw_seen* seen_of(PyObject* object) { return ((Seen*)object)->seen; }

static PyObject* seen_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  static char* names[] = {"file", "kind", "keys", "error", NULL};
  PyObject* file = Py_None;
  PyObject* path = NULL;
  int kind = BW_URL;
  unsigned long long keys = 0;
  PyObject* count = NULL;
  double error = 0;
  Seen* self;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OiOd", names, &file, &kind, &count, &error)) return NULL;
  if (count != NULL) {
    keys = PyLong_AsUnsignedLongLong(count);  // of a number below 0 an exception, unlike the format K
    if (keys == (unsigned long long)-1 && PyErr_Occurred()) return NULL;
  }
  if (file != Py_None && !PyUnicode_FSConverter(file, &path)) return NULL;
  self = (Seen*)allocate(type, 0);
  if (self != NULL) {
    const char* const name = path == NULL ? NULL : PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS self->seen = bw_seen_open(name, kind, keys, error);
    Py_END_ALLOW_THREADS if (self->seen == NULL) {
      bloomwall_raise();
      Py_DECREF(self);
      self = NULL;
    }
  }
  Py_XDECREF(path);
  return (PyObject*)self;
}

static void seen_dealloc(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  bw_seen_free(seen_of(object));
  release(object);
  Py_DECREF(type);
}

static PyObject* seen_add(PyObject* object, PyObject* text) {
  const char* octets;
  Py_ssize_t length;
  int outcome;
  if (!bloomwall_octets_of(text, &octets, &length)) return NULL;
  outcome = bw_seen_add(seen_of(object), octets, (size_t)length);
  return outcome < 0 ? bloomwall_raise() : PyBool_FromLong(outcome == BW_NEW);
}

static int seen_contains(PyObject* object, PyObject* text) {
  const char* octets;
  Py_ssize_t length;
  int outcome;
  if (!bloomwall_octets_of(text, &octets, &length)) return -1;
  outcome = bw_seen_has(seen_of(object), octets, (size_t)length);
  if (outcome < 0) bloomwall_raise();
  return outcome < 0 ? -1 : outcome == BW_SEEN;
}

// Takes over `outcomes`. What a full set refused is an error that has them, since the other texts were added.
static PyObject* outcomes_or_error(int outcome, PyObject* outcomes) {
  PyObject* error;
  if (outcome == 0) return outcomes;
  error = bloomwall_error();
  if (error != NULL && (outcome != BW_ERROR_LIMIT || PyObject_SetAttrString(error, "outcomes", outcomes) == 0)) {
    PyErr_SetObject((PyObject*)Py_TYPE(error), error);
  }
  Py_XDECREF(error);
  Py_DECREF(outcomes);
  return NULL;
}

static PyObject* add_tuple(PyObject* object, PyObject* tuple) {
  const Py_ssize_t count = PyTuple_Size(tuple);
  bw_seen* const seen = seen_of(object);
  size_t* lengths;
  const char** const octets = bloomwall_octets_of_all(tuple, &lengths);
  PyObject* outcomes = octets == NULL ? NULL : PyBytes_FromStringAndSize(NULL, count);
  if (outcomes != NULL) {
    unsigned char* const out = (unsigned char*)PyBytes_AsString(outcomes);
    int outcome;
    Py_BEGIN_ALLOW_THREADS outcome = bw_seen_add_many(seen, (size_t)count, octets, lengths, out);
    Py_END_ALLOW_THREADS outcomes = outcomes_or_error(outcome, outcomes);
  }
  PyMem_Free((void*)octets);
  return outcomes;
}

static PyObject* seen_add_many(PyObject* object, PyObject* texts) {
  PyObject* const tuple = PySequence_Tuple(texts);
  PyObject* outcome;
  if (tuple == NULL) return NULL;
  outcome = add_tuple(object, tuple);
  Py_DECREF(tuple);
  return outcome;
}

static PyObject* seen_add_lines(PyObject* object, PyObject* arguments) {
  bw_seen* const seen = seen_of(object);
  Py_buffer text;
  int outcome = 0;
  size_t lines = 0;
  PyObject* outcomes;
  if (!PyArg_ParseTuple(arguments, "s*", &text)) return NULL;
  Py_BEGIN_ALLOW_THREADS bw_seen_add_lines(seen, text.buf, (size_t)text.len, NULL, 0, &lines);
  Py_END_ALLOW_THREADS outcomes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)lines);
  if (outcomes != NULL && lines != 0) {
    unsigned char* const out = (unsigned char*)PyBytes_AsString(outcomes);
    Py_BEGIN_ALLOW_THREADS outcome = bw_seen_add_lines(seen, text.buf, (size_t)text.len, out, lines, &lines);
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&text);
  if (outcomes == NULL) return NULL;
  if ((Py_ssize_t)lines < PyBytes_Size(outcomes)) {  // changed meanwhile: the rest was never set
    PyObject* const fewer = PyBytes_FromStringAndSize(PyBytes_AsString(outcomes), (Py_ssize_t)lines);
    Py_DECREF(outcomes);
    outcomes = fewer;
  }
  return outcomes == NULL ? NULL : outcomes_or_error(outcome, outcomes);
}

static PyObject* seen_save(PyObject* object, PyObject* arguments) {
  bw_seen* const seen = seen_of(object);
  int outcome;
  (void)arguments;
  Py_BEGIN_ALLOW_THREADS outcome = bw_seen_save(seen);
  Py_END_ALLOW_THREADS if (outcome < 0) return bloomwall_raise();
  Py_RETURN_NONE;
}

static Py_ssize_t seen_length(PyObject* object) {
  const unsigned long long count = bw_seen_count(seen_of(object));
  if (count <= PY_SSIZE_T_MAX) return (Py_ssize_t)count;
  PyErr_SetString(PyExc_OverflowError, "more keys than a length can be");
  return -1;
}

static PyObject* get_capacity(PyObject* object, void* unused) {
  (void)unused;
  return PyLong_FromUnsignedLongLong(bw_seen_capacity(seen_of(object)));
}

static PyObject* get_bytes(PyObject* object, void* unused) {
  (void)unused;
  return PyLong_FromUnsignedLongLong(bw_seen_bytes(seen_of(object)));
}

static PyObject* get_error(PyObject* object, void* unused) {
  (void)unused;
  return PyFloat_FromDouble(bw_seen_error(seen_of(object)));
}

static PyObject* get_error_now(PyObject* object, void* unused) {
  (void)unused;
  return PyFloat_FromDouble(bw_seen_error_now(seen_of(object)));
}

static PyMethodDef seen_methods[] = {
    {"add", seen_add, METH_O,
     "add(text) -> bool\n\nWhether it is new; it is seen from now on. `text` is str or bytes."},
    {"add_many", seen_add_many, METH_O, "add_many(texts) -> bytes\n\nNEW or SEEN for each text."},
    {"add_lines", seen_add_lines, METH_VARARGS,
     "add_lines(buffer) -> bytes\n\nNEW or SEEN for each line of a str, bytes, mmap or other buffer."},
    {"save", seen_save, METH_NOARGS, "save()\n\nWrites a checkpoint to the file, while others add."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef seen_attributes[] = {
    {"capacity", get_capacity, NULL, "for how many keys it was made", NULL},
    {"bytes", get_bytes, NULL, "octets in memory, and about as many in its file", NULL},
    {"error", get_error, NULL, "chance that a new text is taken for seen once it is full", NULL},
    {"error_now", get_error_now, NULL, "the same chance as it is now", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot seen_slots[] = {{Py_tp_new, (void*)seen_new},
                                   {Py_tp_dealloc, (void*)seen_dealloc},
                                   {Py_tp_methods, seen_methods},
                                   {Py_tp_getset, seen_attributes},
                                   {Py_sq_contains, (void*)seen_contains},
                                   {Py_sq_length, (void*)seen_length},
                                   {0, NULL}};
static PyType_Spec seen_spec = {"bloomwall._bloomwall.Seen", (int)sizeof(Seen), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, seen_slots};

PyObject* bloomwall_seen_type(void) { return PyType_FromSpec(&seen_spec); }
