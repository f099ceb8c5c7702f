"""Classes of the image side."""

from __future__ import annotations

import pytest
import torch

from lingvis.errors import UserError
from lingvis.features.backbones import load_trainable
from lingvis.features.backbones.efficientnet_lite import build
from lingvis.image.classes import NamedClasses
from lingvis.types import Tokens


def test_classes_are_those_of_the_whole_pretrained_classifier() -> None:
    torch.manual_seed(0)
    pixels = torch.rand(2, 3, 96, 96)
    backbone = load_trainable("efficientnet-lite0", pretrained=True)
    backbone.network.eval()
    classes = NamedClasses(dim=8, classifier=backbone.classifier)
    cells = backbone.cells(pixels).flatten(2).transpose(1, 2)
    found = classes.scores(Tokens(cells, torch.ones(cells.shape[:2], dtype=torch.bool)))
    torch.testing.assert_close(
        found, build("efficientnet-lite0", pretrained=True)(pixels), rtol=1e-4, atol=1e-4
    )


def test_vectors_of_classes_are_added_by_their_probabilities() -> None:
    torch.manual_seed(0)
    classes = NamedClasses(dim=3, classifier=torch.nn.Linear(4, 5))
    cells = Tokens(torch.randn(2, 6, 4), torch.tensor([[True] * 6, [True] * 2 + [False] * 4]))
    vectors = torch.randn(2, 3)
    scores = classes.scores(cells)
    for row, count in enumerate((6, 2)):
        mean = sum(cells.values[row, cell] for cell in range(count)) / count
        weight, bias = classes.classifier.weight.detach(), classes.classifier.bias.detach()
        logits = [float(weight[number] @ mean + bias[number]) for number in range(5)]
        assert scores[row].tolist() == pytest.approx(logits, abs=1e-5)
        whole = sum(torch.tensor(logits).exp().tolist())
        expected = vectors[row] / vectors[row].norm()
        for number, logit in enumerate(logits):
            expected += torch.tensor(logit).exp() / whole * classes.table[number].detach()
        torch.testing.assert_close(classes(vectors, scores)[row].detach(), expected)
    imagined = classes.imagined(vectors, torch.tensor([4, 1])).detach() - classes.table[[4, 1]].detach()
    for row in range(2):  # the picture itself is weakened
        factor = float(imagined[row].norm() / vectors[row].norm())
        assert 0 < factor < 1
        torch.testing.assert_close(imagined[row], factor * vectors[row])


def test_a_backbone_without_classes_is_rejected() -> None:
    with pytest.raises(UserError, match="needs a backbone with a classifier"):
        NamedClasses(dim=3, classifier=None)
