"""Draw the pictures of the gallery that the README shows: run their examples, and write the pictures smaller as WebP.

python scripts/gallery_pictures.py docs/pictures
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

EXAMPLES = Path(__file__).parents[1] / "examples"
SHOWN = {
    "02_three_rods_chaotic": "tolerances",
    "12_four_bar": "crank",
    "33_falling_chain": "fall",
    "35_whip": "speed",
    "38_poincare_section": "sections",
}
WIDTH = 800

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for script, name in SHOWN.items():
        with tempfile.TemporaryDirectory() as here:
            subprocess.run([sys.executable, EXAMPLES / f"{script}.py", here], check=True)
            with Image.open(Path(here) / f"{name}.png") as picture:
                small = picture.convert("RGB").resize(
                    (WIDTH, round(picture.height * WIDTH / picture.width)), Image.Resampling.LANCZOS
                )
                small.save(folder / f"{name}.webp", quality=80)
