"""A scan over 8-bit codes finds exactly the rows of a naive comparison."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from lingvis.arrays import Floats
from lingvis.collection.stores import scan as scan_module
from lingvis.collection.stores.scan import GRAPH, Halves, VectorScan


def unit(vectors: NDArray[np.float64]) -> Floats:
    scaled: Floats = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def clustered(rows: int, dim: int, seed: int) -> Halves:
    """Rows near a few centres, so that many scores are nearly equal; every tenth row is a copy of the one before."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((max(1, rows // 50), dim))
    vectors = centres[random.integers(len(centres), size=rows)] + 0.1 * random.standard_normal((rows, dim))
    vectors[9::10] = vectors[8::10][: len(vectors[9::10])]
    return unit(vectors).astype(np.float16)


def naive(vectors: Halves, query: Floats, count: int, among: list[int]) -> dict[int, float]:
    """All rows as good as the `count`-th, by a loop."""
    products = {row: float(sum(vectors[row].astype(np.float64) * query)) for row in among}
    if not products or not count:
        return {}
    least = sorted(products.values(), reverse=True)[:count][-1]
    return {row: product for row, product in products.items() if product >= least - 1e-12}


@pytest.mark.parametrize(("rows", "dim"), [(1, 4), (7, 16), (300, 256), (6000, 32)])
@pytest.mark.parametrize("count", [1, 3, 10])
def test_the_rows_of_a_naive_loop(rows: int, dim: int, count: int) -> None:
    vectors = clustered(rows, dim, seed=rows + count)
    scan = VectorScan(vectors)
    query = unit(vectors[rows // 2][None] + 0.05 * np.random.default_rng(count).standard_normal((1, dim)))[0]
    third, few = (np.flatnonzero(np.arange(rows) % part == 1) for part in (3, 20))
    for among in (None, third, few):
        found, products = scan.best(query, count, among)
        expected = naive(vectors, query, count, list(range(rows)) if among is None else among.tolist())
        assert dict(zip(found.tolist(), products.tolist(), strict=True)) == pytest.approx(expected, abs=1e-12)


def test_copies_have_the_same_product_and_none_is_left_out() -> None:
    vectors = np.repeat(clustered(2, 64, seed=1)[:1], 5000, axis=0)
    found, products = VectorScan(vectors).best(vectors[0].astype(np.float32), 3)
    assert sorted(found.tolist()) == list(range(5000)) and len(set(products.tolist())) == 1


def test_values_of_very_different_size_lose_nothing() -> None:
    """One large value makes the code of a row coarse; the others decide which row is best."""
    random = np.random.default_rng(5)
    drawn, direction = random.standard_normal((4000, 64)), random.standard_normal((1, 64))
    drawn[:, 0], direction[:, 0] = 40, 0
    vectors, query = unit(drawn).astype(np.float16), unit(direction)[0]
    found, _ = VectorScan(vectors).best(query, 5)
    assert sorted(found.tolist()) == sorted(naive(vectors, query, 5, list(range(4000))))


def test_no_rows_and_rows_of_zeros() -> None:
    query = np.ones(8, np.float32)
    assert [part.size for part in VectorScan(np.empty((0, 8), np.float16)).best(query, 5)] == [0, 0]
    found, products = VectorScan(np.zeros((3, 8), np.float16)).best(query, 2)
    assert found.tolist() == [0, 1, 2] and products.tolist() == [0, 0, 0]
    some = np.array([], np.intp)
    assert VectorScan(np.zeros((3, 8), np.float16)).best(query, 2, some)[0].size == 0


def test_the_graph_is_one_operator() -> None:
    from onnx import TensorProto, helper, load_model_from_string

    given = [
        helper.make_tensor_value_info("q", TensorProto.UINT8, None),
        helper.make_tensor_value_info("c", TensorProto.INT8, None),
    ]
    product = helper.make_tensor_value_info("p", TensorProto.INT32, None)
    node = helper.make_node("MatMulInteger", ["q", "c"], ["p"])
    model = helper.make_model(
        helper.make_graph([node], "g", given, [product]),
        opset_imports=[helper.make_opsetid("", 13)],
        ir_version=8,
    )
    model.producer_name = ""
    assert load_model_from_string(GRAPH) == model


def test_products_of_the_largest_codes_do_not_overflow() -> None:
    query = np.full((1, 1024), scan_module.SHIFT + scan_module.LARGEST_OF_QUERY, np.uint8)
    codes = np.full((1024, 70), scan_module.LARGEST, np.int8)
    codes[:, 1::2] *= -1
    (products,) = scan_module._multiplication()(None, {"q": query, "c": codes})
    assert products.tolist() == (query.astype(np.int64) @ codes.astype(np.int64)).tolist()


def test_more_rows_than_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan_module, "CHUNK", 700)
    monkeypatch.setattr(scan_module, "CONVERTED", 300)
    vectors = clustered(2000, 32, seed=3)
    scan, query = VectorScan(vectors), vectors[1999].astype(np.float32)
    for among in (None, np.arange(1, 2000, 2), np.arange(0, 2000, 200)):
        found, _ = scan.best(query, 7, among)
        rows = list(range(2000)) if among is None else among.tolist()
        assert sorted(found.tolist()) == sorted(naive(vectors, query, 7, rows))


@pytest.mark.parametrize("products", [2**25, 6000])
def test_queries_together_find_what_each_finds_alone(products: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan_module, "CHUNK", 700)
    monkeypatch.setattr(scan_module, "PRODUCTS", products)  # all of them at once, or three at a time
    vectors = clustered(2000, 32, seed=4)
    drawn = np.random.default_rng(6).standard_normal((40, 32)) + 3 * vectors[::50].astype(np.float64)
    queries = unit(drawn) * np.linspace(0.5, 2, 40, dtype=np.float32)[:, None]
    scan = VectorScan(vectors)
    for count, among in ((7, None), (7, np.arange(1, 2000, 2)), (3, np.arange(0, 2000, 200)), (0, None)):
        rows = list(range(2000)) if among is None else among.tolist()
        together = list(scan.each_best(queries, count, among))
        assert len(together) == 40
        for query, (found, scores) in zip(queries, together, strict=True):
            expected = naive(vectors, query, count, rows)
            assert dict(zip(found.tolist(), scores.tolist(), strict=True)) == pytest.approx(
                expected, abs=1e-12
            )


def test_searches_at_the_same_time_share_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan_module, "CHUNK", 100)
    shared, pool = [], scan_module._pool

    def counted() -> ThreadPoolExecutor:
        shared.append(1)
        return pool()

    monkeypatch.setattr(scan_module, "_pool", counted)
    vectors = clustered(500, 16, seed=5)
    scan, query = VectorScan(vectors), vectors[3].astype(np.float32)
    wanted = sorted(naive(vectors, query, 4, list(range(500))))
    with scan_module._scanning() as first, scan_module._scanning() as second:
        assert first and not second
        assert sorted(scan.best(query, 4)[0].tolist()) == wanted
        assert not shared
    assert sorted(scan.best(query, 4)[0].tolist()) == wanted
    assert shared


def test_a_scan_that_fails_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    scan = VectorScan(clustered(50, 16, seed=5))
    monkeypatch.setattr(scan_module, "_multiplication", lambda: 1)  # cannot be called
    with pytest.raises(TypeError):
        scan.best(np.ones(16, np.float32), 4)
    assert scan_module._scans == 0
