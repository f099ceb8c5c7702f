"""A module imports from stages above it, never below, and folders stay small."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from collections import Counter
from pathlib import Path

import lingvis

SOURCE = Path(lingvis.__file__).parent
STUDIES = Path(__file__).parents[1] / "studies"
MOST_MODULES = 15  # in one folder
STAGES = [
    "__init__ errors extras registry types arrays bounds strict untrusted lock files printing progress hardware device",
    "processes",
    "layers",
    "recipes",
    "data",
    "features",
    "text",
    "pseudo",
    "image",
    "pooling",
    "similarity",
    "pretrained",
    "model",
    "relevance",
    "objectives",
    "terms",
    "evaluation",
    "training",
    "new_language",
    "suggestion",
    "collection",
    "ray",
    "serve",
    "demo",
    "cli __main__",
]
MODEL = Path(__file__).parent / "model" / "format-1" / "model"
LATER = STAGES[STAGES.index("model") + 1 :]
ORDER = {name: position for position, names in enumerate(STAGES) for name in names.split()}


def stage(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports(file: Path) -> list[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("lingvis"):
            found += (
                [node.module] if node.module != "lingvis" else [f"lingvis.{name.name}" for name in node.names]
            )
        elif isinstance(node, ast.Import):
            found += [name.name for name in node.names if name.name.split(".")[0] == "lingvis"]
    return found


def test_imports_point_to_earlier_stages() -> None:
    wrong = []
    for file in SOURCE.rglob("*.py"):
        here = file.relative_to(SOURCE).parts[0].removesuffix(".py")
        assert here in ORDER, f"{here} has no stage: add it to STAGES"
        if here == "__init__":
            continue  # the public names load their stage when first used
        for module in imports(file):
            there = stage(module) if stage(module) in ORDER else "__init__"
            if ORDER[there] > ORDER[here]:
                wrong.append(f"{file.relative_to(SOURCE)} imports {module}")
    assert not wrong


def test_no_folder_has_more_than_15_modules() -> None:
    counts = Counter(
        file.parent for root in (SOURCE, STUDIES) for file in root.rglob("*.py") if file.name != "__init__.py"
    )
    assert counts[SOURCE / "new_language"] and counts[STUDIES], "nothing was counted"
    assert {folder: count for folder, count in counts.items() if count > MOST_MODULES} == {}


def test_help_and_import_stay_light() -> None:
    for code in (
        "import lingvis",
        "from lingvis.cli.app import app; app(['--help'], result_action='return_value')",
    ):
        script = f"import sys; {code}; print([m for m in ('torch', 'numpy', 'PIL', 'matplotlib') if m in sys.modules])"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]", code


def test_encoding_loads_nothing_of_training() -> None:
    script = f"""
import sys
from lingvis.model.embedder import Embedder
model = Embedder.load({str(MODEL)!r}, device="cpu")
assert model.encode_texts(["all red"], "en").shape == (1, 8)
print([name for name in sys.modules if name.startswith("lingvis.") and name.split(".")[1] in {LATER}])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_public_names() -> None:
    assert dir(lingvis) == sorted(lingvis.__all__)
    for name in set(lingvis.__all__) - {"__version__"}:
        assert callable(getattr(lingvis, name)), name
        # A module of the same name would take the place of a function as soon as it is imported.
        assert importlib.util.find_spec(f"lingvis.{name}") is None, name
    assert not hasattr(lingvis, "nothing")


def test_searching_and_serving_load_nothing_of_training() -> None:
    script = """
import sys
import lingvis.collection.collection, lingvis.serve.run
training = ("objectives", "terms", "training")
print([name for name in sys.modules if name.startswith("lingvis.") and name.split(".")[1] in training])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
