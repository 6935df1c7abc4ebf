"""Counts: a sparse matrix from CountVectorizer or another vectorizer.

Use it to replace the classifier of an existing text pipeline. A column is a feature, an entry is
its weight; 0 means that the feature is absent.
"""

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from stc import SparseTensorClassifier

mails = [
    "win money now, win big",
    "cheap pills, cheap money",
    "lunch on monday?",
    "minutes of the monday meeting",
]
kind = ["spam", "spam", "ham", "ham"]

pipeline = make_pipeline(CountVectorizer(ngram_range=(1, 2)), SparseTensorClassifier())
pipeline.fit(mails, kind)
new = ["win cheap lunch", "the money meeting on monday"]
for mail, label, probability in zip(
    new, pipeline.predict(new), pipeline.predict_proba(new).max(axis=1), strict=True
):
    print(f"{mail}: {label}, {probability:.2f}")

# Columns are numbered; the vectorizer has the words.
vectorizer, model = pipeline[0], pipeline[-1]
words = vectorizer.get_feature_names_out()
reasons = model.explain_local(vectorizer.transform(new[:1])).to_polars()
print([words[int(column[1:])] for column in reasons["value"].head(3)])

# prints:
# win cheap lunch: spam, 0.83
# the money meeting on monday: ham, 0.95
# ['cheap', 'win']
