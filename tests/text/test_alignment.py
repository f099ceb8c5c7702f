"""Word-space maps beside naive loops: neighbours, the objective, accuracy; what a fit finds and never does."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from lingvis.errors import UserError
from lingvis.text.alignment import accuracy, fit_map, neighbours, prepare, procrustes, rcsls
from lingvis.text.alignment.fit import dictionary_pairs
from lingvis.text.alignment.rcsls import RcslsObjective, RcslsOptions, clip_spectrum, descend
from lingvis.text.vectors.table import WordTable

Matrix = NDArray[np.float32]


def vectors(count: int, dim: int, seed: int) -> Matrix:
    return prepare(np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32))


def rotation(dim: int, seed: int = 9) -> Matrix:
    square = np.random.default_rng(seed).standard_normal((dim, dim))
    return np.linalg.qr(square)[0].astype(np.float32)


def noisy_copy(values: Matrix, matrix: Matrix, noise: float, seed: int = 3) -> Matrix:
    """Another language: the same words turned and stretched by `matrix`, each a little off."""
    off = noise * np.random.default_rng(seed).standard_normal(values.shape)
    return prepare((values @ matrix.T + off).astype(np.float32))


def objective_of(source: Matrix, target: Matrix, pairs: NDArray[np.int64], k: int) -> RcslsObjective:
    return RcslsObjective(torch.from_numpy(source), torch.from_numpy(target), torch.from_numpy(pairs), k)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that do not divide the tables of these tests."""
    monkeypatch.setattr(neighbours, "TABLE", 7)


def test_prepare_centres_directions_and_leaves_unknown_words_alone() -> None:
    values = np.random.default_rng(0).standard_normal((1300, 5)).astype(np.float32) + 2  # more than a block
    values[:3] *= 1000  # long vectors have no more say in the centre than others
    values[4] = values[700] = 0
    kept = values.copy()
    found = prepare(values)
    assert found.dtype == np.float32 and np.array_equal(values, kept)
    known = [row for row in range(1300) if row not in (4, 700)]
    units = [values[row].astype(np.float64) / np.linalg.norm(values[row]) for row in known]
    centre = sum(units) / len(units)
    for row, unit in zip(known, units, strict=True):
        expected = (unit - centre) / np.linalg.norm(unit - centre)
        assert found[row] == pytest.approx(expected, abs=1e-5)
    assert not found[[4, 700]].any()
    assert not prepare(np.zeros((2, 3), dtype=np.float32)).any()
    assert prepare(values, in_place=True) is values and np.array_equal(values, found)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("k", [1, 3, 10, 40])
def test_top_k_is_a_sort(k: int) -> None:
    queries, table = (torch.from_numpy(vectors(count, 6, seed)) for count, seed in ((5, 0), (23, 1)))
    scale, less = torch.rand(23, generator=torch.manual_seed(0)), torch.linspace(-1, 1, 23)
    scores, rows = neighbours.top_k(queries, table, k, scale=scale, less=less)
    assert rows.shape == (5, min(k, 23))
    for query in range(5):
        every = [float(queries[query] @ table[n] * scale[n] - less[n]) for n in range(23)]
        order = sorted(range(23), key=lambda n: -every[n])[:k]
        assert rows[query].tolist() == order
        assert scores[query].tolist() == pytest.approx([every[n] for n in order], abs=1e-5)


def test_procrustes_finds_a_rotation() -> None:
    turn = rotation(8)
    source = vectors(30, 8, 0)
    found = procrustes(source, source @ turn.T)
    assert found == pytest.approx(turn, abs=1e-4)
    # With noise it is no longer that rotation, but one it stays.
    noisy = procrustes(source, noisy_copy(source, turn, 0.3))
    assert noisy @ noisy.T == pytest.approx(np.eye(8), abs=1e-5)


def naive_objective(
    matrix: torch.Tensor, a: torch.Tensor, b: torch.Tensor, pairs: list[list[int]], k: int
) -> torch.Tensor:
    """Joulin et al. 2018, eq. 6, word for word."""

    def crowd(x: torch.Tensor, table: list[torch.Tensor]) -> torch.Tensor:
        products = torch.stack([x @ y for y in table])
        return products.sort(descending=True).values[:k].mean()

    mapped = [matrix @ each for each in a]
    total = torch.zeros((), dtype=matrix.dtype)
    for one, other in pairs:
        total = total - 2 * (mapped[one] @ b[other]) + crowd(mapped[one], list(b)) + crowd(b[other], mapped)
    return total / len(pairs)


