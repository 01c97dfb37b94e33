"""The part of the module that is C, against the libbloomwall that pkg-config finds. The rest is in pyproject.toml.

SPDX-License-Identifier: Apache-2.0
"""
import shlex
import subprocess

from setuptools import Extension, setup


def said_by_pkg_config(option):
    return shlex.split(subprocess.run(["pkg-config", option, "bloomwall"], capture_output=True, text=True, check=True).stdout)


setup(ext_modules=[Extension("bloomwall._bloomwall", ["bloomwall/_bloomwall.c", "bloomwall/_seen.c"], py_limited_api=True,
                             extra_compile_args=said_by_pkg_config("--cflags"), extra_link_args=said_by_pkg_config("--libs"))],
      options={"bdist_wheel": {"py_limited_api": "cp311"}})
