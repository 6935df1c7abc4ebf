"""The figures that the paper publishes."""

from __future__ import annotations

ZOO_MEASURES = ("Prec.", "Rec.", "F1", "F1-macro")
ZOO: dict[str, tuple[float, float, float, float]] = {
    "DT": (0.944, 0.935, 0.931, 0.836),
    "RF": (0.936, 0.931, 0.923, 0.827),
    "KNN": (0.916, 0.915, 0.905, 0.792),
    "SVM": (0.946, 0.941, 0.934, 0.847),
    "MNB": (0.916, 0.903, 0.897, 0.764),
    "LR": (0.946, 0.938, 0.932, 0.843),
    "STC-C": (0.790, 0.850, 0.804, 0.659),
    "STC-Q": (0.953, 0.953, 0.945, 0.871),
}
ZOO_PAIRWISE_MEAN: dict[str, float] = {
    "DT": 0.57,
    "RF": 0.48,
    "KNN": 0.37,
    "SVM": 0.57,
    "MNB": 0.28,
    "LR": 0.55,
    "STC-C": 0.04,
    "STC-Q": 0.64,
}
ZOO_STC_Q_BEATS: dict[str, float] = {
    "DT": 0.62,
    "RF": 0.66,
    "KNN": 0.75,
    "SVM": 0.61,
    "MNB": 0.87,
    "LR": 0.61,
    "STC-C": 1.00,
}

NEWS_MEASURES = ("precision", "recall", "f1", "accuracy")
NEWS: dict[str, tuple[float, float, float, float]] = {
    "DT": (0.546, 0.543, 0.543, 0.549),
    "RF": (0.748, 0.727, 0.725, 0.739),
    "KNN": (0.599, 0.528, 0.539, 0.529),
    "SVM": (0.799, 0.779, 0.784, 0.788),
    "MNB": (0.822, 0.725, 0.724, 0.744),
    "LR": (0.808, 0.795, 0.797, 0.805),
    "STC-Q": (0.863, 0.856, 0.856, 0.864),
    "STC-Q, p=1/3": (0.871, 0.866, 0.866, 0.873),
}
# As the paper quotes them: macro F1 and accuracy; None: not reported.
LITERATURE: dict[str, tuple[float | None, float]] = {
    "NABoE": (0.862, 0.868),
    "TextEnt": (0.839, 0.845),
    "CoNN": (None, 0.837),
    "DEns": (None, 0.871),
}
NEWS_TERMS = 185_733
NEWS_SECONDS = {"fit": 50, "predict": 80}

NEWSGROUPS = (
    "alt.atheism",
    "comp.graphics",
    "comp.os.ms-windows.misc",
    "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware",
    "comp.windows.x",
    "misc.forsale",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "rec.sport.hockey",
    "sci.crypt",
    "sci.electronics",
    "sci.med",
    "sci.space",
    "soc.religion.christian",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.politics.misc",
    "talk.religion.misc",
)

# The six words of rec.sport.baseball.
BASEBALL = "rec.sport.baseball"
TOP_WORDS: dict[str, tuple[str, ...]] = {
    "STC": ("game", "team", "baseball", "games", "he", "pitcher"),
    "MNB": ("pitcher", "baseball", "game", "Sox", "games", "Braves"),
    "STC-G": ("Phillies", "pitching", "Braves", "Alomar", "Mets", "Players"),
    "MNB-G": (">", ":", ",", "the", ".", "--"),
}