@pytest.mark.usefixtures("small_blocks")
def test_objective_and_gradient_are_those_of_a_loop() -> None:
    a, b = (torch.from_numpy(vectors(count, 4, seed)).double() for count, seed in ((17, 0), (19, 1)))
    pairs = [[0, 0], [0, 5], [3, 5], [16, 18], [2, 2]]  # words with several translations, and last rows
    matrix = torch.from_numpy(rotation(4) * 1.3).double() + 0.1
    value, slope = RcslsObjective(a, b, torch.tensor(pairs), 3)(matrix)
    free = matrix.clone().requires_grad_()
    expected = naive_objective(free, a, b, pairs, 3)
    (expected_slope,) = torch.autograd.grad(expected, free)
    assert value == pytest.approx(float(expected.detach()), abs=1e-9)
    assert slope.numpy() == pytest.approx(expected_slope.numpy(), abs=1e-9)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("stretch", [1.0, 2.5])
def test_accuracy_is_that_of_a_loop(stretch: float) -> None:
    source = vectors(40, 4, 0)
    target = noisy_copy(source, rotation(4), 0.5)[:31]
    matrix = (rotation(4) @ np.diag([stretch, 1, 1, 1])).astype(np.float32)
    pairs = np.array([[row, row] for row in range(30)] + [[0, 7], [1, 9], [1, 3]])
    mapped = np.array([matrix @ row / np.linalg.norm(matrix @ row) for row in source])
    cosines = mapped @ target.T
    answers = {row: {row} for row in range(30)}
    answers[0].add(7)
    answers[1] |= {9, 3}
    crowd = [sum(sorted(cosines[:, n])[-3:]) / 3 for n in range(31)]
    nn = csls = 0
    for word, right in answers.items():
        own = sum(sorted(cosines[word])[-3:]) / 3
        nn += max(range(31), key=lambda n: cosines[word][n]) in right
        csls += max(range(31), key=lambda n: 2 * cosines[word][n] - own - crowd[n]) in right
    assert nn != csls  # else the two could be mixed up
    found = accuracy(matrix, source, target, pairs, k=3)
    assert found.words == 30 and [found.nn, found.csls] == pytest.approx([nn / 0.3, csls / 0.3])


def test_rcsls_finds_more_than_procrustes_and_never_ends_above_it() -> None:
    source = vectors(300, 12, 0)
    stretched = rotation(12) @ np.diag(np.linspace(0.2, 2.0, 12)).astype(np.float32)
    target = noisy_copy(source, stretched, 0.15)
    pairs = np.repeat(np.arange(200)[:, None], 2, axis=1)
    ask = np.repeat(np.arange(200, 300)[:, None], 2, axis=1)
    turned = procrustes(source[:200], target[:200])
    for spectral in (False, True):
        made = rcsls(source, target, pairs, RcslsOptions(spectral=spectral), device="cpu")
        assert made.pairs == 200 and len(made.objective) == len(made.steps) + 1
        objective = objective_of(source, target, pairs, 10)
        reached = objective(torch.from_numpy(made.matrix))[0]
        assert reached == pytest.approx(min(made.objective), abs=1e-4)
        assert made.objective[0] == pytest.approx(objective(torch.from_numpy(turned))[0], abs=1e-4)
        assert reached < made.objective[0]
        largest = np.linalg.svd(made.matrix, compute_uv=False)[0]
        assert (largest <= 1 + 1e-4) if spectral else (largest > 1.1)
        before = accuracy(turned, source, target, ask, device="cpu").csls
        assert accuracy(made.matrix, source, target, ask, device="cpu").csls > before


