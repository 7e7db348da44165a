"""Packages whose names are imported when they are first used."""

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import nlink
import nlink.analysis
from nlink.view.looks import Look


@pytest.mark.parametrize("package", [nlink, nlink.analysis])
def test_every_name_of_a_stub_is_there(package):
    for name in package._homes:
        assert getattr(package, name) is getattr(importlib.import_module(package._homes[name], package.__name__), name)
    assert set(dir(package)) == set(package.__all__) <= set(package._homes)


def shown_methods():
    """Yield the methods of results that functions of `nlink.view` do."""
    for each in pkgutil.walk_packages(nlink.__path__, "nlink."):
        if each.name.split(".")[1] in ("_support", "mechanics", "run", "scenario", "ensemble", "analysis", "symbolic"):
            for kind in vars(importlib.import_module(each.name)).values():
                if inspect.isclass(kind) and kind.__module__ == each.name:
                    yield from (method for method in vars(kind).values() if "shown_by" in getattr(method, "__dict__", {}))


SHOWN = {method.__qualname__: method for method in shown_methods()}


def test_results_are_shown_by_view():
    assert len(SHOWN) >= 12
    assert {name.split(".")[1] for name in SHOWN} == {"plot", "animate", "html", "live", "_repr_html_"}


@pytest.mark.parametrize("name", SHOWN)
def test_a_method_takes_what_the_function_that_shows_it_takes(name):
    module, function = SHOWN[name].shown_by.split(".")
    _, *method = inspect.signature(SHOWN[name]).parameters.values()
    _, *taken = inspect.signature(getattr(importlib.import_module(f"nlink.view.{module}"), function)).parameters.values()
    if taken and taken[-1].kind is inspect.Parameter.VAR_KEYWORD:  # handed on to a Look
        look = inspect.signature(Look).parameters.values()
        taken = [*taken[:-1], *(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in look)]
    taken = {each.name: each for each in taken}
    assert [(each.name, each.kind, each.default) for each in method] == [
        (each.name, taken[each.name].kind, taken[each.name].default) for each in method
    ]


@pytest.mark.parametrize("name", [name for name in SHOWN if name.endswith(".plot")])
def test_every_plot_takes_axes_a_size_and_a_theme(name):
    assert {"ax", "size", "theme"} <= set(inspect.signature(SHOWN[name]).parameters)


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
