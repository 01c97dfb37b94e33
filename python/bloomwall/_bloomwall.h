// What the sources of the module have in common.
// SPDX-License-Identifier: Apache-2.0
#ifndef BLOOMWALL_PYTHON_H
#define BLOOMWALL_PYTHON_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <bloomwall.h>

// bloomwall.Error with the text and the code of the call that failed last. NULL: an exception is set.
PyObject* bloomwall_error(void);
// Raises it. Returns NULL.
PyObject* bloomwall_raise(void);
// The octets of a str (as UTF-8) or of bytes, which live as long as it does. 0: an exception is set.
int bloomwall_octets_of(PyObject* text, const char** octets, Py_ssize_t* length);
// Those of a tuple's texts, in memory that PyMem_Free() frees, both of them together by its first address. NULL: an
// exception is set.
const char** bloomwall_octets_of_all(PyObject* tuple, size_t** lengths);
// The type bloomwall.Seen (_seen.c). NULL: an exception is set.
PyObject* bloomwall_seen_type(void);

#endif