def test_step_halving_converges_where_a_fixed_step_diverges() -> None:
    # Pairs that belong to nothing: the objective is positive everywhere and least at zero.
    source, target = vectors(60, 6, 0), vectors(60, 6, 1)
    pairs = np.stack([np.arange(40), np.random.default_rng(0).permutation(40)], axis=1)
    objective = objective_of(source, target, pairs, 5)
    start = torch.from_numpy(procrustes(source[pairs[:, 0]], target[pairs[:, 1]]))
    _, fixed, _ = descend(objective, start, RcslsOptions(steps=40), first_step=25.0, halving=False)
    assert min(fixed[1:]) > fixed[0]
    _, halved, steps = descend(objective, start, RcslsOptions(steps=40), first_step=25.0)
    assert min(halved) < 0.5 * halved[0]
    assert steps[0] == 25.0 and steps[-1] < 5
    for before, after, value, length in zip(steps, steps[1:], halved[1:], range(1, len(steps)), strict=False):
        assert after == (before if value < min(halved[:length]) else before / 2)


def test_descent_stops_when_steps_are_tiny_or_used_up() -> None:
    def bowl(matrix: torch.Tensor) -> tuple[float, torch.Tensor]:
        return float((matrix**2).sum()), 2 * matrix

    start = torch.eye(3)
    _, values, steps = descend(bowl, start, RcslsOptions(steps=3), first_step=0.1)
    assert len(steps) == 3 and values == sorted(values, reverse=True)
    at_rest, _, steps = descend(bowl, torch.zeros(3, 3), RcslsOptions(steps=500), first_step=1.0)
    assert len(steps) < 20 and not at_rest.any()
    assert descend(bowl, start, RcslsOptions(steps=0))[1] == [3.0]


def test_clipping_changes_only_large_singular_values() -> None:
    left, right = (torch.from_numpy(rotation(5, seed)) for seed in (1, 2))
    matrix = left @ torch.diag(torch.tensor([3.0, 1.0, 1.0, 0.4, 0.0])) @ right
    expected = left @ torch.diag(torch.tensor([1.0, 1.0, 1.0, 0.4, 0.0])) @ right
    assert clip_spectrum(matrix).numpy() == pytest.approx(expected.numpy(), abs=1e-5)
    assert clip_spectrum(torch.full((3, 3), 0.0)).abs().max() == 0


def tables() -> tuple[WordTable, WordTable, dict[str, tuple[str, ...]]]:
    values = np.random.default_rng(0).standard_normal((40, 6)).astype(np.float32)
    source = WordTable([f"s{n}" for n in range(40)], 3 * values)
    target = WordTable([f"t{n}" for n in range(40)][::-1], (values @ rotation(6).T)[::-1].copy())
    return source, target, {f"s{n}": (f"t{n}",) for n in range(30)}


@pytest.mark.parametrize("method", ["procrustes", "rcsls"])
def test_fit_map_brings_words_to_their_translations(method: str) -> None:
    source, target, dictionary = tables()
    made = fit_map(method, source, target, dictionary, RcslsOptions(steps=5), device="cpu")  # type: ignore[arg-type]
    assert made.matrix.dtype == np.float32 and made.pairs == 30
    nearest = (prepare(source.values) @ made.matrix.T @ prepare(target.values).T).argmax(axis=1)
    assert [target.words[row] for row in nearest] == [f"t{n}" for n in range(40)]


def test_pairs_are_those_with_vectors() -> None:
    source = WordTable(["a", "b", "c", "empty"], np.diag([1, 1, 1, 0]).astype(np.float32))
    target = WordTable(["x", "none", "y"], np.array([[1, 0], [0, 0], [0, 1]], dtype=np.float32))
    dictionary = {"c": ("y", "x", "unknown"), "a": ("none", "y"), "other": ("x",), "empty": ("x",)}
    assert dictionary_pairs(source, target, dictionary).tolist() == [[0, 2], [2, 2], [2, 0]]
    assert dictionary_pairs(source, target, {}).shape == (0, 2)


def test_what_cannot_be_fitted_is_refused() -> None:
    source, target, dictionary = tables()
    few = dict(list(dictionary.items())[:9])
    with pytest.raises(UserError, match=r"only 9 pairs .* 6 dimensions needs at least 10"):
        fit_map("rcsls", source, target, few)
    assert fit_map("procrustes", source, target, dict(list(dictionary.items())[:10])).pairs == 10
    with pytest.raises(UserError, match="6 dimensions and the target vectors 5"):
        fit_map("rcsls", source, WordTable(target.words, target.values[:, :5].copy()), dictionary)
