"""The pictures of the manual: every view, light and dark, and small enough to be carried along."""

from __future__ import annotations

from longhouse.surfaces.http.access import VIEWS
from tools.pictures import FOLDER, NEEDED, TAKEN_OVER

MOST_BYTES = 2 * 1024 * 1024


def test_every_view_has_its_picture_in_light_and_dark() -> None:
    taken = {shot.name for shot in (*NEEDED, *TAKEN_OVER)}
    assert taken == {"now", *VIEWS}
    wanted = {f"{name}-{scheme}.png" for name in taken for scheme in ("light", "dark")}
    assert wanted | {"phone.png"} == {path.name for path in FOLDER.iterdir()}


def test_the_pictures_stay_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < MOST_BYTES
