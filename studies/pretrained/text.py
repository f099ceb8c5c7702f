"""The texts of the card of lingvis-base that do not depend on numbers."""

from __future__ import annotations

# How the captions of each language were made.
KINDS = {
    "en": "human",
    "de": "human",
    "fr": "human translation",
    "cs": "human translation",
    "pt": "human (Brazil)",
    "zh": "human, short",
    "ar": "machine translation, checked by people",
    "ug": "machine translation, proofread; Arabic script",
    "bo": "machine translation, proofread",
    "mn": "machine translation, proofread; traditional script",
}

USE = """```python
import lingvis

model = lingvis.load()  # or lingvis.load("{name}")
sentences = model.encode_texts(["ein Hund am Strand"], lang="de")
scores = model.encode_images(["a.jpg", "b.jpg"]) @ sentences.T
```

`lingvis index photos.lv ~/Pictures` uses it if no model is named. It ranks pictures by how well they fit a sentence; a
score is no probability, and a picture is always found, even if none fits."""

DATA = """**The photographs of the training limit the use of this model.** They are those of Flickr8k: they stay under the
terms of Flickr and of the people who took them, and were published for **non-commercial research and education**. The
Apache-2.0 licence of lingvis covers its code. It gives no right to these photographs, and nobody has cleared them for
a product. Do not use this model commercially unless you have checked that you may; train a model on pictures and
captions of your own instead, with the same recipe. No photograph and no caption is contained in the model folder.

- Flickr8k: photographs of Flickr with five English captions each by crowd workers, and their captions in nine further
  languages (flickr8k-ml): the 5,591 photographs of split train and 900 of the 1,000 of split val. Models of split train
  alone chose the recipe on split val; the 100 photographs left of it selected the epoch. Split test was measured once.
- Captions of 23,536 further photographs, without the photographs, in en, de, fr, cs and pt (Multi30K, Framed Multi30K).
- Names of the 1,000 classes of ImageNet and their general names (WordNet); those in other languages than English were
  translated by machine.
- The image network starts from {network}, trained on the photographs of ImageNet, which are for
  non-commercial research and education as well."""

LIMITS = """- It has seen about 6,500 photographs with captions, above all of people, dogs and sports. That is a small world.
- Beyond them it has learnt names of the 1,000 classes of ImageNet (many animals, tools, vehicles, dishes), as single
  names: how such things look together or what they do was in no caption.
- It has learnt no names of persons, places or works, no text in pictures, and no drawings, scans, medical, aerial or
  technical pictures.
- It was not tested for numbers, negation, left and right, or who does what to whom. Models of this kind often rank "a
  dog chases a man" and "a man chases a dog" alike.
- Pictures are squashed to a small square, so that small things and fine print are lost.
- Uyghur, Tibetan and Mongolian were learnt from machine translations that were proofread, Arabic from machine
  translations that people checked. Their scores measure sentences of the same origin, not free queries.
- Other languages were not learnt; a word of a related language may match by its spelling.
- Bias: the captions describe people by their looks and guess gender, age, origin and occupation. A model repeats such
  guesses, and who is shown doing what. Nobody has measured the bias of this model."""

DO_NOT_USE = """- To identify or find a person, or to recognise faces.
- For surveillance, tracking, or sorting people by gender, age, origin, religion, health or any other trait.
- For decisions about people: hiring, credit, policing, access, insurance, moderation without a person who decides.
- As a filter for safety or law (weapons, abuse, age): it was neither trained nor tested for that.
- Commercially, while the terms of the training photographs are not cleared: see above.
- To claim that something is not in a collection: it misses much."""

SOURCES = """- Flickr8k: Hodosh, Young and Hockenmaier 2013, Framing image description as a ranking task.
- Multi30K (German, French, Czech): Elliott et al. 2016 and 2017, Barrault et al. 2018.
- Flickr8k-CN (Chinese): Li et al. 2016.
- Arabic Flickr8k: ElJundi et al. 2020.
- Framed Multi30K (Brazilian Portuguese): LREC-COLING 2024.
- IMLIP 2022 (Uyghur, Tibetan, Mongolian).
- ImageNet: Deng et al. 2009; EfficientNet: Tan and Le 2019; WordNet: Miller 1995."""
