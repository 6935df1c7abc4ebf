"""The guides name packages, files, links and commands that exist, and use standard terms."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DESIGN = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "stc"
GUIDES = [*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *(ROOT / "docs").glob("*.md")]
SCRIPTS = [
    file for name in ("examples", "paper", "benchmarks") for file in (ROOT / name).glob("*.py")
]


def layers() -> list[set[str]]:
    """Return the packages of each layer of the import contract, from the top."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return [set(layer.replace("stc.", "").split(" | ")) for layer in contract["layers"]]


def layout_rows() -> list[tuple[list[str], str]]:
    """Return the packages in each row of the layout table, and what they may import."""
    section = DESIGN.split("## Layout\n")[1].split("\n## ")[0]
    cells = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:3] == "| `"]
    return [(re.findall(r"`(\w+)`", first), last) for first, _, last in cells]


def test_the_layout_table_has_every_package_in_the_order_of_the_contract() -> None:
    named = [name for names, _ in layout_rows() for name in names]
    contract = layers()
    assert sorted(named) == sorted(set.union(*contract))
    places = [next(k for k, layer in enumerate(contract) if name in layer) for name in named]
    assert places == sorted(places)


def test_the_layout_table_names_the_next_layer() -> None:
    contract = layers()
    for names, allowed in layout_rows():
        place = next(k for k, layer in enumerate(contract) if names[0] in layer)
        mentioned = set(re.findall(r"`(\w+)`", allowed))
        if mentioned:
            assert mentioned == contract[place + 1], names
        else:
            assert place in (0, len(contract) - 1)


def test_packages_on_disk_are_those_of_the_contract() -> None:
    present = {
        path.stem
        for path in SOURCE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert present - {"__init__"} == set.union(*layers())


@pytest.mark.parametrize("guide", ["docs/design.md", "CONTRIBUTING.md"])
def test_files_that_are_named_exist(guide: str) -> None:
    text = (ROOT / guide).read_text(encoding="utf-8")
    paths = set(re.findall(r"`((?:\w[\w.]*/)+[\w.]*)`", text))
    assert len(paths) > 3
    absent = [path for path in paths if not ((ROOT / path).exists() or (SOURCE / path).exists())]
    assert absent == []


def heading_anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a Markdown text."""
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_links_lead_somewhere(guide: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)\s]+)\)", guide.read_text(encoding="utf-8"))
    for link in links:
        file, _, anchor = link.partition("#")
        target = guide.parent / file if file else guide
        assert target.exists(), link
        if anchor:
            assert anchor in heading_anchors(target.read_text(encoding="utf-8")), link


@pytest.mark.parametrize(
    "path",
    [*(guide for guide in GUIDES if guide.stem != "CHANGELOG"), *SCRIPTS],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_only_names_of_the_present_interface_are_used(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"\bstore=|\.explain\(|\bprogress=|SelectedSource", text) == []


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda e: e.stem)
def test_each_example_is_named_in_a_guide(example: Path) -> None:
    assert [guide for guide in GUIDES if example.name in guide.read_text(encoding="utf-8")]


def test_commands_that_are_named_exist() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    named = {
        target
        for guide in GUIDES
        for target in re.findall(r"`make ([\w-]+)`", guide.read_text(encoding="utf-8"))
    }
    assert named >= {"test", "test-all", "browser"}
    assert named <= {*targets}


@pytest.mark.parametrize(
    ("guide", "terms"),
    {
        "README.md": ("confusion matrix", "n-grams", "one-hot", "back off", "class imbalance"),
        "docs/cli.md": ("confusion matrix", "cross-validation"),
        "docs/inputs.md": ("n-grams", "one-hot"),
        "docs/learning.md": (
            "baseline",
            "calibration",
            "class imbalance",
            "cross-validation",
            "leave-one-out",
            "n-grams",
            "temperature",
        ),
        "docs/tensors.md": ("back-off", "baseline", "class imbalance", "indicator matrix"),
    }.items(),
)
def test_standard_terms_are_used(guide: str, terms: tuple[str, ...]) -> None:
    text = (ROOT / guide).read_text(encoding="utf-8").lower()
    assert [term for term in terms if term not in text] == []
