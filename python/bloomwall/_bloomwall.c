// The calls of bloomwall.h for Python, on CPython's stable ABI: one file for every Python from 3.11 on. What it offers is
// described in __init__.py.
// Threads: the interpreter's lock is released while the library asks, loads or waits; everything else happens under it.
// SPDX-License-Identifier: Apache-2.0
#include "_bloomwall.h"

#include <string.h>

static PyObject* error_type;  // bloomwall.Error
static PyTypeObject* answer_type;

typedef struct {
  PyObject_HEAD bw_policy* policy;
  bw_answer* answer;  // that nobody uses just now; NULL: one is made
} Policy;

PyObject* bloomwall_error(void) {
  PyObject* error = PyObject_CallFunction(error_type, "s", bw_error_text());
  PyObject* const code = error == NULL ? NULL : PyLong_FromLong(bw_error_code());
  if (code == NULL || PyObject_SetAttrString(error, "code", code) != 0) Py_CLEAR(error);
  Py_XDECREF(code);
  return error;
}

PyObject* bloomwall_raise(void) {
  PyObject* const error = bloomwall_error();
  if (error != NULL) PyErr_SetObject(error_type, error);
  Py_XDECREF(error);
  return NULL;
}

static PyObject* none_or_error(int outcome) {
  if (outcome < 0) return bloomwall_raise();
  Py_RETURN_NONE;
}

int bloomwall_octets_of(PyObject* text, const char** octets, Py_ssize_t* length) {
  char* bytes;
  if (PyUnicode_Check(text)) {
    *octets = PyUnicode_AsUTF8AndSize(text, length);
    return *octets != NULL;
  }
  if (!PyBytes_Check(text)) {
    PyErr_SetString(PyExc_TypeError, "a text must be str or bytes");
    return 0;
  }
  if (PyBytes_AsStringAndSize(text, &bytes, length) != 0) return 0;
  *octets = bytes;
  return 1;
}

const char** bloomwall_octets_of_all(PyObject* tuple, size_t** lengths) {
  const Py_ssize_t count = PyTuple_Size(tuple);
  const char** const octets = PyMem_Malloc((size_t)count * (sizeof *octets + sizeof **lengths) + 1);
  Py_ssize_t i;
  if (octets == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  *lengths = (size_t*)(octets + count);
  for (i = 0; i < count; ++i) {
    Py_ssize_t length = 0;
    if (!bloomwall_octets_of(PyTuple_GetItem(tuple, i), &octets[i], &length)) {
      PyMem_Free((void*)octets);
      return NULL;
    }
    (*lengths)[i] = (size_t)length;
  }
  return octets;
}

static PyObject* policy_new(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  static char* names[] = {NULL};
  Policy* self;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "", names)) return NULL;
  self = (Policy*)allocate(type, 0);
  if (self == NULL) return NULL;
  self->policy = bw_new();
  if (self->policy == NULL) {
    Py_DECREF(self);
    return bloomwall_raise();
  }
  return (PyObject*)self;
}

static void policy_dealloc(PyObject* object) {
  Policy* const self = (Policy*)object;
  PyTypeObject* const type = Py_TYPE(object);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  bw_answer_free(self->answer);
  bw_free(self->policy);
  release(object);
  Py_DECREF(type);
}

static PyObject* policy_add_filter(PyObject* object, PyObject* arguments) {
  Policy* const self = (Policy*)object;
  PyObject* file = NULL;
  const char* name = NULL;
  PyObject* outcome;
  if (!PyArg_ParseTuple(arguments, "O&z", PyUnicode_FSConverter, &file, &name)) return NULL;
  outcome = none_or_error(bw_add_filter(self->policy, name, PyBytes_AsString(file)));
  Py_DECREF(file);
  return outcome;
}

static PyObject* policy_add_allow_list(PyObject* object, PyObject* arguments) {
  Policy* const self = (Policy*)object;
  PyObject* file = NULL;
  PyObject* outcome;
  if (!PyArg_ParseTuple(arguments, "O&", PyUnicode_FSConverter, &file)) return NULL;
  outcome = none_or_error(bw_add_allow_list(self->policy, PyBytes_AsString(file)));
  Py_DECREF(file);
  return outcome;
}

static PyObject* policy_set(PyObject* object, PyObject* arguments) {
  Policy* const self = (Policy*)object;
  const char* key;
  PyObject* value = NULL;
  PyObject* outcome;
  if (!PyArg_ParseTuple(arguments, "sO&", &key, PyUnicode_FSConverter, &value)) return NULL;
  outcome = none_or_error(bw_set(self->policy, key, PyBytes_AsString(value)));
  Py_DECREF(value);
  return outcome;
}

