"""README and docs: no placeholder, no dead link, nothing that the code does not offer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = [pytest.mark.pre_merge, pytest.mark.unit, pytest.mark.gpu_0]

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")],
    key=str,
)
LINK = re.compile(r"\]\((?!https?:)(?P<target>[^)#\s]+)(#[^)]*)?\)")


def identify(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=identify)
def test_every_link_leads_somewhere(page: Path) -> None:
    targets = [row["target"] for row in LINK.finditer(page.read_text(encoding="utf-8"))]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_links_are_found_at_all() -> None:
    assert LINK.search("[a](docs/b.md#c)")
    assert len(LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))) > 10


@pytest.mark.parametrize("page", PAGES, ids=identify)
def test_no_placeholder_is_left(page: Path) -> None:
    assert not re.search(r"@[A-Z]+@|\bTODO\b|\bTBD\b", page.read_text(encoding="utf-8"))


def test_make_targets_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    offered = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert named
    assert named <= offered
    # Every target is explained by `make help`.
    assert set(re.findall(r"^([a-z]+):.*## ", makefile, re.MULTILINE)) == offered


def test_the_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 200
