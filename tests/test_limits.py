"""What numbers, texts and files may be: limits are refused in one sentence, and long lists are looked at fast."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import nlink
from nlink._support.checks import ModelError, angle_or_each, line, nearest, number, number_or_each, printable, shown, whole
from nlink._support.modelfile import MOST_DEPTH, read_model, tables
from nlink.formulations.stabilization import AugmentedLagrangian
from nlink.integrators import Taylor
from nlink.scenario import Scenario


@pytest.mark.parametrize("value", [10**400, -(10**5000), Fraction(10**5000, 7), 1.1e100, np.float64(-1e200)], ids=range(5))
def test_numbers_whose_squares_overflow_are_refused(value):
    with pytest.raises(ModelError, match=r"x must be at most 1e\+100"):
        number("x", value)
    with pytest.raises(ModelError, match=r"x\[1\] must be at most 1e\+100"):
        number_or_each("x", [1.0, value])


def test_numbers_whose_squares_vanish_are_refused_where_they_must_be_positive():
    with pytest.raises(ModelError, match="at least 1e-100"):
        number("x", 1e-200, above=0)
    with pytest.raises(ModelError, match=r"x\[0\] must be at least 1e-100"):
        number_or_each("x", [1e-200, 1.0], above=0)
    assert number("x", 1e-200) == 1e-200
    assert np.signbit(number("x", -0.0))


def test_large_angles_are_refused_everywhere():
    for call in (
        lambda: angle_or_each("theta", [0.0, -2e9]),
        lambda: nlink.simulate(nlink.Chain.uniform(2), 2e9, t_end=1.0),
        lambda: Scenario(nlink.Chain.uniform(2), (0.0, 2e9)),
        lambda: Scenario.from_dict({"links": 2, "start": {"theta": [0, 1e12], "unit": "deg"}}),
        lambda: nlink.simulate_many(nlink.Chain.uniform(2), [[0.0, 2e9]], t_end=1.0),
    ):
        with pytest.raises(ModelError, match="take it modulo 2 pi"):
            call()
    assert angle_or_each("theta", 1e9) == 1e9


@pytest.mark.parametrize(
    ("make", "limit"),
    [
        (lambda: Taylor(order=61), "60"),
        (lambda: Taylor(max_steps=10**13), "1,000,000,000,000"),
        (lambda: AugmentedLagrangian(iterations=101), "100"),
        (lambda: nlink.Chain.uniform(10**8), "10,000,000"),
        (lambda: nlink.chaos_map(nlink.Chain.uniform(2), size=(20_000, 20_000)), "100,000,000"),
        (lambda: nlink.Threads(5000), "1,024"),
        (lambda: whole("x", 10**5000, most=7), "7"),
    ],
)
def test_counts_that_cost_have_a_limit_which_is_named(make, limit):
    with pytest.raises(ModelError, match=f"at most {limit}[ ,;]"):
        make()


def test_a_million_numbers_are_checked():
    assert len(number_or_each("x", [1.5] * 1_000_000, above=0)) == 1_000_000  # pyright: ignore[reportArgumentType]


def test_values_are_shown_short_on_one_line():
    deep: list[object] = []
    for _ in range(2000):
        deep = [deep]
    for value in (
        10**5000,
        "x" * 10**7,
        deep,
        {"k" * 10**6: 1},
        list(range(10**6)),
        np.zeros((500, 500)),
        "a\n\x1b[31m\u2028",
        b"\x00" * 10**6,
    ):
        text = shown(value)
        assert len(text) <= 60
        assert text.isprintable(), text
    assert nearest("x" * 10**6, ["xx"]) == ""
    assert printable("a\x1b[2J\nb\ud800") == "a\\x1b[2J\\nb\\ud800"
    assert (
        printable("\N{GREEK SMALL LETTER THETA} \N{COMBINING DIAERESIS}") == "\N{GREEK SMALL LETTER THETA} \N{COMBINING DIAERESIS}"
    )


@pytest.mark.parametrize("title", ["a\x00b", "\x1b[31m", "\u202e", "\ud800", "x" * 1001, 3], ids=range(6))
def test_a_title_is_one_line(title):
    with pytest.raises(ModelError, match="title must"):
        Scenario.from_dict({"links": 2, "title": title})
    assert Scenario.from_dict({"links": 2, "title": "two\nlines"}).title == "two lines"
    assert (
        line("title", "Th\u00e9ta \N{EN DASH} \N{GREEK SMALL LETTER THETA}")
        == "Th\u00e9ta \N{EN DASH} \N{GREEK SMALL LETTER THETA}"
    )


def test_keys_and_brackets_go_as_deep_as_said():
    for text in (
        ".".join("a" * MOST_DEPTH) + "=1",
        "a=" + "[" * MOST_DEPTH + "]" * MOST_DEPTH,
        'a="' + ".[" * 99 + '" #' + "[." * 99,
    ):
        assert tables(text, "m")
    for text in (
        ".".join("a" * (MOST_DEPTH + 1)) + "=1",
        "a=" + "[" * (MOST_DEPTH + 1),
        '"""' + "x" * 9 + '"""="' + '"\na=' + "{a=" * 30,
    ):
        with pytest.raises(ModelError, match="20 deep"):
            tables(text, "m")


def test_encodings_of_model_files(tmp_path):
    path = tmp_path / "m.toml"
    path.write_bytes(b"\xef\xbb\xbflinks = 3\r\n")
    assert read_model(path) == {"links": 3}
    path.write_text("links = 3", encoding="utf-16")
    with pytest.raises(ModelError, match=r"UTF-16.*save it as UTF-8"):
        read_model(path)
    path.write_bytes(b"links = 3 # \xff")
    with pytest.raises(ModelError, match="not UTF-8 at byte 12"):
        read_model(path)


def test_a_model_is_saved_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "m.toml"
    scenario = nlink.preset("nice-3")
    scenario.save(path)
    before = path.read_bytes()

    def full(path: Path, text: str, **_: object) -> None:
        path.write_bytes(text[:50].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        scenario.save(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["m.toml"]