// An error belongs to the thread that met it, and this thread keeps running after the lock is released: it can still be
// read when the lock is held again.
static PyObject* policy_reload(PyObject* object, PyObject* arguments) {
  Policy* const self = (Policy*)object;
  int outcome;
  (void)arguments;
  Py_BEGIN_ALLOW_THREADS outcome = bw_reload(self->policy);
  Py_END_ALLOW_THREADS return none_or_error(outcome);
}

static int set_text(PyObject* answer, Py_ssize_t place, const char* text, size_t length) {
  PyObject* value;
  if (length == 0) {
    value = Py_None;
    Py_INCREF(value);
  } else {
    value = PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "surrogateescape");
  }
  if (value == NULL) return 0;
  PyStructSequence_SetItem(answer, place, value);
  return 1;
}

static PyObject* make_answer(int verdict, const bw_answer* from) {
  size_t length;
  const char* const expression = bw_answer_expression(from, &length);
  const char* const filter = bw_answer_filter(from);
  PyObject* const answer = PyStructSequence_New(answer_type);
  PyObject* const number = PyLong_FromLong(verdict);
  if (answer == NULL || number == NULL) {
    Py_XDECREF(answer);
    Py_XDECREF(number);
    return NULL;
  }
  PyStructSequence_SetItem(answer, 0, number);
  if (set_text(answer, 1, filter, strlen(filter)) && set_text(answer, 2, expression, length) &&
      set_text(answer, 3, bw_answer_reason(from), strlen(bw_answer_reason(from)))) {
    return answer;
  }
  Py_DECREF(answer);
  return NULL;
}

static PyObject* policy_ask(PyObject* object, PyObject* arguments) {
  Policy* const self = (Policy*)object;
  PyObject* text;
  int kind = BW_URL, verdict;
  const char* octets;
  Py_ssize_t length;
  bw_answer* answer;
  PyObject* outcome;
  if (!PyArg_ParseTuple(arguments, "O|i", &text, &kind) || !bloomwall_octets_of(text, &octets, &length)) return NULL;
  answer = self->answer;
  self->answer = NULL;
  if (answer == NULL) answer = bw_answer_new();
  if (answer == NULL) return bloomwall_raise();
  Py_BEGIN_ALLOW_THREADS verdict = bw_ask(self->policy, kind, octets, (size_t)length, answer);
  Py_END_ALLOW_THREADS outcome = verdict < 0 ? bloomwall_raise() : make_answer(verdict, answer);
  if (self->answer == NULL) {
    self->answer = answer;
  } else {
    bw_answer_free(answer);  // another thread has given one back
  }
  return outcome;
}

// Of a tuple of texts, which it borrows. NULL: an exception is set.
static PyObject* ask_tuple(const Policy* self, int kind, PyObject* texts) {
  const Py_ssize_t count = PyTuple_Size(texts);
  size_t* lengths;
  const char** const octets = bloomwall_octets_of_all(texts, &lengths);
  PyObject* verdicts = octets == NULL ? NULL : PyBytes_FromStringAndSize(NULL, count);
  if (verdicts != NULL) {
    unsigned char* const out = (unsigned char*)PyBytes_AsString(verdicts);
    int outcome;
    Py_BEGIN_ALLOW_THREADS outcome = bw_ask_many(self->policy, kind, (size_t)count, octets, lengths, out);
    Py_END_ALLOW_THREADS if (outcome != 0) {
      Py_CLEAR(verdicts);
      bloomwall_raise();
    }
  }
  PyMem_Free((void*)octets);
  return verdicts;
}

static PyObject* policy_ask_many(PyObject* object, PyObject* arguments) {
  PyObject* texts;
  PyObject* tuple;
  PyObject* outcome;
  int kind = BW_URL;
  if (!PyArg_ParseTuple(arguments, "O|i", &texts, &kind)) return NULL;
  tuple = PySequence_Tuple(texts);
  if (tuple == NULL) return NULL;
  outcome = ask_tuple((Policy*)object, kind, tuple);
  Py_DECREF(tuple);
  return outcome;
}

