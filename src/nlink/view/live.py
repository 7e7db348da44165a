"""A window that plays a run in real time, for a machine with a display."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from nlink._support.checks import ModelError
from nlink.run.run import Run
from nlink.view.animate import frames_of
from nlink.view.film import Film
from nlink.view.looks import Look, frame_times
from nlink.view.style import heading

if TYPE_CHECKING:
    import tkinter


def has_display() -> bool:
    """Return whether a window can be opened here."""
    try:
        _window().destroy()
    except ModelError:
        return False
    return True


def live(run: Run, *, speed: float | None = None, fps: float = 50, **look: Any) -> None:
    """Play a run in a window, again and again, until it is closed by its button, Escape or q.

    The options are those of `animate`: `look` has those of a Look. A slow machine leaves frames out and keeps the time.
    """
    drawn, times = Look(**look), frame_times(run, speed, fps)
    window = _window()
    window.title(heading(run))
    window.resizable(False, False)
    for key in ("<Escape>", "q"):
        window.bind(key, lambda _: window.destroy())
    _play(window, frames_of(run, times, drawn, fps), fps)
    window.mainloop()


def _play(window: tkinter.Tk, frames: Film, fps: float) -> None:
    """Show the frame that the clock asks for, about `fps` times a second."""
    import tkinter

    from PIL import ImageTk

    picture = ImageTk.PhotoImage("RGB", frames.look.size)
    tkinter.Label(window, image=str(picture), borderwidth=0).pack()
    start = time.monotonic()

    def show() -> None:
        count = int((time.monotonic() - start) * fps)
        picture.paste(frames.draw(count % len(frames)))
        wait = (count + 1) / fps - (time.monotonic() - start)
        window.after(max(1, math.ceil(1000 * wait)), show)

    show()


def _window() -> tkinter.Tk:
    """Open a window, or say why there is none."""
    try:
        import tkinter
    except ImportError:
        raise ModelError("a live window needs tkinter, which this Python was built without; give an output file with -o") from None
    try:
        return tkinter.Tk()
    except tkinter.TclError:
        raise ModelError("there is no display; give an output file with -o") from None
