"""What the examples of the artifact commands need: something stored."""

from tests.kit import Lh


def build(lh: Lh) -> None:
    """`hello` is what the example of `docs.artifact.show` names by its digest."""
    lh("docs.artifact.add", name="hello.txt", content="hello")