static PyObject* policy_ask_lines(PyObject* object, PyObject* arguments) {
  Policy* const self = (Policy*)object;
  Py_buffer text;
  int kind = BW_URL, outcome = 0;
  size_t lines = 0;
  PyObject* verdicts;
  if (!PyArg_ParseTuple(arguments, "s*|i", &text, &kind)) return NULL;
  Py_BEGIN_ALLOW_THREADS bw_ask_lines(self->policy, kind, text.buf, (size_t)text.len, NULL, 0, &lines);
  Py_END_ALLOW_THREADS verdicts = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)lines);
  if (verdicts != NULL) {
    unsigned char* const out = (unsigned char*)PyBytes_AsString(verdicts);
    Py_BEGIN_ALLOW_THREADS outcome = bw_ask_lines(self->policy, kind, text.buf, (size_t)text.len, out, lines, &lines);
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&text);
  if (verdicts == NULL) return NULL;
  if (outcome == 0 && PyBytes_Size(verdicts) != (Py_ssize_t)lines) {  // changed meanwhile: the rest was never set
    PyObject* const fewer = PyBytes_FromStringAndSize(PyBytes_AsString(verdicts), (Py_ssize_t)lines);
    Py_DECREF(verdicts);
    return fewer;
  }
  if (outcome == 0) return verdicts;
  Py_DECREF(verdicts);
  return bloomwall_raise();
}

static PyMethodDef policy_methods[] = {
    {"_add_filter", policy_add_filter, METH_VARARGS, NULL},
    {"add_allow_list", policy_add_allow_list, METH_VARARGS,
     "add_allow_list(file)\n\nAdds a text file of entries that overrule filters, from the next reload() on."},
    {"set", policy_set, METH_VARARGS,
     "set(key, value)\n\nSets what bw_set() of bloomwall.h says, from the next reload() on."},
    {"reload", policy_reload, METH_NOARGS,
     "reload()\n\nOpens all files and swaps them in as a whole, while others ask; where one cannot be used, "
     "everything\n"
     "stays as it was, and Error names all that is wrong."},
    {"ask", policy_ask, METH_VARARGS, "ask(text, kind=URL) -> Answer\n\n`text` is str or bytes."},
    {"ask_many", policy_ask_many, METH_VARARGS,
     "ask_many(texts, kind=URL) -> bytes\n\nOne verdict for each text, all from the same files."},
    {"ask_lines", policy_ask_lines, METH_VARARGS,
     "ask_lines(buffer, kind=URL) -> bytes\n\nOne verdict for each line of a str, bytes, mmap or other buffer, which\n"
     "nobody should change meanwhile."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot policy_slots[] = {
    {Py_tp_new, (void*)policy_new}, {Py_tp_dealloc, (void*)policy_dealloc}, {Py_tp_methods, policy_methods}, {0, NULL}};
static PyType_Spec policy_spec = {"bloomwall._bloomwall.Policy", (int)sizeof(Policy), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, policy_slots};

static PyStructSequence_Field answer_fields[] = {
    {"verdict", "ALLOWED, MONITORED, BLOCKED or REJECTED"},
    {"filter", "name of the filter that decided; None where none did"},
    {"expression", "that matched, or the entry that allows: \"example.com/a/\"; or None"},
    {"reason", "listed, delta, allow_list ...; of a rejected text what is wrong with it"},
    {NULL, NULL}};
static PyStructSequence_Desc answer_description = {"bloomwall.Answer", "What the filters say, and why.", answer_fields,
                                                   4};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT, "_bloomwall", NULL, -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__bloomwall(void) {
  static const struct {
    const char* name;
    int value;
  } numbers[] = {{"URL", BW_URL},         {"HOST", BW_HOST},         {"ADDRESS", BW_ADDRESS},
                 {"RAW", BW_RAW},         {"ALLOWED", BW_ALLOWED},   {"MONITORED", BW_MONITORED},
                 {"BLOCKED", BW_BLOCKED}, {"REJECTED", BW_REJECTED}, {"NEW", BW_NEW},
                 {"SEEN", BW_SEEN},       {"FULL", BW_FULL}};
  PyObject* const module = PyModule_Create(&module_definition);
  PyObject* const policy = PyType_FromSpec(&policy_spec);
  PyObject* const seen = bloomwall_seen_type();
  size_t i;
  error_type = PyErr_NewExceptionWithDoc(
      "bloomwall.Error", "What is wrong, where, and what to do about it. `code`: one of BW_ERROR_... of bloomwall.h.",
      NULL, NULL);
  answer_type = PyStructSequence_NewType(&answer_description);
  if (module == NULL || policy == NULL || seen == NULL || error_type == NULL || answer_type == NULL) return NULL;
  for (i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    if (PyModule_AddIntConstant(module, numbers[i].name, numbers[i].value) != 0) return NULL;
  }
  if (PyModule_AddObjectRef(module, "Policy", policy) != 0 || PyModule_AddObjectRef(module, "Seen", seen) != 0 ||
      PyModule_AddObjectRef(module, "Error", error_type) != 0 ||
      PyModule_AddObjectRef(module, "Answer", (PyObject*)answer_type) != 0 ||
      PyModule_AddStringConstant(module, "__version__", bw_version()) != 0) {
    return NULL;
  }
  return module;
}
