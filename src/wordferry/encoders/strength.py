"""How well an encoder knows meaning, and so how much it counts beside words: measured on sentences that say the same.

The two sentences of a pair share no word that carries meaning, so counting words tells nothing. The strength is by how
many standard deviations the cosine of a pair is above that of sentences of different pairs, on average: about 0 for
noise, 2.4 for means of word vectors, 5.5 for wordllama, 7.0 for all-MiniLM-L6-v2.
"""

from __future__ import annotations

import numpy as np

from wordferry.base.arrays import Float32Array

PAIRS = (
    ("The physician examined the sick child.", "A doctor looked at an ill boy."),
    ("Petrol has become more expensive.", "Fuel prices went up."),
    ("She purchased a new automobile.", "The woman bought a car."),
    ("The vessel sank during the storm.", "A ship went down in bad weather."),
    ("Scientists discovered a distant planet.", "Astronomers found a far world around another star."),
    ("The firm dismissed hundreds of employees.", "Many workers lost their jobs at the company."),
    ("The kitten is asleep.", "A young cat naps."),
    ("Parliament passed the law.", "Legislators approved a bill."),
    ("The film bored the audience.", "Viewers found the movie dull."),
    ("He repairs broken clocks.", "The man fixes watches that have stopped."),
    ("Heavy rain flooded the village.", "Water covered the small town after a downpour."),
    ("The striker scored in the final minute.", "A late goal decided the football match."),
    ("Children learn to read at school.", "Pupils are taught their letters in class."),
    ("The thief was arrested by the police.", "Officers caught a burglar."),
    ("This medicine lowers a fever.", "The drug reduces body temperature."),
    ("The bakery sells fresh bread.", "You can buy warm loaves at the shop."),
    ("Interest on the loan is high.", "Borrowing money costs a lot."),
    ("The garden is full of roses.", "Flowers bloom everywhere behind the house."),
    ("The aircraft landed safely.", "A plane touched down without harm."),
    ("Old people often feel lonely.", "Many of the elderly lack company."),
)
SENTENCES = tuple(one for pair in PAIRS for one in pair)
UNKNOWN = 2.0
"""The weight of vectors that were brought, whose encoder nobody knows."""
_LEAST, _MOST = 0.5, 4.0
_SLOPE, _FROM = 1.3, 4.5
"""Chosen on judged collections: a weaker encoder must not hide a text that the words name, a stronger one gains most
where it counts for more (``benchmarks/meaning.py`` prints what they give)."""


def strength_of(vectors: Float32Array) -> float:
    """The strength of an encoder that gives :data:`SENTENCES` these vectors of unit length."""
    cosines = vectors[::2].astype(np.float64) @ vectors[1::2].astype(np.float64).T
    others = cosines[~np.eye(len(cosines), dtype=bool)]
    spread = float(others.std())
    return float((cosines.diagonal() - others.mean()).mean()) / spread if spread > 0 else 0.0


def weight_of(strength: float) -> float:
    """What a document's score gains for each standard deviation of meaning, to two digits."""
    return round(min(max(_SLOPE * (strength - _FROM), _LEAST), _MOST), 2)
