"""Packages whose names are imported when they are first used."""

import importlib
import subprocess
import sys

import pytest

import nlink
import nlink.analysis


@pytest.mark.parametrize("package", [nlink, nlink.analysis])
def test_every_name_of_a_stub_is_there(package):
    for name in package._homes:
        assert getattr(package, name) is getattr(importlib.import_module(package._homes[name], package.__name__), name)
    assert set(dir(package)) == set(package.__all__) <= set(package._homes)


def test_names_of_packages_are_not_listed_by_nlink_but_can_be_imported():
    from nlink import Baumgarte

    assert Baumgarte is importlib.import_module("nlink.formulations").Baumgarte
    assert "Baumgarte" not in dir(nlink)


def test_a_function_keeps_its_name_when_its_module_is_imported():
    code = "import nlink.analysis.lyapunov, nlink; print(nlink.analysis.lyapunov is nlink.lyapunov)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'nlink' has no attribute 'Pendulum'"):
        _ = nlink.Pendulum
    with pytest.raises(ImportError, match="Pendulum"):
        importlib.import_module("nlink.Pendulum")
