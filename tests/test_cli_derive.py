"""`nlink derive` as a user meets it: formats, files, streams, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import check_refused

from nlink import derive


@pytest.mark.parametrize("form", ["latex", "c"])
def test_a_format_goes_to_stdout(form: str, tmp_path: Path, here: Any) -> None:
    done = here("derive", "2", "--format", form, cwd=tmp_path)
    equations = derive(2)
    wanted = equations.latex() if form == "latex" else equations.code(form)
    assert (done.returncode, done.stdout, done.stderr) == (0, wanted, "")


def test_text_is_the_default_and_options_reach_the_derivation(tmp_path: Path, here: Any) -> None:
    assert here("derive", "2", cwd=tmp_path).stdout == derive(2).text()
    done = here("derive", "2", "--shape", "point", "--relative", "--load", "drag", "--load", "joint_spring", "--raw", cwd=tmp_path)
    wanted = derive(2, shape="point", angles="relative", loads=["joint_spring", "drag"], simplify=False)
    assert done.stdout == wanted.text()
    assert here("derive", "1", "--offset", cwd=tmp_path).stdout == derive(1, offset=True).text()
    assert here("derive", "1", "--format", "latex", "--document", cwd=tmp_path).stdout == derive(1).latex(document=True)


@pytest.mark.parametrize(("name", "form"), [("a.m", "matlab"), ("a.jl", "julia"), ("a.py", "python"), ("a.js", "javascript")])
def test_a_file_is_named_by_its_language(name: str, form: str, tmp_path: Path, here: Any) -> None:
    done = here("derive", "2", "-o", name, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"nlink: wrote {name}\n")
    assert (tmp_path / name).read_text() == derive(2).code(form)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_the_format_asked_for_wins_over_the_name(tmp_path: Path, here: Any) -> None:
    here("derive", "1", "--format", "text", "-o", "a.c", cwd=tmp_path)
    assert (tmp_path / "a.c").read_text() == derive(1).text()


def test_the_energies_as_code(tmp_path: Path, here: Any) -> None:
    done = here("derive", "2", "--load", "drag", "--energies", "-o", "a.js", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "nlink: wrote a.js\n")
    assert (tmp_path / "a.js").read_text() == derive(2, loads=["drag"]).code("javascript", of="energies")
    assert here("derive", "2", "-o", "a.js", cwd=tmp_path).returncode == 0  # its own file is replaced
    assert (tmp_path / "a.js").read_text() == derive(2).code("javascript")


def test_json_holds_the_parts(tmp_path: Path, here: Any) -> None:
    table = json.loads(
        here("derive", "2", "--shape", "point", "--load", "gravity", "--load", "joint_damper", "--json", cwd=tmp_path).stdout
    )
    assert table["mass_matrix"][0] == ["l_1**2*(m_1 + m_2)", "l_1*l_2*m_2*cos(theta_1 - theta_2)"]
    assert len(table["forcing"]) == 2
    assert table["symbols"]["theta"] == ["theta_1", "theta_2"]
    assert table["symbols"]["g"] == "g"
    assert table["rayleigh"] == "c_1*omega_1**2/2 + c_2*(-omega_1 + omega_2)**2/2"
    assert (table["links"], table["shape"], table["angles"]) == (2, "point", "absolute")
    assert table["loads"] == ["gravity", "joint_damper"]


def test_the_equations_of_a_model(tmp_path: Path, here: Any) -> None:
    assert here("derive", "point-2", cwd=tmp_path).stdout == here("derive", "2", "--shape", "point", cwd=tmp_path).stdout
    (tmp_path / "m.toml").write_text("links = 1\nloads = { gravity = 0, joint_damper = 0.1 }\noffset = 0.1\n")
    wanted = derive(1, loads=("joint_damper",), offset=True).text()
    assert here("derive", "m.toml", cwd=tmp_path).stdout == wanted


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["0"], 3, "derive: n must be a whole number, at least 1, got 0"),
        (["99"], 3, "derive takes up to 24 links in absolute angles, got 99"),
        (["2", "--shape", "rod"], 3, "derive: shape must be one of rigid, point; got 'rod'"),
        (["2", "--load", "joint_sprng"], 3, "did you mean 'joint_spring'"),
        (["2", "--format", "latx"], 2, "--format must be one of text, latex, python, c, matlab, julia, javascript; got 'latx'"),
        (["2", "-o", "no/where.tex"], 5, "no/where.tex"),
        (["two"], 3, "there is no preset 'two'"),
        (["four-bar"], 3, "four-bar is a closed chain, and equations are derived for open ones; take [pin] out of the model"),
        (["2", "-o", "x.pdf"], 2, "--output must end in .txt, .tex, .py, .c, .m, .jl or .js, got x.pdf"),
        (["2", "--energies"], 2, "--energies goes with code, as --format c; text, LaTeX and JSON have the energies in any case"),
        ([], 2, "Missing argument"),
    ],
)
def test_wrong_input_gets_one_sentence_and_its_code(arguments: list[str], code: int, said: str, tmp_path: Path, here: Any) -> None:
    check_refused(here("derive", *arguments, cwd=tmp_path), code, said, tmp_path)
